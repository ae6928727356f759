// Three hundred seeds of ten simulated minutes, each twice; in two halves, so that two cores share them.
#include <gtest/gtest.h>

#include <cstdlib>

#include "sim/simulate.h"

namespace drover::sim {
namespace {

constexpr int kSeeds = 300;

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

}  // namespace
}  // namespace drover::sim
