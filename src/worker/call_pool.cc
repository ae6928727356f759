#include "worker/call_pool.h"

#include <utility>

#include "base/try_thread.h"
#include "net/wake.h"

namespace drover {

// The first thread is there from the start, so that calls are made whatever the machine refuses later.
CallPool::CallPool(std::size_t threads_max) : threads_max_(threads_max) {
  threads_.emplace_back([this] { run(); });
}

CallPool::~CallPool() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void CallPool::post(std::function<void()> call) {
  {
    const std::scoped_lock lock(mutex_);
    calls_.push_back(std::move(call));
    if (calls_.size() > idle_ && threads_.size() < threads_max_) add_thread();
  }
  wake_.notify_one();
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
    wake_.wait(lock, [this] { return stopping_ || !calls_.empty(); });
    --idle_;
    if (stopping_) return;
    const std::function<void()> call = std::move(calls_.front());
    calls_.pop_front();
    lock.unlock();
    call();
    lock.lock();
  }
}

}  // namespace drover
