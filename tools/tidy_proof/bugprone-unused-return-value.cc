#include <expected>
#include <string>

// Without [[nodiscard]]: the rule finds what the compiler lets pass.
std::expected<int, std::string> parse();

void ignore() {
  parse();  // flagged
  static_cast<void>(parse());
}
