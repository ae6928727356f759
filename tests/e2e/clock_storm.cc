#include "e2e/clock_storm.h"

#include <fmt/format.h>

#include <csignal>
#include <fstream>
#include <map>
#include <optional>

#include "e2e/sandbox.h"
#include "support/redis_server.h"
#include "support/shifted_clock.h"

namespace drover::e2e {
namespace {

constexpr const char* kType = "work";

class ClockStorm {
 public:
  explicit ClockStorm(const ClockStormPlan& plan) : plan_(plan) {
    if (plan.store == ClockStormPlan::Store::kRedis) {
      redis_.emplace(test::RedisOptions{.clock = &clock_});
      sandbox_.set("DROVER_STORE", redis_->url());
    } else {
      sandbox_.set("DROVER_STORE", "sqlite:" + sandbox_.store_path());
      for (const auto& [name, value] : clock_.environment()) sandbox_.set(name, value);
    }
  }

  ClockStormOutcome run() {
    const Millis began = mono_now();
    enqueue();
    follower_ = sandbox_.start({"events", "-f", "--after", "0", "--json"});
    for (int i = 0; i < plan_.workers; ++i) workers_.push_back(start_worker());
    read_events_until(began + plan_.bound, [&] { return running_ > 0; });
    for (const Millis ahead : plan_.ahead) {
      clock_.set_ahead(ahead);
      ++outcome_.steps;
      outcome_.running_at_steps += running_;
      const Millis next = mono_now() + plan_.every;
      read_events_until(next, [] { return false; });
    }
    read_events_until(began + plan_.bound, [&] { return outcome_.ended >= plan_.tasks; });
    judge();
    outcome_.took = mono_now() - began;
    return outcome_;
  }

 private:
  void fault(std::string what) { outcome_.faults.push_back(std::move(what)); }

  void enqueue() {
    std::string batch;
    for (int i = 0; i < plan_.tasks; ++i) {
      batch += fmt::format(R"({{"type":"{}","payload":{{"sleep_ms":{}}}}})", kType, plan_.task_takes.count()) + "\n";
    }
    sandbox_.must({"enqueue", "--batch", "-"}, batch);
  }

  std::unique_ptr<Process> start_worker() {
    return sandbox_.start({"work", "--type", kType, "--concurrency", std::to_string(plan_.concurrency), "--lease",
                           format_duration(plan_.lease), "--heartbeat", format_duration(plan_.heartbeat), "--",
                           AGENTSIM_BIN, "witness=" + sandbox_.file("witness")});
  }

  template <class Done>
  void read_events_until(Millis end, const Done& done) {
    while (!done() && mono_now() < end) {
      const auto line = follower_->read_line(end - mono_now());
      if (!line) continue;
      const auto event = json::parse(*line);
      if (!event) return fault("no event: " + *line);
      const std::string name = at(*event, "name");
      if (name == "task.claimed") ++running_;
      if (name == "task.completed") --running_, ++outcome_.ended;
      if (name != "task.enqueued" && name != "task.claimed" && name != "task.completed" && name.starts_with("task."))
        fault(*line);
    }
  }

  void judge() {
    for (const auto& worker : workers_) {
      worker->signal(SIGTERM);
      if (worker->wait(kHangs) != Exit{.code = 0}) fault("a worker did not leave: " + worker->errors());
    }
    const std::string log = workers_.front()->errors();
    for (std::size_t found = log.find(" was set "); found != std::string::npos;
         found = log.find(" was set ", found + 1))
      ++outcome_.steps_logged;
    const json::Value tasks = sandbox_.must_json({"list", "--json", "--limit", "100000"});
    if (static_cast<int>(tasks.as_array()->size()) != plan_.tasks)
      fault(fmt::format("{} of {} tasks are kept", tasks.as_array()->size(), plan_.tasks));
    for (const json::Value& task : *tasks.as_array()) {
      if (at(task, "state") != "completed" || at(task, "run") != "1" || at(task, "stalls") != "0")
        fault(fmt::format("task {} is {}, run {}, {} stalls", at(task, "id"), at(task, "state"), at(task, "run"),
                          at(task, "stalls")));
    }
    check_witness();
    if (const Outcome fsck = sandbox_.drover({"fsck", "--json"}); fsck.out != "[]\n")
      fault("fsck: " + fsck.out + fsck.err);
  }

  // What the agents saw, whatever the store says.
  void check_witness() {
    std::ifstream file(sandbox_.file("witness"));
    std::map<std::string, int> starts;
    std::string task;
    std::string run;
    std::string what;
    std::string rest;
    while (file >> task >> run >> what && std::getline(file, rest)) {
      if (what != "start") continue;
      ++outcome_.starts;
      if (++starts[task] > 1) fault(fmt::format("task {} ran twice", task));
    }
    if (static_cast<int>(starts.size()) != plan_.tasks)
      fault(fmt::format("{} of {} tasks were started", starts.size(), plan_.tasks));
  }

  const ClockStormPlan& plan_;
  test::ShiftedClock clock_;
  std::optional<test::RedisServer> redis_;
  Sandbox sandbox_;
  std::unique_ptr<Process> follower_;
  std::vector<std::unique_ptr<Process>> workers_;
  int running_ = 0;
  ClockStormOutcome outcome_;
};

}  // namespace

std::vector<Millis> all_clock_steps() {
  using namespace std::chrono_literals;
  const Millis years = 24h * 3'650;
  return {1s, 0s, -1s, 0s, 10s, 0s, -10s, 0s, 1h, 0s, -1h, 0s, years, 0s, -years, 0s, years, -years, 1h, years, 0s};
}

ClockStormOutcome run_clock_storm(const ClockStormPlan& plan) {
  return ClockStorm(plan).run();
}

std::string to_string(const ClockStormOutcome& outcome) {
  return fmt::format(
      "{} steps of the clock with {:.1f} tasks running at each, {} logged; {} tasks ended, {} starts, {:.1f} s",
      outcome.steps, outcome.steps == 0 ? 0.0 : static_cast<double>(outcome.running_at_steps) / outcome.steps,
      outcome.steps_logged, outcome.ended, outcome.starts, static_cast<double>(outcome.took.count()) / 1'000);
}

}  // namespace drover::e2e
