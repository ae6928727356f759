#include <string>
#include <vector>

std::size_t total(const std::vector<std::string>& names) {
  std::size_t bytes = 0;
  for (const std::string name : names) {  // flagged
    bytes += name.size();
  }
  return bytes;
}
