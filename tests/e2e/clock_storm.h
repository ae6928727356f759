// Somebody sets the clock of the store's machine again and again while real workers run tasks: each must run once, and
// nothing that has ended may go.
#pragma once

#include <string>
#include <vector>

#include "drover/time.h"

namespace drover::e2e {

struct ClockStormPlan {
  enum class Store : std::uint8_t { kSqlite, kRedis };
  Store store = Store::kSqlite;
  int tasks = 120;
  Millis task_takes{1'000};
  int workers = 2;
  int concurrency = 4;
  Millis lease{5'000};
  Millis heartbeat{500};
  // How far ahead of the truth the clock is, one after the other, each for a while.
  std::vector<Millis> ahead;
  Millis every{700};
  Millis bound{120'000};
};

// Forth and back by a second to ten years, from the truth and from one wrong time to another.
[[nodiscard]] std::vector<Millis> all_clock_steps();

struct ClockStormOutcome {
  int steps = 0;
  int ended = 0;
  int running_at_steps = 0;  // tasks, summed up over the steps
  int starts = 0;            // as the agents saw it
  int steps_logged = 0;      // by the first worker
  Millis took{0};
  std::vector<std::string> faults;  // none: every promise was kept
};

[[nodiscard]] ClockStormOutcome run_clock_storm(const ClockStormPlan& plan);
[[nodiscard]] std::string to_string(const ClockStormOutcome& outcome);

}  // namespace drover::e2e
