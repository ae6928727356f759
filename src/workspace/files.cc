#include "workspace/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/text.h"
#include "base/try.h"

namespace drover::workspace {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

Status write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot("write", path, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

// So that it can be read and moved. Where this is not allowed, reading or moving tells.
void open_up(int folder, const std::string& name) {
  [[maybe_unused]] const int changed = ::fchmodat(folder, name.c_str(), S_IRWXU, 0);
}

bool is_folder(int error_of_unlink) {
  return error_of_unlink == EISDIR || error_of_unlink == EPERM;
}

// Empties and deletes a folder: its files are deleted, its folders moved up to `top`. So no path grows, however deep
// the tree is.
Status flatten(int top, const std::string& name, const std::string& shown, std::uint64_t& moved) {
  open_up(top, name);
  const UniqueFd folder(::openat(top, name.c_str(), kFolderFlags));
  const auto names = names_in(folder.get());
  if (!names) return cannot("read", shown, errno);
  for (const std::string& child : *names) {
    if (::unlinkat(folder.get(), child.c_str(), 0) == 0) continue;
    if (!is_folder(errno)) return cannot("delete", fmt::format("{}/{}", shown, child), errno);
    open_up(folder.get(), child);  // moving a folder writes to it
    // A number may be taken: somebody was killed while deleting this.
    while (::renameat(folder.get(), child.c_str(), top, fmt::format(".drover-{}", moved++).c_str()) != 0) {
      if (errno != ENOTEMPTY && errno != EEXIST) return cannot("delete", fmt::format("{}/{}", shown, child), errno);
    }
  }
  if (::unlinkat(top, name.c_str(), AT_REMOVEDIR) != 0) return cannot("delete", shown, errno);
  return {};
}

}  // namespace

std::unexpected<Error> trouble(std::string message) {
  return fail(ErrorCode::kInternal, std::move(message), "workspace");
}

std::unexpected<Error> cannot(std::string_view what, std::string_view path, int error_number) {
  const ErrorCode code = error_number == ENOSPC || error_number == EDQUOT ? ErrorCode::kDiskFull : ErrorCode::kInternal;
  return fail(code, fmt::format("cannot {} {}: {}", what, path, std::strerror(error_number)), "workspace");
}

bool is_plain_path(std::string_view path) {
  return is_utf8(path) && std::ranges::none_of(path, [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

UniqueFd open_folder(const std::string& path) {
  return UniqueFd(::open(path.c_str(), kFolderFlags));
}

UniqueFd open_beneath(int folder, std::string_view relative, int flags) {
  UniqueFd parent;
  while (true) {
    const int at = parent.is_open() ? parent.get() : folder;
    const std::size_t slash = relative.find('/');
    const std::string part(relative.substr(0, slash));
    if (part.empty() || part == "..") {
      errno = EINVAL;
      return {};
    }
    if (slash == std::string_view::npos)
      return UniqueFd(::openat(at, part.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    UniqueFd next(::openat(at, part.c_str(), kFolderFlags));
    if (!next.is_open()) return {};
    parent = std::move(next);
    relative.remove_prefix(slash + 1);
  }
}

std::optional<std::vector<std::string>> names_in(int folder) {
  UniqueFd again(::openat(folder, ".", kFolderFlags));  // a place in it of our own
  const std::unique_ptr<DIR, CloseDir> entries(again.is_open() ? ::fdopendir(again.get()) : nullptr);
  if (!entries) return std::nullopt;
  (void)again.release();  // closed with the entries
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name(entry->d_name);
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return std::nullopt;
  return names;
}

Result<std::string> read_beneath(int folder, const std::string& relative, std::size_t bytes_max) {
  const UniqueFd file = open_beneath(folder, relative, O_RDONLY);
  if (!file.is_open() && (errno == ENOENT || errno == ENOTDIR))
    return fail(ErrorCode::kNotFound, fmt::format("there is no {}", relative), "workspace");
  if (!file.is_open()) return cannot("read", relative, errno);
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return cannot("read", relative, errno);
  if (!S_ISREG(info.st_mode)) return trouble(fmt::format("{} is not a regular file", relative));
  if (static_cast<std::size_t>(info.st_size) > bytes_max)
    return trouble(fmt::format("{} is larger than {} bytes", relative, bytes_max));
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t count = ::read(file.get(), text.data() + filled, text.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot("read", relative, errno);
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  text.resize(filled);
  return text;
}

Status write_file(const std::string& path, std::string_view text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file.is_open()) return cannot("write", path, errno);
  return write_all(file.get(), text, path);
}

Status replace_file(const std::string& path, std::string_view text) {
  const std::string fresh = path + ".new";
  TRY(write_file(fresh, text));
  return rename_file(fresh, path);
}

bool exists(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0;
}

Status make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), S_IRWXU) == 0) return {};
  return cannot("make the folder", path, errno);
}

Status rename_file(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) == 0) return {};
  return cannot("rename", from, errno);
}

Status remove_tree(const std::string& path) {
  if (!exists(path)) return {};
  ::chmod(path.c_str(), S_IRWXU);
  const UniqueFd top = open_folder(path);
  if (!top.is_open()) return cannot("open", path, errno);
  std::uint64_t moved = 0;
  while (true) {
    const auto names = names_in(top.get());
    if (!names) return cannot("read", path, errno);
    if (names->empty()) break;
    for (const std::string& name : *names) {
      if (::unlinkat(top.get(), name.c_str(), 0) == 0) continue;
      const std::string shown = fmt::format("{}/{}", path, name);
      if (!is_folder(errno)) return cannot("delete", shown, errno);
      TRY(flatten(top.get(), name, shown, moved));
    }
  }
  if (::rmdir(path.c_str()) != 0) return cannot("delete", path, errno);
  return {};
}

Status sync_file_system(const std::string& path) {
  const UniqueFd folder(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!folder.is_open() || ::syncfs(folder.get()) != 0) return cannot("write to the disk", path, errno);
  return {};
}

}  // namespace drover::workspace
