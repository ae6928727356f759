#include "cli/trust_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "cli/files.h"

namespace drover::cli {
namespace {

constexpr std::size_t kTrustBytesMax = 1 << 20;
constexpr std::size_t kDigestChars = 64;

// A descriptor and the lock that goes with it, both gone with the object.
class LockedFile {
 public:
  explicit LockedFile(int fd) : fd_(fd) {}
  ~LockedFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool lock(int how) const {
    while (::flock(fd_, how) != 0) {
      if (errno != EINTR) return false;
    }
    return true;
  }

 private:
  int fd_;
};

std::unexpected<Error> cannot(std::string_view verb, const std::filesystem::path& path, int error) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("cannot {} {}: {}", verb, path.string(), std::strerror(error)));
}

// Whoever else can write the file could trust files in the user's name.
Status check_ownership(int fd, const std::filesystem::path& path) {
  struct stat found{};
  if (::fstat(fd, &found) != 0) return cannot("read", path, errno);
  if (!S_ISREG(found.st_mode) || found.st_uid != ::geteuid() || (found.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return fail(ErrorCode::kForbidden,
                fmt::format("{} must be a file of yours that nobody else may touch; put it right or remove it "
                            "(chmod 600)",
                            path.string()));
  }
  return {};
}

Result<std::string> read_whole(int fd, const std::filesystem::path& path) {
  std::string text;
  std::array<char, 4096> buffer;
  while (text.size() <= kTrustBytesMax) {
    const ssize_t count = ::pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (count == 0) return text;
    if (count < 0 && errno != EINTR) return cannot("read", path, errno);
    if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return fail(ErrorCode::kLimitExceeded, fmt::format("{} is larger than {} bytes", path.string(), kTrustBytesMax));
}

Status write_whole(int fd, std::string_view text, const std::filesystem::path& path) {
  if (::ftruncate(fd, 0) != 0) return cannot("write", path, errno);
  off_t at = 0;
  while (!text.empty()) {
    const ssize_t count = ::pwrite(fd, text.data(), text.size(), at);
    if (count < 0 && errno != EINTR) return cannot("write", path, errno);
    if (count <= 0) continue;
    at += count;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  if (::fsync(fd) != 0) return cannot("write", path, errno);
  return {};
}

struct Line {
  std::string_view digest;
  std::string_view path;
};

template <class Visit>
void for_each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return;  // a line without its end was not written whole
    const std::string_view line = text.substr(0, end);
    if (line.size() > kDigestChars && line[kDigestChars] == ' ') {
      visit(Line{line.substr(0, kDigestChars), line.substr(kDigestChars + 1)});
    }
    text.remove_prefix(end + 1);
  }
}

}  // namespace

Result<TrustFile> TrustFile::of_user(const Environment& environment) {
  auto folder = state_folder(environment);
  if (!folder) return std::unexpected(folder.error());
  return TrustFile(*folder / "trusted");
}

Result<bool> TrustFile::trusts(const std::filesystem::path& file, const std::string& sha256) const {
  const LockedFile trusted(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (trusted.fd() < 0 && errno == ENOENT) return false;
  if (trusted.fd() < 0 || !trusted.lock(LOCK_SH)) return cannot("read", path_, errno);
  if (auto owned = check_ownership(trusted.fd(), path_); !owned) return std::unexpected(owned.error());
  const auto text = read_whole(trusted.fd(), path_);
  if (!text) return std::unexpected(text.error());
  bool found = false;
  for_each_line(*text,
                [&](const Line& line) { found = found || (line.digest == sha256 && line.path == file.string()); });
  return found;
}

Status TrustFile::trust(const std::filesystem::path& file, const std::string& sha256) const {
  if (file.string().contains('\n'))
    return fail(ErrorCode::kInvalidArgument, "a path with a line end cannot be trusted");
  if (auto made = make_private_folder(path_.parent_path()); !made) return made;
  const LockedFile trusted(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  if (trusted.fd() < 0 || !trusted.lock(LOCK_EX)) return cannot("write", path_, errno);
  if (auto owned = check_ownership(trusted.fd(), path_); !owned) return owned;
  const auto before = read_whole(trusted.fd(), path_);
  if (!before) return std::unexpected(before.error());
  std::string after;
  for_each_line(*before, [&](const Line& line) {
    if (line.path != file.string()) after += fmt::format("{} {}\n", line.digest, line.path);
  });
  after += fmt::format("{} {}\n", sha256, file.string());
  return write_whole(trusted.fd(), after, path_);
}

}  // namespace drover::cli
