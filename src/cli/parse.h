// From argv to options. The only place that knows the command line's grammar.
#pragma once

#include <expected>
#include <span>
#include <string>

#include "cli/command_spec.h"
#include "cli/options.h"

namespace drover::cli {

struct UsageError {
  std::string message;  // "unknown option --quue; did you mean --queue?"
  std::string command;  // whose help explains it: "drover enqueue"

  bool operator==(const UsageError&) const = default;
};

// `arguments` without the program's name.
[[nodiscard]] std::expected<Invocation, UsageError> parse_command_line(std::span<const std::string> arguments);

[[nodiscard]] CommandSpec describe_command_line();

}  // namespace drover::cli
