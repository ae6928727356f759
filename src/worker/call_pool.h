// Threads for calls that may take long, so that an event loop never waits for the queue.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace drover {

// No call waits for another: while all threads are busy, a call gets a new one, up to a limit. Beyond it, or when the
// machine gives no more threads, calls wait their turn. What has not begun when it is destroyed never runs.
class CallPool {
 public:
  explicit CallPool(std::size_t threads_max);
  ~CallPool();
  CallPool(const CallPool&) = delete;
  CallPool& operator=(const CallPool&) = delete;

  void post(std::function<void()> call);

 private:
  void run();
  void add_thread();  // with the lock held

  const std::size_t threads_max_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> calls_;
  std::size_t idle_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace drover
