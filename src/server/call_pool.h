// Threads that may wait for the store. Each is started when there is more to do than the others can take.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace drover::server {

class CallPool {
 public:
  CallPool(std::size_t threads_max, std::size_t waiting_max) : threads_max_(threads_max), waiting_max_(waiting_max) {}
  // What was submitted is done first.
  ~CallPool();
  CallPool(const CallPool&) = delete;
  CallPool& operator=(const CallPool&) = delete;

  // False when too much waits already; nothing is done then. A call has to catch what it throws.
  [[nodiscard]] bool submit(std::function<void()> call);

 private:
  void add_thread();
  void work();

  const std::size_t threads_max_;
  const std::size_t waiting_max_;
  std::mutex mutex_;
  std::condition_variable has_work_;
  std::deque<std::function<void()>> calls_;
  std::size_t idle_ = 0;
  bool ending_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace drover::server
