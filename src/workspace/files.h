// Files that an agent may have touched: bounded reads, and nothing that follows a symbolic link out of its folder.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "drover/error.h"

namespace drover::workspace {

// kInternal: the machine's fault, not the task's.
[[nodiscard]] std::unexpected<Error> trouble(std::string message);
[[nodiscard]] std::unexpected<Error> cannot(std::string_view what, std::string_view path, int error_number);

// Whether a path can stand in the files of git and in JSON: UTF-8 without control characters.
[[nodiscard]] bool is_plain_path(std::string_view path);

// Opens FOLDER/relative without following a symbolic link in `relative`, and without waiting for a writer of a pipe.
// Closed when that is not possible; errno tells why.
[[nodiscard]] UniqueFd open_beneath(int folder, std::string_view relative, int flags);
[[nodiscard]] UniqueFd open_folder(const std::string& path);

// The names in an open folder, except for itself and its parent; nothing if it cannot be read, and errno tells why.
[[nodiscard]] std::optional<std::vector<std::string>> names_in(int folder);

// The contents of a regular file of at most `bytes_max`; kNotFound if there is none.
[[nodiscard]] Result<std::string> read_beneath(int folder, const std::string& relative, std::size_t bytes_max);

// Creates or replaces a file.
[[nodiscard]] Status write_file(const std::string& path, std::string_view text);
// The same in one step: a reader sees the old text or the new one.
[[nodiscard]] Status replace_file(const std::string& path, std::string_view text);

[[nodiscard]] bool exists(const std::string& path);  // also a symbolic link that leads nowhere
[[nodiscard]] Status make_folder(const std::string& path);
[[nodiscard]] Status rename_file(const std::string& from, const std::string& to);
// Deletes a folder and what is in it, however deep it is. None: nothing to do.
[[nodiscard]] Status remove_tree(const std::string& path);
// Everything written to this file system is on the disk.
[[nodiscard]] Status sync_file_system(const std::string& path);

}  // namespace drover::workspace
