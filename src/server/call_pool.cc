#include "server/call_pool.h"

#include <new>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "net/wake.h"

namespace drover::server {

CallPool::~CallPool() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  has_work_.notify_all();
  threads_.clear();
}

bool CallPool::submit(std::function<void()> call) {
  {
    const std::scoped_lock lock(mutex_);
    if (calls_.size() >= waiting_max_) return false;
    calls_.push_back(std::move(call));
    if (calls_.size() > idle_ && threads_.size() < threads_max_) add_thread();
  }
  has_work_.notify_one();
  return true;
}

// The others do it where there is no room for one more; the first has to be.
void CallPool::add_thread() {
  try {
    threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    log_warn("server", "cannot start another thread", {{"error", error.what()}});
    if (threads_.empty()) throw std::bad_alloc();
  }
}

void CallPool::work() {
  block_signals_in_this_thread();
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    has_work_.wait(lock, [this] { return ending_ || !calls_.empty(); });
    --idle_;
    if (calls_.empty()) return;
    const std::function<void()> call = std::move(calls_.front());
    calls_.pop_front();
    lock.unlock();
    call();
    lock.lock();
  }
}

}  // namespace drover::server
