// Small storms for every day; `./dev soak storm` runs the large one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "e2e/storm.h"

namespace drover::e2e {
namespace {

// Under sanitizers a storm is a tenth of its size.
int scaled(int size, int at_least) {
  const char* percent = std::getenv("DROVER_TEST_PERCENT");
  return percent == nullptr ? size : std::max(at_least, size * std::atoi(percent) / 100);
}

void expect_survived(StormPlan plan) {
  plan.tasks = scaled(plan.tasks, 60);
  plan.tasks_at_once = scaled(plan.tasks_at_once, 40);
  plan.kills_min = scaled(plan.kills_min, 3);
  plan.leases_lost_min = scaled(plan.leases_lost_min, 2);
  const StormOutcome outcome = run_storm(plan, [](const StormFigures&) {});
  for (const std::string& fault : outcome.faults) ADD_FAILURE() << fault;
  if (!outcome.folder.empty()) ADD_FAILURE() << "seed " << plan.seed << "; store and witness: " << outcome.folder;
  std::cout << to_string(outcome.figures) << "\n";
}

TEST(StormTest, KilledWorkersLoseNothing) {
  expect_survived({.tasks = 240, .tasks_at_once = 160, .kills_min = 8, .leases_lost_min = 8, .bound = Millis{120'000}});
}

TEST(StormTest, FreezesCancelsAndAbandonedClientsToo) {
  expect_survived({.seed = 2,
                   .tasks = 200,
                   .tasks_at_once = 120,
                   .kills_min = 6,
                   .leases_lost_min = 6,
                   .bound = Millis{120'000},
                   .freeze_percent = 30,
                   .cancel_percent = 80,
                   .abandon_percent = 30});
}

TEST(RedisStormTest, KilledWorkersAndAKilledRedisLoseNothing) {
  expect_survived({.seed = 3,
                   .tasks = 200,
                   .tasks_at_once = 120,
                   .kills_min = 6,
                   .leases_lost_min = 6,
                   .bound = Millis{120'000},
                   .store = StormPlan::Store::kRedis,
                   .store_kills_min = 3,
                   .store_kill_every = Millis{1'500}});
}

TEST(RedisStormTest, EverysecLosesAtMostTheLastTwoSeconds) {
  expect_survived({.seed = 4,
                   .tasks = 120,
                   .tasks_at_once = 60,
                   .kills_min = 4,
                   .leases_lost_min = 0,
                   .bound = Millis{120'000},
                   .store = StormPlan::Store::kRedis,
                   .appendfsync = "everysec",
                   .store_kills_min = 2,
                   .store_kill_every = Millis{1'500}});
}

}  // namespace
}  // namespace drover::e2e
