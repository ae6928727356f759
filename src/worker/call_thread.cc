#include "worker/call_thread.h"

#include <utility>

#include "net/wake.h"

namespace drover {

CallThread::CallThread() : thread_([this] { run(); }) {}

CallThread::~CallThread() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void CallThread::post(std::function<void()> call) {
  {
    const std::scoped_lock lock(mutex_);
    calls_.push_back(std::move(call));
  }
  wake_.notify_one();
}

void CallThread::run() {
  block_signals_in_this_thread();
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !calls_.empty(); });
    if (stopping_) return;
    const std::function<void()> call = std::move(calls_.front());
    calls_.pop_front();
    lock.unlock();
    call();
    lock.lock();
  }
}

}  // namespace drover
