#include <string>
#include <string_view>

std::string name();

std::string_view view() {
  std::string_view dangling = name();  // flagged
  return dangling;
}
