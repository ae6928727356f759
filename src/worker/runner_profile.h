// Which command a worker may execute, and the environment that it gets. Local to a worker: never stored, never from a
// task.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/runner_profile.h"
#include "drover/task_queue.h"

namespace drover {

struct Runners {
  std::optional<RunnerProfile> for_all;  // drover work … -- ARGV
  std::map<std::string, RunnerProfile, std::less<>> by_type;

  // Nothing if this worker cannot run that type.
  [[nodiscard]] const RunnerProfile* find(std::string_view type) const;
};

// The agent's whole environment: an allow-list of the worker's own (PATH, HOME, LANG, LC_*, TZ, TMPDIR, TERM, USER,
// LOGNAME, SHELL and the profile's names), and DROVER_TASK_ID, DROVER_RUN, DROVER_ATTEMPT, DROVER_URL, TRACEPARENT.
[[nodiscard]] std::vector<std::string> agent_environment(const std::vector<std::string>& worker_environment,
                                                         const RunnerProfile& profile, const Task& task,
                                                         const std::string& door_path);
[[nodiscard]] std::vector<std::string> this_process_environment();

}  // namespace drover
