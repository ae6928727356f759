// Threads for calls that may take long, so that an event loop never waits for the queue.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

namespace drover {

// While all threads are busy a call gets a new one, up to a limit. Beyond it, or when the machine gives no more
// threads, calls wait their turn; with one thread they run in order. What has not begun when the pool ends never runs.
class CallPool {
 public:
  explicit CallPool(std::size_t threads_max, std::size_t waiting_max = std::numeric_limits<std::size_t>::max());
  ~CallPool();
  CallPool(const CallPool&) = delete;
  CallPool& operator=(const CallPool&) = delete;

  // False when too many wait already; nothing is done then. A call has to catch what it throws.
  [[nodiscard]] bool submit(std::function<void()> call);
  // For callers that bound by themselves how much they post.
  void post(std::function<void()> call);

 private:
  void run();
  void add_thread();  // with the lock held

  const std::size_t threads_max_;
  const std::size_t waiting_max_;
  std::mutex mutex_;
  std::condition_variable has_work_;
  std::deque<std::function<void()>> calls_;
  std::size_t idle_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace drover
