// Follows the queue: one thread reads every event once, for all who wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "core/event_cursor.h"
#include "drover/task_queue.h"

namespace drover::server {

// Something was committed.
struct Pulse {
  std::uint64_t number = 0;                          // 1, 2, 3, …
  std::shared_ptr<const std::vector<Event>> events;  // may be empty: a log line is no event
  std::int64_t seq = 0;                              // of the last event so far; smaller after a loss
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
  // From where the queue is now; what it did before is not told. False if the queue does not answer.
  [[nodiscard]] bool begin();
  // Everything that has happened since; false if the queue does not answer.
  [[nodiscard]] bool catch_up();
  void announce(Pulse pulse);
  void announce_gap(std::int64_t seq) { announce({.events = {}, .seq = seq, .missed_some = true}); }

  TaskQueue& queue_;
  const std::function<void(Pulse)> publish_;
  std::atomic<std::uint64_t> number_{0};
  std::optional<EventCursor> cursor_;  // of the thread
  std::jthread thread_;
};

}  // namespace drover::server
