// A storm over real processes: workers are killed again and again while tasks go in and through, and at the end what
// everybody saw must agree.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "drover/time.h"
#include "history/check.h"

namespace drover::e2e {

struct StormPlan {
  std::uint64_t seed = 1;
  int tasks = 2'000;
  int tasks_at_once = 1'000;  // enqueued before the storm; the rest follows while it rages
  Millis task_min{50};
  Millis task_max{500};
  int max_stalls = 20;
  int workers = 4;
  int concurrency = 3;
  Millis lease{2'000};
  Millis heartbeat{300};
  Millis tick{1'000};  // one worker is killed, and replaced, in each
  int kills_min = 60;
  int leases_lost_min = 100;
  Millis bound{300'000};  // past it the storm has failed

  // What else goes wrong, in percent of the ticks.
  int freeze_percent = 0;   // a worker is stopped past its lease, and woken, instead of killed
  int cancel_percent = 0;   // somebody cancels a task, and perhaps wants it back
  int abandon_percent = 0;  // a client is killed while it enqueues

  // A Redis of the storm's own, with an append-only file. Otherwise the store of the sandbox.
  enum class Store : std::uint8_t { kSandbox, kRedis };
  Store store = Store::kSandbox;
  std::string appendfsync = "always";  // "everysec": what was written in the last two seconds may be lost with Redis
  int store_kills_min = 0;             // of Redis, with SIGKILL; it is started again at once
  Millis store_kill_every{3'000};
};

// Redis may forget, within the window, what it has acknowledged.
[[nodiscard]] inline bool may_forget(const StormPlan& plan) {
  return plan.store == StormPlan::Store::kRedis && plan.store_kills_min > 0 && plan.appendfsync != "always";
}

// Kills and nothing else: every task has to complete.
[[nodiscard]] inline bool only_kills(const StormPlan& plan) {
  return plan.cancel_percent == 0;
}

struct StormFigures {
  int kills = 0;
  int freezes = 0;
  int cancels = 0;
  int store_kills = 0;
  std::int64_t events_lost = 0;  // as the store told
  int forgotten = 0;             // tasks acknowledged and lost with Redis, where the plan allows for it
  int enqueued = 0;
  int ended = 0;
  std::int64_t leases_lost = 0;
  std::int64_t runs = 0;
  std::int64_t unknown_enqueues = 0;
  Millis took{0};
};

struct StormOutcome {
  StormFigures figures;
  std::vector<std::string> faults;  // none: every promise was kept
  std::string folder;               // where store and witness are, kept if there are faults
};

// Blocks until it is over. `on_progress` is told how far it is, several times a second.
[[nodiscard]] StormOutcome run_storm(const StormPlan& plan,
                                     const std::function<void(const StormFigures&)>& on_progress);

[[nodiscard]] std::string to_string(const StormFigures& figures);

}  // namespace drover::e2e
