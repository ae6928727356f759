// From argv to a verb that is ready to run.
#pragma once

#include <expected>
#include <functional>
#include <span>
#include <string>

#include "base/check.h"
#include "cli/command_spec.h"
#include "cli/verb.h"

namespace drover::cli {

struct Invocation {
  CommonOptions common;
  std::string command;               // "gate close"; --help is "help", --version is "--version"
  std::function<int(Context&)> run;  // owns the options; returns the exit code
  Targets options;
  std::vector<TaskPrefix> prefixes{};

  // The value of an option or argument of that type, given or not: value<std::string>("--reason").
  template <class T>
  [[nodiscard]] const T& value(std::string_view name) const {
    const auto found = options.find(name);
    CHECK_MSG(found != options.end(), std::string(name));
    return *std::any_cast<T*>(found->second);
  }
};

struct UsageError {
  std::string message;  // "unknown option --quue; did you mean --queue?"
  std::string command;  // whose help explains it: "drover enqueue"

  bool operator==(const UsageError&) const = default;
};

// `arguments` without the program's name.
[[nodiscard]] std::expected<Invocation, UsageError> parse_command_line(std::span<const std::string> arguments);

[[nodiscard]] CommandSpec describe_command_line();

}  // namespace drover::cli
