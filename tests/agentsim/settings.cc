#include "settings.h"

#include <cstdlib>
#include <optional>

namespace agentsim {
namespace {

// Just enough JSON to take an object apart: it trusts that the text is well-formed, which Drover has checked.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool take(char wanted) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::optional<std::string> take_string() {
    if (!take('"')) return std::nullopt;
    std::string text;
    while (!rest_.empty() && rest_.front() != '"') {
      if (rest_.front() == '\\' && rest_.size() > 1) {
        rest_.remove_prefix(1);
        text += rest_.front() == 'n' ? '\n' : rest_.front();
      } else {
        text += rest_.front();
      }
      rest_.remove_prefix(1);
    }
    take('"');
    return text;
  }

  // The text of a value up to the comma or bracket that ends it.
  std::string take_raw() {
    skip_blanks();
    std::size_t depth = 0;
    bool in_string = false;
    std::size_t end = 0;
    for (; end < rest_.size(); ++end) {
      const char c = rest_[end];
      if (in_string) {
        if (c == '\\') ++end;
        if (c == '"') in_string = false;
        continue;
      }
      if (c == '"') in_string = true;
      if (c == '{' || c == '[') ++depth;
      if ((c == ',' || c == '}' || c == ']') && depth == 0) break;
      if (c == '}' || c == ']') --depth;
    }
    std::string raw(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return raw;
  }

  [[nodiscard]] bool at_string() {
    skip_blanks();
    return !rest_.empty() && rest_.front() == '"';
  }

 private:
  void skip_blanks() {
    while (!rest_.empty() && std::string_view(" \t\r\n").find(rest_.front()) != std::string_view::npos) {
      rest_.remove_prefix(1);
    }
  }

  std::string_view rest_;
};

}  // namespace

bool Settings::add_argument(std::string_view argument) {
  const std::size_t equals = argument.find('=');
  if (equals == std::string_view::npos) return false;
  values_[std::string(argument.substr(0, equals))] = argument.substr(equals + 1);
  return true;
}

void Settings::add_json(std::string_view text) {
  Scanner scanner(text);
  if (!scanner.take('{')) return;
  do {
    const std::optional<std::string> key = scanner.take_string();
    if (!key || !scanner.take(':')) return;
    values_[*key] = scanner.at_string() ? *scanner.take_string() : scanner.take_raw();
  } while (scanner.take(','));
}

std::string Settings::text(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? std::string() : found->second;
}

long Settings::number(const std::string& key, long otherwise) const {
  const auto found = values_.find(key);
  return found == values_.end() ? otherwise : std::strtol(found->second.c_str(), nullptr, 10);
}

}  // namespace agentsim
