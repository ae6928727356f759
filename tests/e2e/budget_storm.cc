#include "e2e/budget_storm.h"

#include <fmt/format.h>

#include <csignal>
#include <fstream>
#include <optional>

#include "base/rng.h"
#include "e2e/sandbox.h"
#include "engine/open.h"
#include "store/redis/redis_store.h"
#include "store/sqlite/sqlite_store.h"
#include "support/must.h"
#include "support/redis_server.h"
#include "worker/process_tree.h"

namespace drover::e2e {
namespace {

constexpr std::int64_t kRequest = 1'250;  // micro-dollars
constexpr Millis kPoll{100};

class BudgetStorm {
 public:
  explicit BudgetStorm(const BudgetStormPlan& plan) : plan_(plan), rng_(plan.seed) {
    if (plan.store != BudgetStormPlan::Store::kRedis) return;
    redis_.emplace(test::RedisOptions{.appendonly = true, .appendfsync = "always"});
    sandbox_.set("DROVER_STORE", redis_->tcp_url());
  }

  BudgetStormOutcome run() {
    started_ = mono_now();
    prepare();
    for (int i = 0; i < plan_.workers; ++i) workers_.push_back(start_worker());
    if (rage_until([&] { return is_used_up(); }, plan_.kills / 2)) judge_cap();
    sandbox_.must({"budget", "raise", "owner:ann", "--usd", "1000"});
    rage_until([&] { return is_done(); }, plan_.kills);
    calm_down();
    judge();
    outcome_.took = mono_now() - started_;
    return outcome_;
  }

 private:
  void fault(std::string what) { outcome_.faults.push_back(std::move(what)); }
  TaskQueue& queue() { return opened_->queue(); }
  [[nodiscard]] std::int64_t per_run() const { return kRequest * plan_.requests_max; }

  Result<std::unique_ptr<Store>> open_store() {
    const std::string url = redis_ ? redis_->tcp_url() : sandbox_.store_url();
    if (!url.starts_with("redis")) return open_sqlite({.path = sandbox_.store_path()});
    return open_redis({.address = test::must(redis::parse_address(url))});
  }

  void prepare() {
    opened_.emplace(test::must(open_store()), system_rng());
    std::int64_t needed = 0;
    std::string batch;
    for (int i = 0; i < plan_.tasks; ++i) {
      const auto requests = 1 + static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(plan_.requests_max)));
      needed += requests * kRequest;
      batch += fmt::format(
          "{{\"type\":\"spend\",\"owner\":\"ann\",\"max_stalls\":1000,\"payload\":{{\"requests\":{}}}}}\n", requests);
    }
    outcome_.cap = needed * plan_.cap_percent / 100;
    outcome_.request = kRequest;
    const auto dollars = [](std::int64_t micro) {
      return fmt::format("{}.{:06}", micro / 1'000'000, micro % 1'000'000);
    };
    sandbox_.write_file(
        "drover.yaml",
        fmt::format("types: {{spend: {{budget_per_run: {{usd: {}}}}}}}\nowners: {{ann: {{budgets: [{{usd: {}}}]}}}}\n"
                    "local: {{runners: {{spend: {{argv: [{}, 'bill={}', request_cost={}, request_ms={}], "
                    "reports_usage: true}}}}}}\n",
                    dollars(per_run()), dollars(outcome_.cap), AGENTSIM_BIN, sandbox_.file("bill"), kRequest,
                    plan_.request_takes.count()));
    sandbox_.must({"trust"});
    sandbox_.must({"config", "apply", "drover.yaml"});
    sandbox_.write_file("batch.ndjson", batch);
    sandbox_.must({"enqueue", "--batch", "batch.ndjson"});
  }

  std::unique_ptr<Process> start_worker() {
    return sandbox_.start({"work", "--type", "spend", "--concurrency", std::to_string(plan_.concurrency), "--lease",
                           "2s", "--heartbeat", "300ms", "--log-level", "warn"});
  }

  // Kills one worker after the other, `kills` in all so far. False: it did not come to an end.
  template <class Done>
  bool rage_until(Done done, int kills) {
    Millis next_kill = mono_now() + plan_.tick;
    while (!done()) {
      if (mono_now() - started_ > plan_.bound) {
        fault(fmt::format("not over after {} ms", plan_.bound.count()));
        return false;
      }
      const Millis pause = std::min(kPoll, plan_.tick);
      [[maybe_unused]] const auto gone = workers_.front()->wait(pause);
      if (outcome_.kills >= kills || mono_now() < next_kill) continue;
      next_kill = mono_now() + plan_.tick;
      std::unique_ptr<Process>& victim = workers_[rng_.below(workers_.size())];
      victim->signal(SIGKILL);
      victim = start_worker();
      ++outcome_.kills;
    }
    return true;
  }

  [[nodiscard]] BudgetStatus budget() {
    const auto budgets = test::must(queue().budgets());
    if (budgets.size() != 1) throw std::runtime_error("there is one budget");
    return budgets.front();
  }
  [[nodiscard]] std::size_t count(std::vector<TaskState> states) {
    return test::must(queue().list({.states = std::move(states)}, 1, std::nullopt)).tasks.size();
  }

