// The command line's definition as documents: a man page per command, and the reference as one page of Markdown.
#pragma once

#include <string>
#include <vector>

#include "cli/command_spec.h"

namespace drover::cli {

// In the man macros; the command that `path` leads to.
[[nodiscard]] std::string render_man_page(const CommandSpec& root, const std::vector<std::string>& path);
// docs/reference/cli.md.
[[nodiscard]] std::string render_markdown(const CommandSpec& root);

}  // namespace drover::cli
