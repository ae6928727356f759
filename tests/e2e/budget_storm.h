// Many runs under the budget of their owner, over real processes, while workers are killed: what the programs have
// written to a bill of their own is what the ledger says, and the budget held.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drover/time.h"

namespace drover::e2e {

struct BudgetStormPlan {
  enum class Store : std::uint8_t { kSqlite, kRedis };
  Store store = Store::kSqlite;
  std::uint64_t seed = 1;
  int tasks = 1'000;
  int requests_max = 4;  // of one run; so many are set aside for it
  Millis request_takes{100};
  int workers = 8;
  int concurrency = 4;
  int cap_percent = 60;  // of what all the tasks need, without kills
  int kills = 0;         // of workers, with SIGKILL
  Millis tick{200};      // between two of them
  Millis bound{600'000};
};

struct BudgetStormOutcome {
  int kills = 0;
  std::int64_t runs = 0;
  std::int64_t leases_lost = 0;
  std::int64_t cap = 0;               // in micro-dollars, as everything below
  std::int64_t request = 0;           // what one costs
  std::int64_t spent_at_the_cap = 0;  // once nothing ran any more
  std::int64_t billed_at_the_cap = 0;
  std::int64_t billed = 0;  // by the programs, in the end
  std::int64_t booked = 0;  // by the ledger
  Millis took{0};
  std::vector<std::string> faults;  // none: every promise was kept
};

[[nodiscard]] BudgetStormOutcome run_budget_storm(const BudgetStormPlan& plan);
[[nodiscard]] std::string to_string(const BudgetStormOutcome& outcome);

}  // namespace drover::e2e
