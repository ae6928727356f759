#include "net/call_pool.h"

#include <utility>

#include "base/check.h"
#include "base/try_thread.h"
#include "net/wake.h"

namespace drover {

// The first thread is there from the start, so that calls are made whatever the machine refuses later.
CallPool::CallPool(std::size_t threads_max, std::size_t waiting_max)
    : threads_max_(threads_max), waiting_max_(waiting_max) {
  threads_.reserve(threads_max);
  threads_.emplace_back([this] { run(); });
}

CallPool::~CallPool() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  has_work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
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

void CallPool::post(std::function<void()> call) {
  CHECK(submit(std::move(call)));
}

void CallPool::add_thread() {
  std::thread thread;
  if (try_thread(thread, [this] { run(); })) threads_.push_back(std::move(thread));
}

void CallPool::run() {
  block_signals_in_this_thread();
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    has_work_.wait(lock, [this] { return ending_ || !calls_.empty(); });
    --idle_;
    if (ending_) return;
    const std::function<void()> call = std::move(calls_.front());
    calls_.pop_front();
    lock.unlock();
    call();
    lock.lock();
  }
}

}  // namespace drover
