// A small storm for every day; `./dev soak budgets` runs the large one.
#include "e2e/budget_storm.h"

#include <gtest/gtest.h>

#include <iostream>

namespace drover::e2e {
namespace {

void expect_held(const BudgetStormPlan& plan) {
  const BudgetStormOutcome outcome = run_budget_storm(plan);
  for (const std::string& fault : outcome.faults) ADD_FAILURE() << fault;
  std::cout << to_string(outcome) << "\n";
}

// `store` is that of the sandbox.
BudgetStormPlan small(int kills) {
  return {
      .tasks = 24, .request_takes = Millis{50}, .workers = 2, .concurrency = 3, .kills = kills, .tick = Millis{400}};
}

TEST(BudgetStormTest, TheBillIsTheLedgerAndTheCapHolds) {
  expect_held(small(0));
}

TEST(BudgetStormTest, KilledWorkersLeaveNothingSetAside) {
  expect_held(small(4));
}

}  // namespace
}  // namespace drover::e2e
