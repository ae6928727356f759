// drover up: store, upkeep, server and the project's workers in one process.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <thread>

#include "base/text.h"
#include "base/try.h"
#include "cli/files.h"
#include "cli/live_view.h"
#include "cli/project.h"
#include "cli/project_folder.h"
#include "cli/served_store.h"
#include "cli/task_view.h"
#include "cli/user_token.h"
#include "cli/verb.h"
#include "cli/watch.h"
#include "engine/signins.h"
#include "engine/sweeper_thread.h"
#include "net/url.h"
#include "worker/run_worker.h"

namespace drover::cli {
namespace {

struct UpOptions {
  ServeOptions serve;
};

void define(Verb& verb, UpOptions& options) {
  define_server(verb, options.serve);
}

constexpr int kApplyTriesMax = 8;
constexpr int kPageEvents = 200;

// One worker per runner profile, each on its own thread.
class Workers {
 public:
  Workers() = default;
  ~Workers() { stop(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void add(WorkerConfig config) { workers_.emplace_back().config = std::move(config); }
  void start(TaskQueue& queue) {
    for (One& worker : workers_) {
      worker.thread = std::jthread([&worker, &queue, this] {
        block_signals_in_this_thread();
        worker.report = run_worker(queue, worker.config, worker.stop);
        if (!*worker.report) failed_ = true;
        ended_.fetch_add(1);
      });
    }
  }
  [[nodiscard]] std::vector<StopSignal*> stop_signals() {
    std::vector<StopSignal*> signals;
    for (One& worker : workers_) signals.push_back(&worker.stop);
    return signals;
  }
  [[nodiscard]] std::vector<Serve> serves() const {
    std::vector<Serve> all;
    for (const One& worker : workers_) std::ranges::copy(worker.config.serves, std::back_inserter(all));
    return all;
  }
  [[nodiscard]] std::int64_t count() const { return std::ssize(workers_); }
  // Whether there is nothing left to stay for: one gave up, or all were told to go.
  [[nodiscard]] bool are_done() const {
    return failed_ || (ended_ > 0 && std::cmp_equal(ended_.load(), workers_.size()));
  }

  // Lets them finish, and waits until they have. The first error that one of them met.
  [[nodiscard]] Status finish() {
    stop();
    for (const One& worker : workers_) {
      if (worker.report && !*worker.report) return std::unexpected(worker.report->error());
    }
    return {};
  }

 private:
  struct One {
    WorkerConfig config;
    StopSignal stop;
    std::optional<Result<WorkReport>> report;
    std::jthread thread;
  };

  void stop() {
    for (One& worker : workers_) {
      if (worker.thread.joinable() && worker.stop.requests() == 0) worker.stop.request();
    }
    for (One& worker : workers_) {
      if (worker.thread.joinable()) worker.thread.join();
    }
  }

  std::list<One> workers_;
  std::atomic<int> ended_ = 0;
  std::atomic<bool> failed_ = false;
};

// Somebody else may apply a policy at the same time; then the newest file wins, which is ours. A file with nothing but
// local settings has no policy.
Status apply_policy(TaskQueue& queue, const Project& project) {
  if (project.document.shared == "{}") return {};
  for (int tries = 1;; ++tries) {
    const auto config = TRY(queue.config());
    if (config.document == project.document.shared) return {};
    const auto applied = queue.apply_config(project.document.shared, config.version);
    if (applied) {
      log_info("up", "applied the policy",
               {{"file", project.path.string()}, {"version", std::to_string(applied->version)}});
      return {};
    }
    if (applied.error().code != ErrorCode::kWrongState || tries == kApplyTriesMax)
      return std::unexpected(applied.error());
  }
}

// Before anything changes: a worker without its program would only hand tasks back.
Status find_programs(const Project& project, const Environment& environment) {
  std::vector<Serve> serves;
  for (const auto& [type, profile] : project.document.local.runners) serves.push_back({type, type});
  const std::string* path = environment.find("PATH");
  return check_programs(serves, {.for_all = {}, .by_type = project.document.local.runners},
                        path != nullptr ? *path : "");
}

Status add_workers(Workers& workers, const Project& project, const Context& context, Engine& engine) {
  const auto state = TRY(state_folder(context.environment));
  const auto policy = TRY(engine.policy());
  for (const auto& [type, profile] : project.document.local.runners) {
    TRY(check_verifies({{type, type}}, {.for_all = {}, .by_type = {{type, profile}}}, *policy));
    workers.add({.serves = serves_of_type(type, *policy),
                 .runners = {.for_all = {}, .by_type = {{type, profile}}, .repos = project.document.local.repos},
                 .state_dir = state.string(),
                 .version = DROVER_VERSION,
                 .result_bytes_max = static_cast<std::size_t>(policy->limits.result_bytes)});
  }
  return {};
}

// Under a service manager a project that is not run is an outage that nobody sees.
Status check_trust(const std::optional<Project>& project, const Context& context) {
  if (!project) return {};
  const auto trusted = TRY(is_trusted(*project, context.environment));
  if (trusted) return {};
  return drover::fail(ErrorCode::kForbidden,
                      fmt::format("{}; `drover serve` starts a server without it", not_trusted_message(*project)));
}

// Policy and workers of the project.
Status set_up_project(const std::optional<Project>& project, Workers& workers, Context& context, Engine& engine) {
  if (!project) {
    context.say(fmt::format("no {} here: running the server and upkeep, but no workers", kProjectFile));
    return {};
  }
  TRY(find_programs(*project, context.environment));
  TRY(apply_policy(engine, *project));
  return add_workers(workers, *project, context, engine);
}

// Writes what happens to the log.
class EventLog {
 public:
  EventLog(TaskQueue& queue, std::int64_t after) : queue_(queue), cursor_(after) {}

  [[nodiscard]] Status refresh() {
    for (bool has_more = true; has_more;) {
      const auto news = TRY(cursor_.next(queue_, kPageEvents));
      if (const auto& gap = news.went_back) log_warn("up", gap_line(*gap));
      for (const Event& event : news.events) log_event(event);
      has_more = news.has_more;
    }
    return {};
  }

 private:
  TaskQueue& queue_;
  EventCursor cursor_;
};

// Shows what happens until a signal comes, a worker gives up or all are told to go. A store that does not answer is
// waited for: the workers do the same.
template <class View>
Result<WatchEnd> show_until_stopped(TaskQueue& queue, const Workers& workers, View& view) {
  bool failing = false;
  const auto look = [&]() -> Result<Seen> {
    const Status shown = view.refresh();
    if (!shown && error_info(shown.error().code).retryable == Retryable::kNo) return std::unexpected(shown.error());
    if (!shown && !failing) log_warn("up", "cannot read events", {{"error", to_string(shown.error())}});
    failing = !shown;
    return Seen::kNotYet;
  };
  return watch(queue, std::nullopt, look, [&] { return workers.are_done(); });
}

Result<WatchEnd> show_events(TaskQueue& queue, const Workers& workers, Context& context) {
  const auto last = TRY(queue.last_event_seq());
  if (context.out.look().terminal) {
    LiveView view(queue, context.out, workers.serves(), last);
    return show_until_stopped(queue, workers, view);
  }
  EventLog view(queue, last);
  return show_until_stopped(queue, workers, view);
}

// Whoever reads it within ten minutes signs in as the user. A service manager keeps it for others to read.
Status tell_link(const ServedStore& served, TokenBook& tokens, const UserToken& token, Context& context) {
  const std::optional<std::string>& url = served.browser_url();
  if (!url || server::embedded_dashboard().empty()) return {};
  if (served.is_managed()) {
    context.say(fmt::format("the dashboard is at {}; `drover dashboard` signs you in", *url));
    return {};
  }
  const auto code = TRY(SigninBook(tokens, system_rng()).create_code(token.id));
  context.say(
      fmt::format("the dashboard, for one sign-in within ten minutes: {}", server::signin_link(*url, code.code)));
  return {};
}

int run(const UpOptions& options, Context& context) {
  const auto project = find_project(context);
  if (!project) return context.fail(project.error());
  // The live view tells the rest.
  const LogLevel otherwise = context.out.look().terminal ? LogLevel::kWarn : LogLevel::kInfo;
  configure_log(log_level_of(context, *project, otherwise), LogFormat::kAuto);
  if (auto trusted = check_trust(*project, context); !trusted) return context.fail(trusted.error());
  auto server = ServerToBe::prepare(options.serve, server_name_of(*project), context.environment);
  if (!server) return context.fail(server.error());
  if (auto made = make_project_folder(context, *project); !made) return context.fail(made.error());
  const auto url = choose_store(context);
  if (!url) return context.fail(url.error());
  const auto opened = open_own_store(context);
  if (!opened) return context.fail(opened.error());
  Engine& engine = (*opened)->engine();

  TokenBook tokens((*opened)->store(), system_rng());
  const auto token = keep_user_token(tokens, *url, context.environment);
  if (!token) return context.fail(token.error());
  Workers workers;
  if (auto ready = set_up_project(*project, workers, context, engine); !ready) return context.fail(ready.error());
  const SweeperThread sweepers(engine);
  const Interrupts interrupts(workers.stop_signals());
  const ServedStore served(**opened, *url, tokens, *std::move(server), context.environment);
  workers.start(engine);
  context.say(
      fmt::format("serving on {}; your token is in {}", fmt::join(served.addresses(), ", "), token->file.string()));
  if (auto told = tell_link(served, tokens, *token, context); !told) return context.fail(told.error());
  context.say(
      fmt::format("up on {} with {}; Ctrl-C stops", without_credentials(*url), counted(workers.count(), "worker")));
  const auto end = show_events(engine, workers, context);
  context.say("stopping: running tasks have 30s to finish; press Ctrl-C again to stop them now");
  const auto finished = workers.finish();
  if (!end) return context.fail(end.error());
  return finished ? kExitOk : context.fail(finished.error());
}

}  // namespace

void add_up(Verbs& verbs) {
  verbs.add<UpOptions>(
      {.name = "up",
       .summary = "Run everything in one process: upkeep, server, and a worker for each runner profile of drover.yaml",
       .footer =
           R"(Applies the drover.yaml of this folder if it has changed, then runs a server and one worker for each profile under
local.runners until SIGINT or SIGTERM. The first signal gives running tasks 30s to finish; the second stops them at once.
It refuses a drover.yaml that you have not trusted (exit 4), and if it cannot start, it changes nothing. For each store, it
creates one admin token for you and tells you which file holds it.

Examples:
  drover trust && drover up
  drover up --listen 127.0.0.1:8080)"},
      define, run);
}

}  // namespace drover::cli
