// Three hundred seeds of ten simulated minutes, each twice; in two halves, so that two cores share them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "sim/simulate.h"

namespace drover::sim {
namespace {

constexpr int kSeeds = 300;
constexpr int kRedisSeeds = 12;

// ./dev asan and tsan run a tenth.
int scaled(int count) {
  const char* percent = std::getenv("DROVER_TEST_PERCENT");
  return percent == nullptr ? count : std::max(1, count * std::atoi(percent) / 100);
}

void run_seeds(int first, int step) {
  for (int seed = first; seed < scaled(kSeeds); seed += step) {
    const Plan plan = make_plan(static_cast<std::uint64_t>(seed));
    const Outcome outcome = simulate_twice(plan);
    ASSERT_FALSE(outcome.wrong.has_value()) << explain(plan, outcome);
  }
}

TEST(Simulation, EvenSeedsKeepEveryPromise) {
  run_seeds(0, 2);
}
TEST(Simulation, OddSeedsKeepEveryPromise) {
  run_seeds(1, 2);
}

TEST(Simulation, OverRedisTheSamePromisesAreKept) {
  SimOptions options;
  options.redis = &test::shared_redis();
  for (int seed = 0; seed < scaled(kRedisSeeds); ++seed) {
    const Plan plan = make_redis_plan(static_cast<std::uint64_t>(seed));
    const Outcome outcome = simulate_twice(plan, options);
    ASSERT_FALSE(outcome.wrong.has_value()) << explain(plan, outcome);
  }
}

TEST(Simulation, OverRedisAPlantedBugIsFound) {
  SimOptions options;
  options.redis = &test::shared_redis();
  plant(PlantedBug::kDependentsReleasedEarly);
  std::optional<Wrong> found;
  for (std::uint64_t seed = 0; seed < kRedisSeeds && !found; ++seed) {
    found = simulate(make_redis_plan(seed), options).wrong;
  }
  plant(PlantedBug::kNone);
  EXPECT_TRUE(found.has_value());
}

TEST(Simulation, WithoutFullThePowerCutsAreNoticed) {
  SimOptions options;
  options.synchronous = SqliteOptions::Synchronous::kNormal;
  int noticed = 0;
  for (std::uint64_t seed = 0; seed < 100 && noticed == 0; ++seed) {
    const Plan plan = make_plan(seed);
    const bool cuts =
        std::ranges::any_of(plan.faults, [](const Fault& fault) { return fault.kind == Fault::Kind::kPowerCut; });
    if (cuts && simulate(plan, options).wrong) ++noticed;
  }
  EXPECT_GT(noticed, 0);
}

TEST(Simulation, AnotherSeedIsAnotherStory) {
  EXPECT_NE(simulate(make_plan(1)).trace_hash, simulate(make_plan(2)).trace_hash);
}

}  // namespace
}  // namespace drover::sim
