// What agentsim is told to do: key=value arguments, overridden by the members of a JSON object on stdin.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace agentsim {

class Settings {
 public:
  // False for an argument without "=".
  bool add_argument(std::string_view argument);
  // Takes the members of a JSON object: strings without their quotes, everything else as its text. Other input is
  // ignored.
  void add_json(std::string_view text);

  [[nodiscard]] bool has(const std::string& key) const { return values_.contains(key); }
  [[nodiscard]] bool is_on(const std::string& key) const { return text(key) == "true"; }
  [[nodiscard]] std::string text(const std::string& key) const;
  [[nodiscard]] long number(const std::string& key, long otherwise) const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace agentsim
