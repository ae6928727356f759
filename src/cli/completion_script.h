// Completion scripts, made from the command line's definition.
#pragma once

#include <cstdint>
#include <string>

#include "cli/command_spec.h"

namespace drover::cli {

enum class Shell : std::uint8_t { kBash, kZsh, kFish };

// Completes commands, flags, the values of flags that take one of a few words, and files.
[[nodiscard]] std::string completion_script(Shell shell, const CommandSpec& root);

}  // namespace drover::cli