  // No other run fits, and nothing runs any more.
  bool is_used_up() {
    const BudgetStatus now = budget();
    return now.limit() - now.spent < per_run() && now.aside == 0 && count({TaskState::kRunning}) == 0;
  }
  bool is_done() {
    return outcome_.kills >= plan_.kills &&
           count({TaskState::kPending, TaskState::kScheduled, TaskState::kRunning, TaskState::kStalled}) == 0;
  }

  [[nodiscard]] std::int64_t billed() const {
    std::ifstream bill(sandbox_.file("bill"));
    std::int64_t sum = 0;
    std::string task;
    std::int64_t run = 0;
    std::int64_t cost = 0;
    while (bill >> task >> run >> cost) sum += cost;
    return sum;
  }

  void judge_cap() {
    outcome_.spent_at_the_cap = budget().spent;
    outcome_.billed_at_the_cap = billed();
    const std::int64_t slots = std::int64_t{plan_.workers} * plan_.concurrency;
    if (outcome_.spent_at_the_cap > outcome_.cap + slots * kRequest)
      fault(fmt::format("{} were spent of {}", outcome_.spent_at_the_cap, outcome_.cap));
    if (plan_.kills == 0 && outcome_.billed_at_the_cap != outcome_.spent_at_the_cap)
      fault(fmt::format("{} were billed, and {} spent", outcome_.billed_at_the_cap, outcome_.spent_at_the_cap));
  }

  void calm_down() {
    for (const auto& worker : workers_) worker->signal(SIGTERM);
    for (const auto& worker : workers_) {
      const std::optional<Exit> left = worker->wait(kHangs);
      // One that has only just been started may get the signal before it listens to it.
      if (left != Exit{.code = 0} && left != Exit{.signal = SIGTERM})
        fault("a worker did not leave: " + worker->errors());
    }
    DeathWatch strays(sandbox_.all_task_processes());
    if (!strays.all_dead(Millis{2'000})) fault("agents are left");
  }

  void count_events() {
    for (std::int64_t after = 0;;) {
      const auto events = test::must(queue().events(after, 1'000));
      if (events.empty()) return;
      for (const Event& event : events) {
        outcome_.runs += event.name == "task.claimed" ? 1 : 0;
        outcome_.leases_lost += event.name == "task.stalled" ? 1 : 0;
      }
      after = events.back().seq;
    }
  }

  // A request is short in the ledger only if its run was killed before it could report.
  void judge() {
    count_events();
    outcome_.billed = billed();
    for (const UsageRow& row : test::must(queue().usage({.by = {UsageDimension::kOwner}})))
      outcome_.booked += row.amounts.reported_cost;
    const std::int64_t missing = outcome_.billed - outcome_.booked;
    if (missing < 0 || missing > outcome_.leases_lost * kRequest)
      fault(fmt::format("{} were billed and {} booked, with {} leases lost", outcome_.billed, outcome_.booked,
                        outcome_.leases_lost));
    const BudgetStatus last = budget();
    if (last.spent != outcome_.booked)
      fault(fmt::format("the budget has spent {}, the ledger {}", last.spent, outcome_.booked));
    if (last.aside != 0) fault(fmt::format("{} are set aside at rest", last.aside));
    if (outcome_.kills < plan_.kills) fault(fmt::format("only {} kills", outcome_.kills));
    if (count({TaskState::kFailed, TaskState::kCancelled}) != 0) fault("a task did not complete");
    for (const Finding& finding : test::must(queue().fsck(FsckMode::kCheck)))
      fault(fmt::format("fsck: {} {}", finding.code, finding.detail));
  }

  const BudgetStormPlan plan_;
  SeededRng rng_;
  std::optional<test::RedisServer> redis_;
  Sandbox sandbox_;
  std::optional<OpenedQueue> opened_;
  std::vector<std::unique_ptr<Process>> workers_;
  Millis started_{0};
  BudgetStormOutcome outcome_;
};

}  // namespace

BudgetStormOutcome run_budget_storm(const BudgetStormPlan& plan) {
  return BudgetStorm(plan).run();
}

std::string to_string(const BudgetStormOutcome& outcome) {
  return fmt::format(
      "{} runs, {} kills, {} leases lost, {:.1f} s; cap {}, spent at the cap {} ({:+.1f} requests), billed then {}; in "
      "the "
      "end billed {}, booked {} ({} requests short)",
      outcome.runs, outcome.kills, outcome.leases_lost, std::chrono::duration<double>(outcome.took).count(),
      outcome.cap, outcome.spent_at_the_cap,
      static_cast<double>(outcome.spent_at_the_cap - outcome.cap) / static_cast<double>(outcome.request),
      outcome.billed_at_the_cap, outcome.billed, outcome.booked, (outcome.billed - outcome.booked) / outcome.request);
}

}  // namespace drover::e2e
