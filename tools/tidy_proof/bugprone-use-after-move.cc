#include <string>
#include <utility>

void keep(std::string text);

std::size_t use() {
  std::string text = "task";
  keep(std::move(text));
  return text.size();  // flagged
}
