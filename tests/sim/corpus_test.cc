// Seeds that once broke a promise must keep it now.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "sim/simulate.h"

namespace drover::sim {
namespace {

TEST(Corpus, SeedsThatOnceFailedPass) {
  std::ifstream file(SIM_CORPUS);
  ASSERT_TRUE(file.is_open()) << SIM_CORPUS;
  int seeds = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::uint64_t seed = 0;
    ASSERT_TRUE(std::istringstream(line) >> seed) << line;
    const Plan plan = make_plan(seed);
    const Outcome outcome = simulate(plan);
    EXPECT_FALSE(outcome.wrong.has_value()) << line << "\n" << explain(plan, outcome);
    ++seeds;
  }
  EXPECT_GT(seeds, 0);
}

}  // namespace
}  // namespace drover::sim
