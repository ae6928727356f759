// Files that commands read and keep: bounded reads, the user's state folder.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "cli/environment.h"
#include "drover/error.h"

namespace drover::cli {

// A bound on what is read, and the code of the error when there is more.
struct ReadLimit {
  std::size_t bytes;
  ErrorCode too_large;
};

// The whole file, or stdin when the name is "-". Unreadable: kInvalidArgument, with the name and the reason.
[[nodiscard]] Result<std::string> read_input(const std::string& name, ReadLimit limit);

// $XDG_STATE_HOME/drover, else ~/.local/state/drover. Nothing is created.
[[nodiscard]] Result<std::filesystem::path> state_folder(const Environment& environment);
// Creates what is missing of a folder, for its owner only (0700).
[[nodiscard]] Status make_private_folder(const std::filesystem::path& folder);

}  // namespace drover::cli
