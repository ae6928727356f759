// Sessions, written a second time from the events alone: never two runs of one at once, nobody is spared what only a
// run that failed was told, and a task that interrupts its session leaves no other there that was not told to stop.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "drover/task_queue.h"
#include "sim/life.h"

namespace drover::sim {

class SessionWatch {
 public:
  // `task` as it was given; the state is the one after the event.
  [[nodiscard]] std::optional<Wrong> take(const Event& event, const Task& task);
  // This task, which was just enqueued, interrupts its session.
  void interrupted_by(const Task& task);
  // All events of the commits so far were taken.
  [[nodiscard]] std::optional<Wrong> caught_up();
  // A worker starts a run, after all events of its claim.
  [[nodiscard]] std::optional<Wrong> started(const Task& task, const std::optional<SessionStart>& start);

 private:
  void follow(const std::string& gate, const Event& event);

  std::map<std::string, std::set<TaskId>> going_on_;    // by gate: have not ended, and were not told to stop
  std::map<TaskId, TaskId> to_be_stopped_;              // by whom
  std::map<std::string, TaskId> running_;               // by gate
  std::set<std::pair<std::string, std::string>> told_;  // gate and key, of runs that did well
};

}  // namespace drover::sim
