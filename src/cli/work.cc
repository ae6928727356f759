// drover work: one worker, and the sweepers that any process may run.
#include "worker/run_worker.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/files.h"
#include "cli/project.h"
#include "cli/verbs.h"
#include "cli/watch.h"

namespace drover::cli {
namespace {

// The profiles of the project, if the user allowed them.
Result<Runners> runners_of_project(const Context& context, const std::optional<Project>& project) {
  if (!project) {
    return drover::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("nothing to run: give a command after --, or a runner profile in {}", kProjectFile));
  }
  const auto trusted = is_trusted(*project, context.environment);
  if (!trusted) return std::unexpected(trusted.error());
  if (!*trusted) return drover::fail(ErrorCode::kForbidden, not_trusted_message(*project));
  return Runners{.by_type = project->document.local.runners};
}

Result<Runners> runners_of(const WorkOptions& options, const Context& context, const std::optional<Project>& project) {
  if (options.argv.empty()) return runners_of_project(context, project);
  // Not one task is spent on a slip of the keys.
  if (const std::string& program = options.argv.front(); !finds_program(program, context.environment)) {
    return drover::fail(ErrorCode::kInvalidArgument, fmt::format("{} is not a program: nothing was claimed", program));
  }
  return Runners{.for_all = RunnerProfile{.argv = options.argv}};
}

// A type is served in the queue of its name, and in the one that the policy gives it.
std::vector<Serve> serves_of(const WorkOptions& options, const Policy& policy) {
  std::vector<Serve> serves;
  for (const std::string& type : options.types) {
    serves.push_back({type, type});
    const std::string queue = policy.queue_of(type);
    if (queue != type) serves.push_back({queue, type});
  }
  for (const std::string& queue : options.queues) serves.push_back({queue, std::nullopt});
  return serves;
}

int default_concurrency(const WorkOptions& options, const Runners& runners) {
  int concurrency = 1;
  for (const std::string& type : options.types) {
    const RunnerProfile* profile = runners.find(type);
    if (profile != nullptr) concurrency = std::max(concurrency, profile->concurrency);
  }
  return concurrency;
}

Result<WorkerConfig> config_of(const WorkOptions& options, const Context& context,
                               const std::optional<Project>& project, TaskQueue& queue) {
  auto runners = runners_of(options, context, project);
  if (!runners) return std::unexpected(runners.error());
  const auto state = state_folder(context.environment);
  if (!state) return std::unexpected(state.error());
  const auto policy = policy_of(queue);
  if (!policy) return std::unexpected(policy.error());
  const int concurrency = options.concurrency.value_or(default_concurrency(options, *runners));
  return WorkerConfig{.serves = serves_of(options, *policy),
                      .runners = *std::move(runners),
                      .state_dir = state->string(),
                      .version = DROVER_VERSION,
                      .concurrency = concurrency,
                      .lease = options.lease,
                      .heartbeat = options.heartbeat,
                      .when_empty = options.until_empty ? WhenEmpty::kFinish : WhenEmpty::kWait,
                      .result_bytes_max = static_cast<std::size_t>(policy->limits.result_bytes)};
}

}  // namespace

int run(const WorkOptions& options, Context& context) {
  const auto project = find_project(context);
  if (!project) return context.fail(project.error());
  configure_log(log_level_of(context, *project, LogLevel::kInfo), LogFormat::kAuto);
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto config = config_of(options, context, *project, (*opened)->queue());
  if (!config) return context.fail(config.error());
  StopSignal stop;
  const Interrupts interrupts({&stop});
  const UpkeepThread upkeep(**opened);
  const auto report = run_worker((*opened)->queue(), *config, stop);
  return report ? kExitOk : context.fail(report.error());
}

}  // namespace drover::cli
