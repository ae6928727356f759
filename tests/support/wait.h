// Bounded waits for tests that live in real time: on an event, never on the clock alone.
#pragma once

#include <chrono>

#include "drover/task_queue.h"

namespace drover::test {

// Looks again after every change of the queue, until `condition` holds or the bound has passed. Returns whether it
// holds.
template <class Condition>
[[nodiscard]] bool wait_for(TaskQueue& queue, Millis bound, Condition condition) {
  using std::chrono::steady_clock;
  const auto end = steady_clock::now() + bound;
  for (;;) {
    const std::uint64_t seen = queue.changes();
    if (condition()) return true;
    const auto left = std::chrono::ceil<Millis>(end - steady_clock::now());
    if (left <= Millis(0)) return false;
    queue.wait_for_change(seen, left);
  }
}

// The task's state once it is terminal, or its state when the bound has passed.
[[nodiscard]] Result<TaskState> wait_for_end(TaskQueue& queue, const TaskId& id, Millis bound);

}  // namespace drover::test
