// Follows the queue: one thread reads every event once, for all who wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "drover/task_queue.h"

namespace drover::server {

// Something was committed.
struct Pulse {
  std::uint64_t number = 0;                          // 1, 2, 3, …
  std::shared_ptr<const std::vector<Event>> events;  // may be none: a log line is no event
  std::int64_t seq = 0;                              // of the last event so far
  bool missed_some = false;                          // anything may have happened
};

class Follower {
 public:
  // `publish` is called on the follower's thread, for each pulse in its order. The queue outlives it.
  Follower(TaskQueue& queue, std::function<void(Pulse)> publish);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // The number of the latest pulse: what was committed before it is seen by whoever looks at the queue after asking.
  [[nodiscard]] std::uint64_t number() const { return number_.load(std::memory_order_acquire); }

 private:
  void follow(const std::stop_token& stop);
  // Everything that has happened since; false if the queue does not answer.
  [[nodiscard]] bool catch_up();
  // From where the queue is now; what it did before is not told.
  [[nodiscard]] bool start_afresh();
  void announce(std::vector<Event> events, bool missed_some = false);

  TaskQueue& queue_;
  const std::function<void(Pulse)> publish_;
  std::atomic<std::uint64_t> number_{0};
  std::int64_t after_ = -1;  // the last event that was read; of the thread
  std::jthread thread_;
};

}  // namespace drover::server
