#include "store/sqlite/change_watch.h"

#include <algorithm>

#include "base/try_thread.h"

namespace drover::sqlite {
namespace {

// The net under the bell: a ring may be lost, the version of the data is not.
constexpr Millis kLookEvery{250};

}  // namespace

ChangeWatch::~ChangeWatch() {
  std::thread watcher;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    watcher = std::move(watcher_);
  }
  if (!watcher.joinable()) return;
  side_files_->stop_waiting();
  watcher.join();
}

std::uint64_t ChangeWatch::changes() {
  look();
  const std::lock_guard lock(mutex_);
  return changes_;
}

void ChangeWatch::committed() {
  const std::lock_guard lock(mutex_);
  ++changes_;
  changed_.notify_all();
}

void ChangeWatch::look() {
  if (side_files_ == nullptr) return;
  const std::int64_t version = data_version_();
  const std::lock_guard lock(mutex_);
  if (version == version_) return;
  version_ = version;
  ++changes_;
  changed_.notify_all();
}

void ChangeWatch::wait(std::uint64_t seen, Millis timeout) {
  std::unique_lock lock(mutex_);
  const bool is_watched = side_files_ == nullptr || watcher_.joinable() || try_thread(watcher_, [this] { watch(); });
  // Without a watcher the caller's next look has to do.
  changed_.wait_for(lock, is_watched ? timeout : std::min(timeout, kLookEvery), [&] { return changes_ != seen; });
}

void ChangeWatch::watch() {
  // The bell is listened to before the first look, so that no ring falls between the two.
  for (Millis timeout(0);; timeout = kLookEvery) {
    side_files_->wait_for_ring(timeout);
    look();
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
  }
}

}  // namespace drover::sqlite
