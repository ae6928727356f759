// Waiting for a task's end on somebody's behalf: says what it waits for, and gives up when told to.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "cli/context.h"
#include "cli/verb.h"
#include "cli/watch.h"
#include "drover/task_queue.h"

namespace drover::cli {

struct WaitLimits {
  std::optional<Millis> timeout;  // unset: as long as it takes
  bool quiet = false;             // does not say what it waits for

  bool operator==(const WaitLimits&) const = default;
};

// `timeout` is what the verb calls that option.
void define_wait_limits(Verb& verb, const std::string& timeout, WaitLimits* limits);

// Says on stderr why a task has not ended: once it has been waited for a second, and when the reason is another one.
class WaitingReport {
 public:
  WaitingReport(TaskQueue& queue, const TaskId& id, Context& context, const Clock& clock);

  // To be called a few times a second.
  void tick();
  // Whether it has been said or not.
  void say_why();

 private:
  void say_if_new(std::string reason, std::string_view text);

  TaskQueue& queue_;
  const TaskId id_;
  Context& context_;
  const Clock& clock_;
  MonoTime next_;
  std::string said_;  // the last reason; its text may hold numbers that change all the time
};

// `task` is its last known record, whatever the end.
[[nodiscard]] Result<WatchEnd> await_task(TaskQueue& queue, const TaskId& id, const WaitLimits& limits,
                                          Context& context, Task& task);

// 124 after the limit, 130 after a signal.
[[nodiscard]] int exit_code_of_giving_up(WatchEnd end);
// 0 completed, 10 failed, 11 cancelled. The state is a terminal one.
[[nodiscard]] int exit_code_of_fate(TaskState state);

}  // namespace drover::cli
