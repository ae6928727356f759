// Which command a worker may execute, and the environment that it gets. Local to a worker: never stored, never from a
// task.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/runner_profile.h"
#include "core/policy.h"
#include "drover/task_queue.h"

namespace drover {

struct Runners {
  std::optional<RunnerProfile> for_all;  // drover work … -- ARGV
  std::map<std::string, RunnerProfile, std::less<>> by_type;
  Repos repos{};  // that tasks may name

  // Nothing if this worker cannot run that type.
  [[nodiscard]] const RunnerProfile* find(std::string_view type) const;
};

// The value of that variable among these; empty if it is not there.
[[nodiscard]] std::string_view variable_in(const std::vector<std::string>& environment, std::string_view name);
// The value of PATH among these.
[[nodiscard]] std::string_view path_in(const std::vector<std::string>& environment);
// Whether execvp would find it. An empty path is the system's default.
[[nodiscard]] bool finds_program(const std::string& program, std::string_view path);
// A program that is not there, and the field of the profile that names it.
struct MissingProgram {
  std::string name;
  std::string_view field;
};
[[nodiscard]] std::optional<MissingProgram> missing_program(const RunnerProfile& profile, std::string_view path);
// kInvalidArgument if a program that runs what is served is not there, and which.
[[nodiscard]] Status check_programs(const std::vector<Serve>& serves, const Runners& runners, std::string_view path);

// kInvalidArgument if a type that is served completes only with a check, and its runner has none: its agent would be
// paid for nothing.
[[nodiscard]] Status check_verifies(const std::vector<Serve>& serves, const Runners& runners, const Policy& policy);
// The type's rule for that profile, if it asks for a check that the profile does not make.
[[nodiscard]] std::optional<VerifyRule> missing_check(const RunnerProfile& profile, const TypePolicy& type);

// A queue is served for the types that there is a runner for: of each its own place to look for work.
[[nodiscard]] std::vector<Serve> serves_with_runners(const std::vector<Serve>& serves, const Runners& runners);

// The folder of all workspaces of a profile, and of those of one store.
[[nodiscard]] std::string workspace_folder(const WorkspaceProfile& profile, const std::string& state_dir);
[[nodiscard]] std::string workspace_root(const WorkspaceProfile& profile, const std::string& state_dir,
                                         const std::string& store_id);

// How many tasks a worker runs at once, in all and of the types that have a limit of their own.
struct Slots {
  int total = 1;
  std::map<std::string, int, std::less<>> by_type;

  bool operator==(const Slots&) const = default;
};
// `wanted` is what the worker was told; without it the profiles count, one by one.
[[nodiscard]] Slots slots_for(const std::vector<Serve>& serves, const Runners& runners, std::optional<int> wanted);

// The variable by which everything that a worker's agents start is known to be its own.
[[nodiscard]] std::string worker_mark(const std::string& worker_id);
// The agent's whole environment: an allow-list of the worker's own (PATH, HOME, LANG, LC_*, TZ, TMPDIR, TERM, USER,
// LOGNAME, SHELL and the profile's names), and DROVER_TASK_ID, DROVER_RUN, DROVER_ATTEMPT, DROVER_URL, DROVER_WORKER,
// TRACEPARENT.
[[nodiscard]] std::vector<std::string> agent_environment(const std::vector<std::string>& worker_environment,
                                                         const RunnerProfile& profile, const Task& task,
                                                         const std::string& door_path, const std::string& worker_id);
[[nodiscard]] std::vector<std::string> this_process_environment();

}  // namespace drover
