// drover runner test: one tiny task through the whole path, on a store that ends with it.
#include "cli/runner_trial.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdlib.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ranges>
#include <thread>

#include "base/clock.h"
#include "base/try.h"
#include "cli/display_text.h"
#include "cli/project.h"
#include "cli/verb.h"
#include "cli/verbs/runner.h"
#include "cli/watch.h"
#include "worker/run_worker.h"

namespace drover::cli {
namespace {

constexpr std::string_view kTrialPrompt = "Answer with the single word: ready";
constexpr int kTrialPageRecords = 200;

struct RunnerTestOptions {
  std::string type;
  Millis timeout{3 * 60'000};
  Format format = Format::kAuto;
};

void define(Verb& verb, RunnerTestOptions& options) {
  verb.value("TYPE", "", &options.type, read_name, "a type under local.runners of drover.yaml").required();
  verb.value("--timeout", "D", &options.timeout, read_time_limit, "stop it after this; default 3m");
  verb.json(&options.format, R"(print {"type", "preset", "completed", "steps", "session_id", "answer", "usage", )"
                             R"("took_ms", "advice"})");
}

// The profile of the type, if the user allowed it to run and an agent is behind it. Its check is left out: there is no
// work to check.
Result<RunnerProfile> profile_to_try(const std::string& type, const std::optional<Project>& project,
                                     const Context& context) {
  if (!project) {
    return drover::fail(ErrorCode::kInvalidArgument,
                        fmt::format("there is no {} in this folder; `drover init` writes one", kProjectFile));
  }
  if (!TRY(is_trusted(*project, context.environment)))
    return drover::fail(ErrorCode::kForbidden, not_trusted_message(*project));
  const auto& runners = project->document.local.runners;
  const auto found = runners.find(type);
  if (found == runners.end()) {
    const std::string has = runners.empty() ? "none" : fmt::format("{}", fmt::join(std::views::keys(runners), ", "));
    return drover::fail(ErrorCode::kNotFound,
                        fmt::format("{} has no runner for the type {}; it has: {}", kProjectFile, type, has));
  }
  if (found->second.preset == nullptr) {
    return drover::fail(ErrorCode::kInvalidArgument,
                        fmt::format("{} runs your own command, and Drover cannot know what input it expects: "
                                    "try it with `drover run {}`",
                                    type, type));
  }
  return found->second;
}

// Where the worker keeps the run's files; gone when it goes.
class TrialFolder {
 public:
  [[nodiscard]] Status make() {
    std::error_code error;
    std::string name = (std::filesystem::temp_directory_path(error) / "drover-test-XXXXXX").string();
    if (error || ::mkdtemp(name.data()) == nullptr) {
      return drover::fail(ErrorCode::kInternal, fmt::format("cannot make the folder {}: {}", name,
                                                            error ? error.message() : std::strerror(errno)));
    }
    path_ = name;
    return {};
  }
  TrialFolder() = default;
  ~TrialFolder() {
    std::error_code ignored;  // it is in the folder for what may be deleted
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TrialFolder(const TrialFolder&) = delete;
  TrialFolder& operator=(const TrialFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A worker for one task, on a thread of its own.
class TrialWorker {
 public:
  TrialWorker(TaskQueue& queue, const WorkerConfig& config, StopSignal& stop)
      : stop_(stop), thread_([&queue, config, this] {
          block_signals_in_this_thread();
          const auto report = run_worker(queue, config, stop_);
          if (!report) result_ = std::unexpected(report.error());
          ended_ = true;
        }) {}
  ~TrialWorker() {
    stop_.request();
    stop_.request();  // nothing that still runs is worth waiting for
  }
  TrialWorker(const TrialWorker&) = delete;
  TrialWorker& operator=(const TrialWorker&) = delete;

  [[nodiscard]] bool has_ended() const { return ended_; }
  // Once it has.
  [[nodiscard]] Status result() const { return result_; }

 private:
  StopSignal& stop_;
  Status result_;
  std::atomic<bool> ended_ = false;
  std::jthread thread_;
};

Status read_log(TaskQueue& queue, const TaskId& id, std::int64_t& after, RunnerTrial& trial) {
  for (bool has_more = true; has_more;) {
    const LogPage page = TRY(queue.log(id, after, kTrialPageRecords));
    for (const LogRecord& record : page.records) {
      after = record.seq;
      trial.take(record);
    }
    has_more = std::cmp_equal(page.records.size(), kTrialPageRecords);
  }
  return {};
}

// Runs the task until it ends, or comes back because the worker could not start it.
Result<WatchEnd> try_runner(const RunnerTestOptions& options, const RunnerProfile& profile, RunnerTrial& trial) {
  TrialFolder folder;
  TRY(folder.make());
  const auto opened = TRY(open_queue("memory:"));
  TaskQueue& queue = opened->queue();
  const MonoTime begun = system_clock().mono();
  const Enqueued enqueued = TRY(queue.enqueue_one({.type = options.type,
                                                   .prompt = std::string(kTrialPrompt),
                                                   .max_attempts = 1,
                                                   .max_stalls = 0,
                                                   .max_defers = 0,
                                                   .timeout = options.timeout,
                                                   .idle_timeout = options.timeout}));
  const UpkeepThread upkeep(*opened);
  StopSignal stop;
  const Interrupts interrupts({&stop});
  const TrialWorker worker(queue,
                           {.serves = {{options.type, options.type}},
                            .runners = {.for_all = {}, .by_type = {{options.type, profile}}},
                            .state_dir = folder.path(),
                            .version = DROVER_VERSION,
                            .concurrency = 1},
                           stop);
  Task task;
  std::int64_t after = 0;
  const auto look = [&]() -> Result<Seen> {
    task = TRY(queue.get(enqueued.id));
    TRY(read_log(queue, enqueued.id, after, trial));
    const bool came_back = task.run > 0 && task.state != TaskState::kRunning;
    return came_back ? Seen::kDone : Seen::kNotYet;
  };
  const WatchEnd end = TRY(watch(queue, std::nullopt, look, [&] { return worker.has_ended(); }));
  if (end != WatchEnd::kDone) return end;
  if (worker.has_ended()) TRY(worker.result());
  const std::string why = is_terminal(task.state) ? "" : TRY(queue.explain(enqueued.id)).text;
  trial.finish(task, why, system_clock().mono() - begun);
  return end;
}

void print_step(const TrialStep& step, Output& out) {
  constexpr std::array<Paint, 3> kPaints{Paint::kGreen, Paint::kYellow, Paint::kRed};
  const std::string mark = fmt::format("{:<6}", name_of(step.mark));
  out.line(fmt::format("{} {:<9} {}", painted(mark, kPaints[std::to_underlying(step.mark)], out.look()), step.name,
                       cut_to_width(one_line(step.detail), 200)));
}

int report(const RunnerTrial& trial, const RunnerTestOptions& options, int failed, Context& context) {
  if (options.format == Format::kJson) context.out.line(trial.to_json());
  if (trial.completed()) return kExitOk;
  if (options.format != Format::kJson)
    context.say(fmt::format("{} does not work yet: {}", options.type, trial.advice()));
  return failed;
}

int run(const RunnerTestOptions& options, Context& context) {
  const auto project = find_project(context);
  if (!project) return context.fail(project.error());
  configure_log(log_level_of(context, std::nullopt, LogLevel::kError), LogFormat::kAuto);
  auto profile = profile_to_try(options.type, *project, context);
  if (!profile) return context.fail(profile.error());
  RunnerTrial trial(options.type, *profile, [&](const TrialStep& step) {
    if (options.format != Format::kJson) print_step(step, context.out);
  });
  if (!trial.look(context.environment)) return report(trial, options, kExitError, context);
  context.say(fmt::format("asking {} for one word; this costs a little", profile->preset->name));
  RunnerProfile without_check = *profile;
  without_check.verify.reset();
  without_check.workspace = {};
  const auto end = try_runner(options, without_check, trial);
  if (!end) return context.fail(end.error());
  if (*end == WatchEnd::kInterrupted) return kExitInterrupted;
  return report(trial, options, kExitTaskFailed, context);
}

}  // namespace

void add_runner_test(Verbs& runner) {
  runner.add<RunnerTestOptions>(
      {.name = "test",
       .summary = "Try the agent of a type with one tiny task",
       .footer =
           R"(Asks the agent for a single word, with the profile that drover.yaml gives the type, and shows each step: program, login, start,
session, answer, usage, time. It uses a store in memory and a temporary folder, so it does not touch your tasks or
your policy. Only what the agent itself records about its sessions remains. The profile's verify command does not run. The test
costs as much as one short answer. Exits with 0 only if the task completed, 10 if it failed, 1 if a program is missing.

Examples:
  drover runner test fix
  drover runner test fix-codex --json | jq .advice)"},
      define, run);
}

}  // namespace drover::cli
