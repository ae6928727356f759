// drover work: one worker, and the sweepers that any process may run.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/try.h"
#include "cli/files.h"
#include "cli/project.h"
#include "cli/verb.h"
#include "cli/watch.h"
#include "worker/lease_keeper.h"
#include "worker/run_worker.h"

namespace drover::cli {
namespace {

struct WorkOptions {
  std::vector<std::string> types;
  std::vector<std::string> queues;
  std::optional<int> concurrency;
  bool until_empty = false;
  Millis lease{30'000};
  Millis heartbeat{5'000};
  const agents::Preset* preset = nullptr;
  std::vector<std::string> argv;  // what stands after --; empty, without a preset: the runner profiles of drover.yaml
};

void define(Verb& verb, WorkOptions& options) {
  verb.list("--type", "T", &options.types, read_name,
            "run tasks of this type, from its queue in the policy and from the queue of the same name")
      .several();
  verb.list("--queue", "Q", &options.queues, read_name, "serve this queue: all types, or those with a runner profile")
      .several();
  verb.value("--preset", "claude|codex|gemini|opencode|letta", &options.preset, agents::preset_named,
             "run this agent for every task");
  verb.value("--concurrency", "N", &options.concurrency, integer_between(kConcurrencyBounds),
             "how many tasks to run at once; default 1, or the sum of the profiles' own");
  verb.flag("--until-empty", &options.until_empty, true, "exit when no work is left");
  verb.value("--lease", "D", &options.lease, read_lease,
             "how long the worker may keep a task without renewing it; default 30s");
  const OptionHandle heartbeat = verb.value("--heartbeat", "D", &options.heartbeat, read_time_limit,
                                            "how often leases are renewed; default 5s, or a sixth of a shorter lease");
  verb.takes_command(&options.argv);
  verb.check([heartbeat, &options]() -> Status {
    if (options.types.empty() && options.queues.empty()) return complaint("--type or --queue", "say what to serve");
    if (!heartbeat.given()) options.heartbeat = std::min(options.heartbeat, options.lease / 6);
    if (const Status valid = check_heartbeat(options.lease, options.heartbeat); !valid)
      return complaint("--heartbeat", valid.error().message);
    return {};
  });
}

// The profiles of the project, if the user allowed them.
Result<Runners> runners_of_project(const Context& context, const std::optional<Project>& project) {
  if (!project) {
    return drover::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("nothing to run: give a command after --, or a runner profile in {}", kProjectFile));
  }
  const auto trusted = TRY(is_trusted(*project, context.environment));
  if (!trusted) return drover::fail(ErrorCode::kForbidden, not_trusted_message(*project));
  return Runners{.for_all = {}, .by_type = project->document.local.runners, .repos = project->document.local.repos};
}

Result<Runners> runners_of(const WorkOptions& options, const Context& context, const std::optional<Project>& project) {
  if (options.preset == nullptr && options.argv.empty()) return runners_of_project(context, project);
  RunnerProfile profile{.argv = options.argv, .preset = options.preset};
  if (profile.argv.empty()) profile.argv.emplace_back(options.preset->program);
  Runners runners{.for_all = std::move(profile), .by_type = {}};
  if (!project) return runners;
  const auto trusted = is_trusted(*project, context.environment);
  if (!trusted) return std::unexpected(trusted.error());
  if (*trusted) runners.repos = project->document.local.repos;
  return runners;
}

std::vector<Serve> serves_of(const WorkOptions& options, const Policy& policy) {
  std::vector<Serve> serves;
  for (const std::string& type : options.types)
    std::ranges::copy(serves_of_type(type, policy), std::back_inserter(serves));
  for (const std::string& queue : options.queues) serves.push_back({queue, std::nullopt});
  return serves;
}

Result<WorkerConfig> config_of(const WorkOptions& options, const Context& context,
                               const std::optional<Project>& project, TaskQueue& queue) {
  auto runners = TRY(runners_of(options, context, project));
  const auto state = TRY(state_folder(context.environment));
  const auto policy = TRY(policy_of(queue));
  auto serves = serves_of(options, policy);
  TRY(check_verifies(serves, runners, policy));
  return WorkerConfig{.serves = std::move(serves),
                      .runners = std::move(runners),
                      .state_dir = state.string(),
                      .version = DROVER_VERSION,
                      .concurrency = options.concurrency,
                      .lease = options.lease,
                      .heartbeat = options.heartbeat,
                      .when_empty = options.until_empty ? WhenEmpty::kFinish : WhenEmpty::kWait,
                      .result_bytes_max = static_cast<std::size_t>(policy.limits.result_bytes)};
}

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

}  // namespace

void add_work(Verbs& verbs) {
  verbs.add<WorkOptions>(
      {.name = "work",
       .summary = "Claim tasks and run them",
       .footer =
           R"(Runs the command after -- once for each task, with the payload (or prompt) on stdin. The result is the last line of
stdout if that is JSON, otherwise all of stdout. Exit code 0 means success, 65 invalid input, 75 try again later, 77 not
authorised; any other code is an error.
With --preset an agent runs each task: it gets the prompt, and Drover reads what it prints. What follows -- is then
the agent's program and any extra arguments for it; without it, Drover looks for the program in PATH. `drover runner list` shows the presets.
Without either, the runner profiles of a trusted drover.yaml say what runs.

Examples:
  drover work --type greet -- ./greet.sh
  drover work --type fix --preset claude --concurrency 4)"},
      define, run);
}

}  // namespace drover::cli
