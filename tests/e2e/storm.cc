#include "e2e/storm.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>

#include "base/rng.h"
#include "e2e/sandbox.h"
#include "history/read.h"
#include "support/redis_server.h"
#include "worker/process_tree.h"

namespace drover::e2e {
namespace {

constexpr const char* kType = "storm";
constexpr int kExitConflict = 6;
constexpr int kExitUnavailable = 7;
constexpr Millis kProgressEvery{200};
constexpr Millis kLeave{60'000};   // for workers that were asked to
constexpr Millis kForgets{2'000};  // how far back everysec may lose what was acknowledged

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class Storm {
 public:
  Storm(const StormPlan& plan, const std::function<void(const StormFigures&)>& on_progress)
      : plan_(plan), on_progress_(on_progress), rng_(plan.seed) {
    if (plan.store == StormPlan::Store::kSandbox) return;
    redis_.emplace(test::RedisOptions{.appendonly = true, .appendfsync = plan.appendfsync});
    sandbox_.set("DROVER_STORE", redis_->tcp_url());
  }

  StormOutcome run() {
    started_ = mono_now();
    next_store_kill_ = started_ + plan_.store_kill_every;
    follow();
    enqueue(plan_.tasks_at_once);
    for (int i = 0; i < plan_.workers; ++i) workers_.push_back(start_worker());
    rage();
    calm_down();
    judge();
    figures_.took = mono_now() - started_;
    return {figures_, faults_, faults_.empty() ? std::string() : keep_folder()};
  }

 private:
  struct Worker {
    std::unique_ptr<Process> process;
    std::optional<Millis> wake_at;  // while it is frozen
    std::optional<DeathWatch> tree;
  };

  void fault(std::string what) { faults_.push_back(std::move(what)); }
  bool chance(int percent) { return rng_.below(100) < static_cast<std::uint64_t>(percent); }

  // ---- the weather

  void rage() {
    Millis next_tick = mono_now() + plan_.tick;
    while (!is_over()) {
      if (mono_now() - started_ > plan_.bound) return fault(fmt::format("not over after {} ms", plan_.bound.count()));
      if (const auto line = follower_->read_line(std::min(next_tick - mono_now(), kProgressEvery))) take_event(*line);
      tell_progress();
      if (figures_.store_kills < plan_.store_kills_min && mono_now() >= next_store_kill_) kill_store();
      if (mono_now() < next_tick) continue;
      next_tick = std::max(next_tick + plan_.tick, mono_now());
      tick();
    }
  }

  [[nodiscard]] bool is_over() {
    if (figures_.kills < plan_.kills_min || figures_.store_kills < plan_.store_kills_min ||
        figures_.enqueued < plan_.tasks) {
      return false;
    }
    // What the events told is not all true any more if Redis may forget.
    if (may_forget(plan_)) return nothing_left();
    return unfinished_ == 0 && static_cast<int>(states_.size()) >= acknowledged_;
  }

  [[nodiscard]] bool nothing_left() const {
    const Arguments list{"list", "--json", "--state", "pending,running,stalled,scheduled", "--limit", "1"};
    return sandbox_.must_json(list).as_array()->empty();
  }

  // Ends with the server; the events after the last one are read again from the next. It has kept how far it got.
  void follow() { follower_ = sandbox_.start({"events", "-f", "--after", std::to_string(last_event_), "--json"}); }

  void kill_store() {
    store_kills_at_.push_back(mono_now());
    redis_->kill_hard();
    redis_->start();
    ++figures_.store_kills;
    next_store_kill_ = mono_now() + plan_.store_kill_every;
    // What it has printed counts; what it could not print any more comes from its successor.
    while (const auto line = follower_->read_line(Millis{0})) take_event(*line);
    if (may_forget(plan_)) accept_loss();
    follow();
  }

  // What Redis has forgotten must be told exactly: what is not told as lost is there as it was seen, and nothing that
  // was seen and is told as lost is still there.
  void accept_loss() {
    follower_->signal(SIGTERM);
    if (!follower_->wait(kHangs)) return fault("the follower of events does not end");
    while (const auto line = follower_->read_line(Millis{0})) take_event(*line);
    const auto accepted = json::parse(client({"store", "accept-regression", "--json"}).out);
    const json::Value* lost = accepted ? accepted->find("lost") : nullptr;
    if (lost == nullptr) return fault("a loss could not be accepted");
    const std::int64_t first = lost->is_null() ? last_event_ + 1 : lost->find("from")->as_int().value_or(0);
    const std::int64_t last = lost->is_null() ? last_event_ : lost->find("to")->as_int().value_or(0);
    if (last < last_event_) fault(fmt::format("event {} was seen, and only {} are told as lost", last_event_, last));
    figures_.events_lost += last + 1 - first;
    check_kept(first);
    seen_events_.erase(seen_events_.lower_bound(first), seen_events_.end());
    last_event_ = first - 1;
  }

  void check_kept(std::int64_t first_lost) {
    const std::int64_t after = std::max<std::int64_t>(first_lost - 2, 0);
    std::istringstream there(sandbox_.must({"events", "--after", std::to_string(after), "--json"}));
    for (std::string line; std::getline(there, line);) {
      const auto event = history::read_events(line + "\n");
      if (!event) return fault(event.error().message);
      const auto seen = seen_events_.find(event->front().seq);
      if (seen == seen_events_.end()) continue;
      const bool same = seen->second == line;
      if (same != (seen->first < first_lost)) {
        fault(fmt::format("event {} is {}, and from {} on they are told as lost", seen->first,
                          same ? "still there" : "another one", first_lost));
      }
    }
  }

  void tick() {
    check_killed_trees();
    start_again();
    wake_frozen();
    if (chance(plan_.freeze_percent)) {
      freeze_one();
    } else {
      kill_one();
    }
    const int rest = plan_.tasks - plan_.tasks_at_once;
    const int share = (rest + plan_.kills_min - 1) / plan_.kills_min;
    const int count = std::min(share, plan_.tasks - figures_.enqueued);
    if (count > 0 && chance(plan_.abandon_percent)) {
      abandon_enqueue(count);
    } else if (count > 0) {
      enqueue(count);
    }
    if (chance(plan_.cancel_percent)) meddle();
  }

  Worker start_worker() {
    return {.process =
                sandbox_.start({"work", "--type", kType, "--concurrency", std::to_string(plan_.concurrency), "--lease",
                                format_duration(plan_.lease), "--heartbeat", format_duration(plan_.heartbeat), "--",
                                AGENTSIM_BIN, "witness=" + sandbox_.file("witness")}),
            .wake_at = {},
            .tree = {}};
  }

  // One that was started just now does not listen to signals yet, and would be ended by them.
  static void wait_until_it_works(Worker& worker) {
    const Millis end = mono_now() + kHangs;
    while (mono_now() < end && !worker.process->wait(Millis{5}) &&
           !worker.process->errors().contains(R"("message":"working")")) {
    }
  }

  // A worker that finds no store when it starts goes, and whoever supervises it starts it again.
  void start_again() {
    for (Worker& worker : workers_) {
      if (worker.process->wait(Millis{0}) == Exit{.code = kExitUnavailable}) worker = start_worker();
    }
  }

  void kill_one() {
    Worker& victim = workers_[rng_.below(workers_.size())];
    killed_trees_.emplace_back(descendants_of(victim.process->pid()));
    victim.process->signal(SIGKILL);
    victim = start_worker();
    ++figures_.kills;
  }

  void check_killed_trees() {
    for (DeathWatch& tree : killed_trees_) {
      if (!tree.all_dead(Millis{0})) fault("agents outlived their killed worker by a second");
    }
    killed_trees_.clear();
  }

  // Its undertaker lives as long as the worker itself.
  static std::vector<pid_t> runs_of(pid_t worker) {
    std::vector<pid_t> pids = descendants_of(worker);
    std::erase_if(pids, [](pid_t pid) {
      std::ifstream arguments(fmt::format("/proc/{}/cmdline", pid));
      std::string program;
      std::string role;
      std::getline(arguments, program, '\0');
      std::getline(arguments, role, '\0');
      return role == "undertaker";
    });
    return pids;
  }

  void freeze_one() {
    Worker& victim = workers_[rng_.below(workers_.size())];
    if (victim.wake_at) return;
    victim.tree.emplace(runs_of(victim.process->pid()));
    victim.process->signal(SIGSTOP);
    victim.wake_at = mono_now() + plan_.lease + plan_.tick;
    ++figures_.freezes;
  }

  void wake_frozen() {
    for (Worker& worker : workers_) {
      if (!worker.wake_at || mono_now() < *worker.wake_at) continue;
      if (!worker.tree->all_dead(Millis{0})) fault("agents of a frozen worker outlived its lease");
      worker.process->signal(SIGCONT);
      worker.wake_at.reset();
    }
  }

  // ---- clients

  std::string batch_line(const TaskId& id) {
    const auto spread = static_cast<std::uint64_t>((plan_.task_max - plan_.task_min).count() + 1);
    const Millis takes = plan_.task_min + Millis{static_cast<Millis::rep>(rng_.below(spread))};
    return fmt::format(R"({{"type":"{}","id":"{}","request_id":"{}","max_stalls":{},"payload":{{"sleep_ms":{}}}}})",
                       kType, id.to_string(), id.to_string(), plan_.max_stalls, takes.count()) +
           "\n";
  }

  std::string make_batch(int count, std::vector<TaskId>& ids) {
    std::string batch;
    for (int i = 0; i < count; ++i) {
      ids.push_back(new_task_id(rng_, system_clock().wall()));
      batch += batch_line(ids.back());
    }
    figures_.enqueued += count;
    return batch;
  }

  void log_calls(history::Call::Verb verb, const std::vector<TaskId>& ids, Millis invoked, history::Call::Answer answer,
                 std::optional<TaskState> state = {}) {
    for (const TaskId& id : ids) {
      history_.calls.push_back({verb, id, MonoTime{invoked}, MonoTime{mono_now()}, answer, state});
    }
  }

  // Runs a client to its end while the weather goes on: a worker that was frozen inside the store's lock holds the
  // client up until it is woken.
  Outcome client(const Arguments& arguments, std::string input = {}) {
    const auto process = sandbox_.start(arguments, std::move(input));
    const Millis end = mono_now() + kHangs;
    Outcome outcome;
    std::optional<Exit> exit;
    while (!exit && mono_now() < end) {
      outcome.out += process->read_rest(Millis{20});
      exit = process->wait(Millis{5});
      wake_frozen();
    }
    outcome.out += process->read_rest(Millis{0});
    outcome.err = process->errors();
    if (exit && exit->code) outcome.exit_code = *exit->code;
    return outcome;
  }

  // A client that was told nothing asks again with the same request ids.
  void enqueue(int count) {
    constexpr int kTriesMax = 5;
    std::vector<TaskId> ids;
    const std::string batch = make_batch(count, ids);
    for (int tries = 0; tries < kTriesMax; ++tries) {
      const Millis invoked = mono_now();
      const Outcome outcome = client({"enqueue", "--batch", "-"}, batch);
      if (outcome.exit_code == 0) {
        acknowledged_ += count;
        acknowledged_ids_.insert(acknowledged_ids_.end(), ids.begin(), ids.end());
        return log_calls(history::Call::Verb::kEnqueue, ids, invoked, history::Call::Answer::kOk);
      }
      log_calls(history::Call::Verb::kEnqueue, ids, invoked, history::Call::Answer::kUnknown);
      if (outcome.exit_code != kExitUnavailable) break;
    }
    fault(fmt::format("an enqueue of {} tasks was refused", count));
  }

  void abandon_enqueue(int count) {
    std::vector<TaskId> ids;
    sandbox_.write_file("abandoned.ndjson", make_batch(count, ids));
    const Millis invoked = mono_now();
    const auto process = sandbox_.start({"enqueue", "--batch", "abandoned.ndjson"});
    const auto exit = process->wait(Millis{static_cast<Millis::rep>(rng_.below(30))});
    if (exit == Exit{.code = 0}) {
      acknowledged_ += count;
      return log_calls(history::Call::Verb::kEnqueue, ids, invoked, history::Call::Answer::kOk);
    }
    process->signal(SIGKILL);
    [[maybe_unused]] const auto dead = process->wait(kHangs);
    log_calls(history::Call::Verb::kEnqueue, ids, invoked, history::Call::Answer::kUnknown);
  }

  void meddle() {
    if (acknowledged_ids_.empty()) return;
    const TaskId id = acknowledged_ids_[rng_.below(acknowledged_ids_.size())];
    ask(history::Call::Verb::kCancel, "cancel", id);
    ++figures_.cancels;
    if (chance(50)) ask(history::Call::Verb::kRetry, "retry", id);
  }

  void ask(history::Call::Verb verb, const char* command, const TaskId& id) {
    const Millis invoked = mono_now();
    const Outcome outcome = client({command, id.to_string(), "--json"});
    using Answer = history::Call::Answer;
    if (outcome.exit_code == 0) {
      const auto answer = json::parse(outcome.out);
      const auto state = answer ? parse_task_state(at(*answer, "state")) : std::nullopt;
      return log_calls(verb, {id}, invoked, Answer::kOk, state);
    }
    if (outcome.exit_code != kExitConflict && outcome.exit_code != kExitUnavailable) {
      fault(fmt::format("{} {}: exit code {}: {}", command, id.to_string(), outcome.exit_code, outcome.err));
    }
    log_calls(verb, {id}, invoked, outcome.exit_code == kExitConflict ? Answer::kRefused : Answer::kUnknown);
  }

  // ---- what is seen while it rages

  void take_event(const std::string& line) {
    const auto event = history::read_events(line + "\n");
    if (!event) return fault(event.error().message);
    const history::LoggedEvent& one = event->front();
    last_event_ = one.seq;
    if (may_forget(plan_)) seen_events_[one.seq] = line;
    if (!one.name.starts_with("task.")) return;  // of a worker, a gate or an alert
    const auto [known, is_new] = states_.try_emplace(one.task, one.state);
    unfinished_ += is_new ? 1 : 0;
    unfinished_ -= is_terminal(one.state) && (is_new || !is_terminal(known->second)) ? 1 : 0;
    unfinished_ += !is_new && is_terminal(known->second) && !is_terminal(one.state) ? 1 : 0;
    known->second = one.state;
    figures_.leases_lost += one.name == "task.stalled" ? 1 : 0;
    figures_.runs += one.name == "task.claimed" ? 1 : 0;
    figures_.ended = static_cast<int>(states_.size()) - unfinished_;
  }

  void tell_progress() {
    if (mono_now() < next_progress_) return;
    next_progress_ = mono_now() + kProgressEvery;
    figures_.took = mono_now() - started_;
    on_progress_(figures_);
  }

  // ---- the end

  void calm_down() {
    start_again();
    for (Worker& worker : workers_) {
      worker.process->signal(SIGCONT);
      wait_until_it_works(worker);
      worker.process->signal(SIGTERM);
    }
    for (Worker& worker : workers_) {
      if (worker.process->wait(kLeave) != Exit{.code = 0}) fault("a worker did not leave: " + worker.process->errors());
    }
    follower_.reset();
    DeathWatch strays(sandbox_.all_task_processes());
    if (!strays.all_dead(Millis{2'000})) {
      for (const pid_t pid : strays.alive()) fault("a stray process: " + command_line_of(pid));
    }
  }

  void judge() {
    if (const Outcome fsck = sandbox_.drover({"fsck", "--json"}); fsck.out != "[]\n")
      fault("fsck: " + fsck.out + fsck.err);
    auto tasks = history::read_tasks(sandbox_.must({"list", "--json", "--limit", "1000000"}));
    auto events = history::read_events(sandbox_.must({"events", "--json"}));
    auto sightings = history::read_witness(read_file(sandbox_.file("witness")));
    if (!tasks || !events || !sightings) return fault("the dump cannot be read");
    history_.tasks = *std::move(tasks);
    history_.events = *std::move(events);
    history_.sightings = *std::move(sightings);
    if (may_forget(plan_)) return judge_what_is_left();

    const history::Verdict verdict = history::check(history_);
    if (!verdict.violations.empty()) fault(history::to_string(verdict.violations));
    figures_.leases_lost = verdict.leases_lost;
    figures_.runs = verdict.runs;
    figures_.unknown_enqueues = verdict.unknown;
    if (only_kills(plan_)) {
      for (const history::FinalTask& task : history_.tasks) {
        if (task.state != TaskState::kCompleted) {
          fault(fmt::format("task {} is {}", task.id.to_string(), name_of(task.state)));
        }
      }
    }
    if (figures_.leases_lost < plan_.leases_lost_min) {
      fault(fmt::format("only {} leases were lost: no storm", figures_.leases_lost));
    }
  }

  // Redis went back in time, and with it the events: what is told of one run may be told of another again. What counts
  // is that every acknowledged task is there and done, or was acknowledged just before Redis was killed.
  void judge_what_is_left() {
    std::set<TaskId> there;
    figures_.ended = 0;  // what the events told was cut off with their follower
    for (const history::FinalTask& task : history_.tasks) {
      there.insert(task.id);
      figures_.ended += is_terminal(task.state) ? 1 : 0;
      if (task.state != TaskState::kCompleted) {
        fault(fmt::format("task {} is {}", task.id.to_string(), name_of(task.state)));
      }
    }
    for (const history::Call& call : history_.calls) {
      if (call.answer != history::Call::Answer::kOk || there.contains(call.task)) continue;
      ++figures_.forgotten;
      const Millis answered = call.answered_at.since_origin;
      const bool excused = std::ranges::any_of(
          store_kills_at_, [&](Millis at) { return answered <= at + kProgressEvery && at - answered <= kForgets; });
      if (!excused) fault(fmt::format("task {} is lost, and was acknowledged long before", call.task.to_string()));
    }
  }

  std::string keep_folder() const {
    namespace fs = std::filesystem;
    const fs::path kept = fs::temp_directory_path() / fmt::format("kept-{}", sandbox_.folder().filename().string());
    std::error_code error;
    fs::create_directory(kept, error);
    fs::copy(fs::path(sandbox_.store_path()).parent_path(), kept / "store", error);
    fs::copy(sandbox_.file("witness"), kept / "witness", error);
    return kept.string();
  }

  const StormPlan plan_;
  const std::function<void(const StormFigures&)> on_progress_;
  SeededRng rng_;
  std::optional<test::RedisServer> redis_;
  Sandbox sandbox_;
  std::unique_ptr<Process> follower_;
  std::vector<Worker> workers_;
  std::vector<DeathWatch> killed_trees_;
  history::History history_;
  std::vector<TaskId> acknowledged_ids_;
  int acknowledged_ = 0;
  std::map<TaskId, TaskState> states_;  // by the events so far
  int unfinished_ = 0;
  std::int64_t last_event_ = 0;
  std::map<std::int64_t, std::string> seen_events_;  // where Redis may forget them
  Millis next_store_kill_{0};
  std::vector<Millis> store_kills_at_;
  Millis started_{0};
  Millis next_progress_{0};
  StormFigures figures_;
  std::vector<std::string> faults_;
};

}  // namespace

StormOutcome run_storm(const StormPlan& plan, const std::function<void(const StormFigures&)>& on_progress) {
  return Storm(plan, on_progress).run();
}

std::string to_string(const StormFigures& figures) {
  const double seconds = std::chrono::duration<double>(figures.took).count();
  std::string text = fmt::format("{} of {} tasks ended, {} kills, {} leases lost, {} runs, {:.1f} s, {:.1f} tasks/s",
                                 figures.ended, figures.enqueued, figures.kills, figures.leases_lost, figures.runs,
                                 seconds, figures.ended / std::max(seconds, 0.001));
  if (figures.store_kills > 0) {
    text += fmt::format(", {} kills of Redis, {} acknowledged tasks lost", figures.store_kills, figures.forgotten);
    if (figures.events_lost > 0) text += fmt::format(", {} events told as lost", figures.events_lost);
  }
  if (figures.freezes > 0) text += fmt::format(", {} freezes", figures.freezes);
  if (figures.cancels > 0) text += fmt::format(", {} cancels", figures.cancels);
  if (figures.unknown_enqueues > 0) text += fmt::format(", {} enqueues of unknown fate", figures.unknown_enqueues);
  return text;
}

}  // namespace drover::e2e
