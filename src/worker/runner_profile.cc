#include "worker/runner_profile.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/rng.h"
#include "core/spec_check.h"

namespace drover {
namespace {

constexpr std::array<std::string_view, 9> kAllowed{"PATH", "HOME", "LANG",  "TZ",     "TMPDIR",
                                                   "TERM", "USER", "SHELL", "LOGNAME"};
constexpr std::array<std::string_view, 7> kOurs{"DROVER_TASK_ID", "DROVER_RUN",    "DROVER_ATTEMPT", "DROVER_SUSPENDS",
                                                "DROVER_URL",     "DROVER_WORKER", "TRACEPARENT"};

constexpr int kConcurrencyMax = static_cast<int>(kConcurrencyBounds.max);
// As execvp searches when PATH is unset.
constexpr std::string_view kDefaultPath = "/bin:/usr/bin";

bool is_program(const std::filesystem::path& file) {
  std::error_code error;
  return std::filesystem::is_regular_file(file, error) && ::access(file.c_str(), X_OK) == 0;
}

// "./dev" of a command that runs in a workspace is the repository's: each task has its own.
bool is_of_workspace(const std::string& program, const RunnerProfile& profile) {
  return profile.workspace.is_wanted() && program.contains('/') && !program.starts_with('/');
}

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

std::string_view variable_in(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string_view item : environment) {
    if (item.starts_with(name) && item.substr(name.size()).starts_with('=')) return item.substr(name.size() + 1);
  }
  return {};
}

std::string_view path_in(const std::vector<std::string>& environment) {
  return variable_in(environment, "PATH");
}

bool finds_program(const std::string& program, std::string_view path) {
  if (program.contains('/')) return is_program(program);
  if (path.empty()) path = kDefaultPath;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find(':'), path.size());
    if (is_program(std::filesystem::path(path.substr(0, end)) / program)) return true;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return false;
}

std::optional<MissingProgram> missing_program(const RunnerProfile& profile, std::string_view path) {
  const std::string& agent = profile.argv.front();
  if (!finds_program(agent, path)) return MissingProgram{agent, "argv"};
  const auto is_missing = [&](const std::vector<std::string>& argv) {
    return !argv.empty() && !is_of_workspace(argv.front(), profile) && !finds_program(argv.front(), path);
  };
  if (profile.verify && is_missing(profile.verify->argv)) {
    return MissingProgram{profile.verify->argv.front(), "verify.argv"};
  }
  const std::vector<std::string>& setup = profile.workspace.setup;
  if (is_missing(setup)) return MissingProgram{setup.front(), "workspace.setup"};
  return std::nullopt;
}

Status check_programs(const std::vector<Serve>& serves, const Runners& runners, std::string_view path) {
  for (const Serve& serve : serves) {
    const RunnerProfile* profile = runners.find(serve.type.value_or(""));
    const auto missing = profile != nullptr ? missing_program(*profile, path) : std::nullopt;
    if (!missing) continue;
    const std::string fix = profile == runners.find("")
                                ? ""
                                : fmt::format(": install it, or correct local.runners.{}.{} in drover.yaml",
                                              serve.type.value_or(""), missing->field);
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("cannot find the program {}; nothing was claimed{}", missing->name, fix));
  }
  return {};
}

std::optional<VerifyRule> missing_check(const RunnerProfile& profile, const TypePolicy& type) {
  const bool is_there = profile.verify || type.verify == VerifyRule::kOptional;
  return is_there ? std::nullopt : std::optional(type.verify);
}

Status check_verifies(const std::vector<Serve>& serves, const Runners& runners, const Policy& policy) {
  for (const auto& [name, type] : policy.types) {
    const auto is_of_type = [&](const Serve& serve) {
      return serve.type ? *serve.type == name : serve.queue == policy.queue_of(name);
    };
    const RunnerProfile* profile = std::ranges::any_of(serves, is_of_type) ? runners.find(name) : nullptr;
    const auto rule = profile != nullptr ? missing_check(*profile, type) : std::nullopt;
    if (!rule) continue;
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("type {0} has verify: {1}, but its runner checks nothing, so no run could complete; nothing "
                    "was claimed: add local.runners.{0}.verify to drover.yaml",
                    name, name_of(*rule)));
  }
  return {};
}

std::vector<Serve> serves_with_runners(const std::vector<Serve>& serves, const Runners& runners) {
  std::vector<Serve> with_runners;
  for (const Serve& serve : serves) {
    if (serve.type || runners.for_all) {
      with_runners.push_back(serve);
      continue;
    }
    for (const auto& [type, profile] : runners.by_type) with_runners.push_back({serve.queue, type});
  }
  return with_runners;
}

std::string workspace_folder(const WorkspaceProfile& profile, const std::string& state_dir) {
  return profile.root.empty() ? state_dir + "/workspaces" : profile.root;
}

std::string workspace_root(const WorkspaceProfile& profile, const std::string& state_dir, const std::string& store_id) {
  return fmt::format("{}/{}", workspace_folder(profile, state_dir), store_id);
}

Slots slots_for(const std::vector<Serve>& serves, const Runners& runners, std::optional<int> wanted) {
  Slots slots;
  bool is_limited = true;
  for (const Serve& serve : serves) {
    const auto profile = serve.type ? runners.by_type.find(*serve.type) : runners.by_type.end();
    if (profile == runners.by_type.end()) {
      is_limited = false;
    } else {
      slots.by_type[profile->first] = profile->second.concurrency.value_or(wanted.value_or(1));
    }
  }
  int sum = 0;
  for (const auto& [type, limit] : slots.by_type) sum += limit;
  slots.total = std::clamp(wanted.value_or(sum), 1, is_limited ? std::clamp(sum, 1, kConcurrencyMax) : kConcurrencyMax);
  return slots;
}

std::string worker_mark(const std::string& worker_id) {
  return "DROVER_WORKER=" + worker_id;
}

std::vector<std::string> agent_environment(const std::vector<std::string>& worker_environment,
                                           const RunnerProfile& profile, const Task& task, const std::string& door_path,
                                           const std::string& worker_id) {
  std::vector<std::string> environment;
  for (const std::string& variable : worker_environment) {
    const std::string_view name = std::string_view(variable).substr(0, variable.find('='));
    if (is_allowed(name, profile)) environment.push_back(variable);
  }
  environment.push_back("DROVER_TASK_ID=" + task.id.to_string());
  environment.push_back(fmt::format("DROVER_RUN={}", task.run));
  environment.push_back(fmt::format("DROVER_ATTEMPT={}", task.attempts));
  environment.push_back(fmt::format("DROVER_SUSPENDS={}", task.suspends));
  environment.push_back("DROVER_URL=unix:" + door_path);
  environment.push_back(worker_mark(worker_id));
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
