#include "cli/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace drover::cli {
namespace {

std::unexpected<Error> cannot(std::string_view verb, const std::string& name, int error) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("cannot {} {}: {}", verb, name, std::strerror(error)));
}

Result<std::string> read_all(int fd, const std::string& shown, ReadLimit limit) {
  std::string text;
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot("read", shown, errno);
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > limit.bytes) {
      return fail(limit.too_large, fmt::format("{} is larger than {} bytes", shown, limit.bytes));
    }
  }
}

}  // namespace

Result<std::string> read_input(const std::string& name, ReadLimit limit) {
  if (name == "-") return read_all(STDIN_FILENO, "stdin", limit);
  const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return cannot("read", name, errno);
  auto text = read_all(fd, name, limit);
  ::close(fd);
  return text;
}

Result<std::filesystem::path> state_folder(const Environment& environment) {
  // The XDG specification: a path that is not absolute is to be ignored.
  if (const std::string* state = environment.find("XDG_STATE_HOME"); state != nullptr && state->starts_with('/')) {
    return std::filesystem::path(*state) / "drover";
  }
  if (const std::string* home = environment.find("HOME"); home != nullptr && home->starts_with('/')) {
    return std::filesystem::path(*home) / ".local" / "state" / "drover";
  }
  return fail(ErrorCode::kInvalidArgument, "neither HOME nor XDG_STATE_HOME says where your state folder is");
}

Status make_private_folder(const std::filesystem::path& folder) {
  std::filesystem::path made;
  for (const auto& part : folder) {
    made /= part;
    if (::mkdir(made.c_str(), S_IRWXU) != 0 && errno != EEXIST) return cannot("create", made.string(), errno);
  }
  struct stat found{};
  if (::stat(folder.c_str(), &found) != 0) return cannot("create", folder.string(), errno);
  if (!S_ISDIR(found.st_mode)) return cannot("create", folder.string(), ENOTDIR);
  return {};
}

}  // namespace drover::cli
