// Sessions, written a second time from the events alone: never two runs of one at once, and nobody is spared what only
// a run that failed was told.
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
  // A worker starts a run, after all events of its claim.
  [[nodiscard]] std::optional<Wrong> started(const Task& task, const std::optional<SessionStart>& start);

 private:
  std::map<std::string, TaskId> running_;               // by gate
  std::set<std::pair<std::string, std::string>> told_;  // gate and key, of runs that did well
};

}  // namespace drover::sim
