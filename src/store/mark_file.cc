#include "store/mark_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <tuple>

#include "base/sha256.h"
#include "base/unique_fd.h"

namespace drover {
namespace {

constexpr std::size_t kFileBytes = 128;  // always: within a sector, so that it is written whole or not at all
constexpr std::size_t kSumChars = 16;

std::string sum_of(const std::string& text) {
  return sha256_hex(text).substr(0, kSumChars);
}

// "number epoch seq sum", padded to kFileBytes.
std::string to_text(const Mark& mark) {
  const std::string text = fmt::format("{} {} {}", mark.number, mark.epoch, mark.seq);
  std::string line = text + " " + sum_of(text);
  line.resize(kFileBytes - 1, ' ');
  return line + "\n";
}

std::optional<Mark> parse(const std::string& line) {
  std::istringstream words(line);
  Mark mark;
  std::string sum;
  if (!(words >> mark.number >> mark.epoch >> mark.seq >> sum)) return std::nullopt;
  const std::string text = fmt::format("{} {} {}", mark.number, mark.epoch, mark.seq);
  return sum == sum_of(text) ? std::optional(mark) : std::nullopt;
}

std::optional<Mark> read_from(int fd) {
  std::array<char, kFileBytes> buffer;
  const ssize_t size = ::pread(fd, buffer.data(), buffer.size(), 0);
  return size <= 0 ? std::nullopt : parse(std::string(buffer.data(), static_cast<std::size_t>(size)));
}

std::unexpected<Error> cannot_keep(const std::string& path) {
  return fail(ErrorCode::kStoreUnavailable, fmt::format("cannot write {}: {}", path, std::strerror(errno)),
              "store.mark");
}

void make_folder_of(const std::string& path) {
  std::filesystem::path made;
  for (const auto& part : std::filesystem::path(path).parent_path()) {
    made /= part;
    ::mkdir(made.c_str(), S_IRWXU);  // what fails here fails again when the file is opened
  }
}

}  // namespace

std::string default_marks_folder() {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  // The XDG specification: a path that is not absolute is to be ignored.
  const auto is_absolute = [](const char* path) { return path != nullptr && *path == '/'; };
  if (!is_absolute(state) && !is_absolute(home)) return {};
  return (is_absolute(state) ? state : std::string(home) + "/.local/state") + "/drover/marks";
}

std::optional<Mark> MarkFile::read() const {
  const UniqueFd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  return file.is_open() ? read_from(file.get()) : std::nullopt;
}

Status MarkFile::raise(const Mark& mark) const {
  make_folder_of(path_);
  const UniqueFd file(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.is_open() || ::flock(file.get(), LOCK_EX) != 0) return cannot_keep(path_);
  const std::optional<Mark> stored = read_from(file.get());
  if (stored && std::tie(stored->number, stored->seq) >= std::tie(mark.number, mark.seq)) return {};
  const std::string text = to_text(mark);
  const ssize_t written = ::pwrite(file.get(), text.data(), text.size(), 0);
  if (!std::cmp_equal(written, text.size()) || ::fdatasync(file.get()) != 0) return cannot_keep(path_);
  return {};
}

}  // namespace drover
