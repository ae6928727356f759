#include "cli/private_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/try.h"
#include "cli/files.h"

namespace drover::cli {
namespace {

constexpr std::size_t kBytesMax = 1 << 20;

std::unexpected<Error> cannot(std::string_view verb, const std::filesystem::path& path, int error) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("cannot {} {}: {}", verb, path.string(), std::strerror(error)));
}

}  // namespace

Result<std::optional<PrivateFile>> PrivateFile::open_for_reading(std::filesystem::path path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.is_open() && errno == ENOENT) return std::nullopt;
  if (!fd.is_open()) return cannot("read", path, errno);
  PrivateFile file(std::move(fd), std::move(path));
  TRY(file.lock(LOCK_SH));
  TRY(file.check_ownership());
  return file;
}

Result<PrivateFile> PrivateFile::open_for_writing(std::filesystem::path path) {
  TRY(make_private_folder(path.parent_path()));
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  if (!fd.is_open()) return cannot("write", path, errno);
  PrivateFile file(std::move(fd), std::move(path));
  TRY(file.lock(LOCK_EX));
  TRY(file.check_ownership());
  return file;
}

Status PrivateFile::lock(int how) const {
  while (::flock(fd_.get(), how) != 0) {
    if (errno != EINTR) return cannot("lock", path_, errno);
  }
  return {};
}

Status PrivateFile::check_ownership() const {
  struct stat found{};
  if (::fstat(fd_.get(), &found) != 0) return cannot("read", path_, errno);
  if (!S_ISREG(found.st_mode) || found.st_uid != ::geteuid() || (found.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return fail(
        ErrorCode::kForbidden,
        fmt::format("{} must belong to you, and no other user may have access to it: chmod 600 it, or remove it",
                    path_.string()));
  }
  return {};
}

Result<std::string> PrivateFile::read() const {
  std::string text;
  std::array<char, 4096> buffer;
  while (text.size() <= kBytesMax) {
    const ssize_t count = ::pread(fd_.get(), buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (count == 0) return text;
    if (count < 0 && errno != EINTR) return cannot("read", path_, errno);
    if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return fail(ErrorCode::kLimitExceeded, fmt::format("{} is larger than {} bytes", path_.string(), kBytesMax));
}

Status PrivateFile::write(std::string_view text) const {
  if (::ftruncate(fd_.get(), 0) != 0) return cannot("write", path_, errno);
  off_t at = 0;
  while (!text.empty()) {
    const ssize_t count = ::pwrite(fd_.get(), text.data(), text.size(), at);
    if (count < 0 && errno != EINTR) return cannot("write", path_, errno);
    if (count <= 0) continue;
    at += count;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return ::fsync(fd_.get()) == 0 ? Status() : Status(cannot("write", path_, errno));
}

}  // namespace drover::cli
