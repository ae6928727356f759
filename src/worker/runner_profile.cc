#include "worker/runner_profile.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/rng.h"

namespace drover {
namespace {

constexpr std::array<std::string_view, 9> kAllowed{"PATH", "HOME", "LANG",  "TZ",     "TMPDIR",
                                                   "TERM", "USER", "SHELL", "LOGNAME"};
constexpr std::array<std::string_view, 5> kOurs{"DROVER_TASK_ID", "DROVER_RUN", "DROVER_ATTEMPT", "DROVER_URL",
                                                "TRACEPARENT"};

bool is_allowed(std::string_view name, const RunnerProfile& profile) {
  if (std::ranges::find(kOurs, name) != kOurs.end()) return false;
  return name.starts_with("LC_") || std::ranges::find(kAllowed, name) != kAllowed.end() ||
         std::ranges::find(profile.env, name) != profile.env.end();
}

// The task's own, or one whose trace id is the task's: all its runs are one trace.
std::string traceparent_of(const Task& task) {
  if (task.traceparent) return *task.traceparent;
  std::string trace_id = task.id.to_string();
  std::erase(trace_id, '-');
  return fmt::format("00-{}-{:016x}-01", trace_id, system_rng().next());
}

}  // namespace

const RunnerProfile* Runners::find(std::string_view type) const {
  if (const auto found = by_type.find(type); found != by_type.end()) return &found->second;
  return for_all ? &*for_all : nullptr;
}

std::vector<std::string> agent_environment(const std::vector<std::string>& worker_environment,
                                           const RunnerProfile& profile, const Task& task,
                                           const std::string& door_path) {
  std::vector<std::string> environment;
  for (const std::string& variable : worker_environment) {
    const std::string_view name = std::string_view(variable).substr(0, variable.find('='));
    if (is_allowed(name, profile)) environment.push_back(variable);
  }
  environment.push_back("DROVER_TASK_ID=" + task.id.to_string());
  environment.push_back(fmt::format("DROVER_RUN={}", task.run));
  environment.push_back(fmt::format("DROVER_ATTEMPT={}", task.attempts));
  environment.push_back("DROVER_URL=unix:" + door_path);
  environment.push_back("TRACEPARENT=" + traceparent_of(task));
  return environment;
}

std::vector<std::string> this_process_environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    variables.emplace_back(*variable);
  return variables;
}

}  // namespace drover
