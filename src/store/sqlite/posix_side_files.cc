#include "store/sqlite/posix_side_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/log.h"

namespace drover::sqlite {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr mode_t kFileMode = 0600;
// Between two looks at a lock that another process holds. Most holds last less than the first few.
constexpr std::chrono::microseconds kPauseMin{50};
constexpr std::chrono::microseconds kPauseMax{5'000};

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

std::unexpected<Error> os_error(std::string_view what, const std::string& path, std::string_view operation) {
  return fail(ErrorCode::kStoreUnavailable, fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)),
              std::string(operation));
}

class PosixSideFiles final : public SideFiles {
 public:
  PosixSideFiles(const std::string& path, std::int64_t ballast_bytes)
      : path_(path), ballast_path_(path + "-ballast"), bell_path_(path + "-bell"), ballast_bytes_(ballast_bytes) {}

  Status open() {
    const std::string lock_path = path_ + "-lock";
    lock_ = Descriptor(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kFileMode));
    if (!lock_.is_open()) return os_error("open", lock_path, "sqlite.open");
    bell_ = Descriptor(::open(bell_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kFileMode));
    if (!bell_.is_open()) return os_error("open", bell_path_, "sqlite.open");
    stop_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!stop_.is_open()) return os_error("make", "an eventfd", "sqlite.open");
    return {};
  }

  Status lock(Millis wait) override {
    const auto end = SteadyClock::now() + wait;
    for (auto pause = kPauseMin;; pause = std::min(pause * 2, kPauseMax)) {
      if (::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) return {};
      if (errno != EWOULDBLOCK && errno != EINTR) return os_error("lock", path_, "sqlite.lock");
      if (SteadyClock::now() >= end) {
        return fail(ErrorCode::kStoreUnavailable,
                    fmt::format("{} is locked by another process, for longer than {} ms", path_, wait.count()),
                    "sqlite.lock");
      }
      std::this_thread::sleep_for(pause);
    }
  }

  void unlock() override { ::flock(lock_.get(), LOCK_UN); }

  void ring() override {
    ++rings_;
    // The content says nothing; the write is the signal. A failed one is made up for by the slow poll.
    [[maybe_unused]] const ssize_t written = ::pwrite(bell_.get(), &rings_, sizeof rings_, 0);
  }

  void wait_for_ring(Millis timeout) override {
    watch();
    pollfd waits[] = {{stop_.get(), POLLIN, 0}, {watch_.get(), POLLIN, 0}};
    const int ready = ::poll(waits, watch_.is_open() ? 2 : 1, static_cast<int>(timeout.count()));
    if (ready > 0 && (waits[1].revents & POLLIN) != 0) read_watch();
  }

  void stop_waiting() override {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(stop_.get(), &one, sizeof one);
  }

  Room room() override {
    Room room;
    struct statvfs facts{};
    if (::fstatvfs(lock_.get(), &facts) == 0) {
      room.free_bytes = static_cast<std::int64_t>(facts.f_bavail * facts.f_frsize);
    }
    struct stat ballast{};
    if (::stat(ballast_path_.c_str(), &ballast) == 0) room.ballast_bytes = std::int64_t{ballast.st_blocks} * 512;
    return room;
  }

  bool drop_ballast() override { return ::unlink(ballast_path_.c_str()) == 0; }

  void restore_ballast() override {
    // Under another name first: a half-made ballast must not count as one.
    const std::string draft = ballast_path_ + ".new";
    const Descriptor file(::open(draft.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode));
    const int error = file.is_open() ? ::posix_fallocate(file.get(), 0, ballast_bytes_) : errno;
    if (error == 0 && ::rename(draft.c_str(), ballast_path_.c_str()) == 0) return;
    ::unlink(draft.c_str());
    log_warn("store", "no ballast could be kept for a full disk",
             {{"path", ballast_path_}, {"why", std::strerror(error != 0 ? error : errno)}});
  }

 private:
  void watch() {
    if (watch_.is_open() && watched_) return;
    if (!watch_.is_open()) watch_ = Descriptor(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    watched_ = watch_.is_open() && ::inotify_add_watch(watch_.get(), bell_path_.c_str(), IN_MODIFY) >= 0;
  }

  void read_watch() {
    alignas(inotify_event) char buffer[4096];
    for (;;) {
      const ssize_t size = ::read(watch_.get(), buffer, sizeof buffer);
      if (size <= 0) return;
      for (ssize_t at = 0; at < size;) {
        const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
        if ((event->mask & IN_IGNORED) != 0) watched_ = false;  // the bell was deleted: look for a new one
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      }
    }
  }

  const std::string path_;
  const std::string ballast_path_;
  const std::string bell_path_;
  const std::int64_t ballast_bytes_;
  Descriptor lock_;
  Descriptor bell_;
  Descriptor stop_;
  std::uint64_t rings_ = 0;
  // Of the watcher thread.
  Descriptor watch_;
  bool watched_ = false;
};

}  // namespace

Result<std::unique_ptr<SideFiles>> open_side_files(const std::string& path, std::int64_t ballast_bytes) {
  auto files = std::make_unique<PosixSideFiles>(path, ballast_bytes);
  if (Status opened = files->open(); !opened) return std::unexpected(opened.error());
  return files;
}

}  // namespace drover::sqlite
