#include "workspace/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/try.h"
#include "workspace/files.h"

namespace drover::workspace {
namespace {

// The bytes of the file that are locked.
constexpr off_t kUse = 0;
constexpr off_t kStep = 1;

// Locks of the open file, not of the process: threads exclude each other, and children that inherit it share it.
bool take(int fd, int command, short type, off_t byte) {
  struct flock range{};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = byte;
  range.l_len = 1;
  int taken = 0;
  do {
    taken = ::fcntl(fd, command, &range);
  } while (taken != 0 && errno == EINTR);
  return taken == 0;
}

// Whether the path still names the file: who removed the workspace has deleted it.
bool is_current(int fd, const std::string& path) {
  struct stat mine{};
  struct stat there{};
  return ::fstat(fd, &mine) == 0 && ::lstat(path.c_str(), &there) == 0 && mine.st_ino == there.st_ino &&
         mine.st_dev == there.st_dev;
}

// Nothing: somebody else has it, and `command` does not wait.
Result<std::optional<UniqueFd>> open_locked(const std::string& path, int command, short type) {
  while (true) {
    UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.is_open()) return cannot("open", path, errno);
    if (!take(file.get(), command, type, kUse)) {
      if (errno == EAGAIN || errno == EACCES) return std::nullopt;
      return cannot("lock", path, errno);
    }
    if (is_current(file.get(), path)) return file;
  }
}

}  // namespace

std::string lock_path(const std::string& root, const TaskId& task) {
  return root + "/" + task.to_string() + ".lock";
}

Result<Lock> Lock::use(const std::string& root, const TaskId& task) {
  const std::string path = lock_path(root, task);
  auto file = TRY(open_locked(path, F_OFD_SETLKW, F_RDLCK));
  if (!file) return cannot("lock", path, EAGAIN);
  return Lock(std::move(*file), path);
}

Result<std::optional<Lock>> Lock::try_use(const std::string& root, const TaskId& task) {
  return without_waiting(root, task, F_RDLCK);
}

Result<Lock> Lock::step(const std::string& root, const TaskId& task) {
  auto lock = use(root, task);
  if (lock && !take(lock->fd(), F_OFD_SETLKW, F_WRLCK, kStep)) return cannot("lock", lock->path_, errno);
  return lock;
}

Result<std::optional<Lock>> Lock::alone(const std::string& root, const TaskId& task) {
  return without_waiting(root, task, F_WRLCK);
}

Result<std::optional<Lock>> Lock::without_waiting(const std::string& root, const TaskId& task, short type) {
  const std::string path = lock_path(root, task);
  auto file = TRY(open_locked(path, F_OFD_SETLK, type));
  if (!file) return std::nullopt;
  return Lock(std::move(*file), path);
}

Result<Lock> Lock::repository(const std::string& git_dir) {
  const std::string path = git_dir + "/drover.lock";
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file.is_open()) return cannot("open", path, errno);
  while (::flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return cannot("lock", path, errno);
  }
  return Lock(std::move(file), path);
}

void Lock::touch() const {
  ::futimens(file_.get(), nullptr);
}

void Lock::remove_file() const {
  ::unlink(path_.c_str());
}

}  // namespace drover::workspace
