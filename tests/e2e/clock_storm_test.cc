// Somebody sets the clock under load; `./dev soak clock` does it for longer.
#include "e2e/clock_storm.h"

#include <gtest/gtest.h>

#include <iostream>

namespace drover::e2e {
namespace {

void expect_survived(ClockStormPlan plan) {
  plan.ahead = all_clock_steps();
  const ClockStormOutcome outcome = run_clock_storm(plan);
  for (const std::string& fault : outcome.faults) ADD_FAILURE() << fault;
  EXPECT_GT(outcome.running_at_steps, 0);
  EXPECT_GT(outcome.steps_logged, 0) << "nobody noticed";
  std::cout << to_string(outcome) << "\n";
}

TEST(ClockStormTest, OnTheMachineOfASqliteStoreEveryTaskRunsOnce) {
  expect_survived({.store = ClockStormPlan::Store::kSqlite});
}

TEST(ClockStormTest, OnTheRedisServerEveryTaskRunsOnce) {
  expect_survived({.store = ClockStormPlan::Store::kRedis});
}

}  // namespace
}  // namespace drover::e2e
