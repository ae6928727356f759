#include "store/sqlite/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace drover::sqlite {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

// Between two looks: a fraction of the time waited so far, so that a short hold costs little delay and a long one
// little work.
constexpr int kLooksPerDoubling = 8;
constexpr microseconds kPauseMin{20};
constexpr microseconds kPauseMax{10'000};

bool try_lock(int fd) {
  return ::flock(fd, LOCK_EX | LOCK_NB) == 0;
}

bool change_turn(int fd, short type) {
  struct flock byte{};
  byte.l_type = type;
  byte.l_whence = SEEK_SET;
  byte.l_len = 1;
  return ::fcntl(fd, F_OFD_SETLK, &byte) == 0;
}

bool try_turn(int fd) {
  return change_turn(fd, F_WRLCK);
}
void give_turn_up(int fd) {
  change_turn(fd, F_UNLCK);
}

bool is_taken(int error) {
  return error == EWOULDBLOCK || error == EACCES || error == EINTR;
}

enum class Outcome { kGot, kTimedOut, kFailed };

template <class Try>
Outcome wait_for(Try attempt, steady_clock::time_point start, Millis wait) {
  while (!attempt()) {
    if (!is_taken(errno)) return Outcome::kFailed;
    const auto waited = std::chrono::duration_cast<microseconds>(steady_clock::now() - start);
    if (waited >= wait) return Outcome::kTimedOut;
    std::this_thread::sleep_for(std::clamp(waited / kLooksPerDoubling, kPauseMin, kPauseMax));
  }
  return Outcome::kGot;
}

}  // namespace

Status FileLock::open(const std::string& path) {
  path_ = path;
  file_ = UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (file_.is_open()) return {};
  return fail(ErrorCode::kStoreUnavailable, fmt::format("cannot open {}: {}", path, std::strerror(errno)),
              "sqlite.open");
}

Status FileLock::lock(Millis wait) {
  const int fd = file_.get();
  const auto start = steady_clock::now();
  Outcome outcome = wait_for([fd] { return try_turn(fd); }, start, wait);
  if (outcome == Outcome::kGot) {
    outcome = wait_for([fd] { return try_lock(fd); }, start, wait);
    give_turn_up(fd);
  }
  if (outcome == Outcome::kGot) return {};
  if (outcome == Outcome::kTimedOut) {
    return fail(ErrorCode::kStoreUnavailable,
                fmt::format("{} has been held by another process for more than {} ms", path_, wait.count()),
                "sqlite.lock");
  }
  return fail(ErrorCode::kStoreUnavailable, fmt::format("cannot lock {}: {}", path_, std::strerror(errno)),
              "sqlite.lock");
}

void FileLock::unlock() {
  ::flock(file_.get(), LOCK_UN);
}

}  // namespace drover::sqlite
