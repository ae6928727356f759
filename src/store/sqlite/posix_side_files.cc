#include "store/sqlite/posix_side_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/log.h"
#include "base/try.h"
#include "base/unique_fd.h"
#include "store/sqlite/file_lock.h"
#include "store/sqlite/open_files.h"

namespace drover::sqlite {
namespace {

constexpr mode_t kFileMode = 0600;

std::unexpected<Error> cannot(std::string_view what, const std::string& path) {
  return fail(ErrorCode::kStoreUnavailable, fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)),
              "sqlite.open");
}

class PosixSideFiles final : public SideFiles {
 public:
  PosixSideFiles(const std::string& path, std::int64_t ballast_bytes)
      : path_(path), ballast_path_(path + "-ballast"), bell_path_(path + "-bell"), ballast_bytes_(ballast_bytes) {}

  Status open() {
    TRY(lock_.open(path_ + "-lock"));
    // Before SQLite opens it: if it is still the same afterwards, it is the one that SQLite has.
    for (const std::string& path : {path_, path_ + "-lock"}) {
      TRY(files_.add(path));
    }
    bell_ = UniqueFd(::open(bell_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kFileMode));
    if (!bell_.is_open()) return cannot("open", bell_path_);
    stop_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!stop_.is_open()) return cannot("make", "an eventfd");
    return {};
  }

  Status lock(Millis wait) override { return lock_.lock(wait); }
  void unlock() override { lock_.unlock(); }

  Status watch_files() override {
    // SQLite puts its files beside the database itself, not beside a link to it.
    std::error_code error;
    const std::string database = std::filesystem::canonical(path_, error).string();
    if (error) return fail(ErrorCode::kStoreUnavailable, fmt::format("cannot find {}: {}", path_, error.message()));
    for (const std::string& path : {database + "-wal", database + "-shm"}) {
      TRY(files_.add(path));
    }
    return files_.check();
  }
  Status check_files() override { return files_.check(); }
  Status known_files() const override { return files_.known(); }

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
    if (::fstatvfs(bell_.get(), &facts) == 0) {
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
    const UniqueFd file(::open(draft.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode));
    const int error = file.is_open() ? ::posix_fallocate(file.get(), 0, ballast_bytes_) : errno;
    if (error == 0 && ::rename(draft.c_str(), ballast_path_.c_str()) == 0) return;
    ::unlink(draft.c_str());
    log_warn("store", "no ballast could be kept for a full disk",
             {{"path", ballast_path_}, {"why", std::strerror(error != 0 ? error : errno)}});
  }

 private:
  void watch() {
    if (watch_.is_open() && watched_) return;
    if (!watch_.is_open()) watch_ = UniqueFd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
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
  FileLock lock_;
  OpenFiles files_;
  UniqueFd bell_;
  UniqueFd stop_;
  std::uint64_t rings_ = 0;
  // Of the watcher thread.
  UniqueFd watch_;
  bool watched_ = false;
};

}  // namespace

Result<std::unique_ptr<SideFiles>> open_side_files(const std::string& path, std::int64_t ballast_bytes) {
  auto files = std::make_unique<PosixSideFiles>(path, ballast_bytes);
  TRY(files->open());
  return files;
}

}  // namespace drover::sqlite
