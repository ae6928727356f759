// The process's environment as plain data, so that what depends on it can be tested.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace drover::cli {

using Variables = std::map<std::string, std::string, std::less<>>;

class Environment {
 public:
  Environment() = default;
  explicit Environment(Variables variables) : variables_(std::move(variables)) {}
  // A copy of what the process was started with.
  [[nodiscard]] static Environment of_process();

  // The variable's value; null when it is unset or empty, which conventions like XDG and NO_COLOR hold to be the same.
  [[nodiscard]] const std::string* find(std::string_view name) const;

 private:
  Variables variables_;
};

}  // namespace drover::cli
