#include "net/byte_budget.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace drover::test {
namespace {

constexpr std::size_t kMax = 1'000'000;

// Lets go of everything, and says so.
struct Hoarder {
  Hoarder(ByteBudget& budget, std::size_t bytes)
      : holder(budget, [this] {
          ++times;
          holder.set(0);
        }) {
    holder.set(bytes);
  }
  int times = 0;
  ByteBudget::Holder holder;
};

TEST(ByteBudget, CountsWhatAllHold) {
  ByteBudget budget(kMax);
  {
    Hoarder one(budget, 500'000);
    const ByteBudget::Charge charge(budget, 300'000);
    EXPECT_EQ(budget.held(), 800'000U);
    EXPECT_TRUE(budget.is_tight());
    EXPECT_FALSE(budget.is_over());
    one.holder.set(200'000);
    EXPECT_EQ(budget.held(), 500'000U);
  }
  EXPECT_EQ(budget.held(), 0U);
}

TEST(ByteBudget, WhoHoldsMostLetsGoFirst) {
  ByteBudget budget(kMax);
  Hoarder small(budget, 300'000);
  Hoarder large(budget, 800'000);
  Hoarder idle(budget, 0);
  budget.relieve();
  EXPECT_EQ(large.times, 1);
  EXPECT_EQ(small.times, 0);
  EXPECT_EQ(budget.held(), 300'000U);
  budget.relieve();
  EXPECT_EQ(small.times, 0) << "there is room now";
}

TEST(ByteBudget, AStrangerLetsGoBeforeOneWhoIsKnown) {
  ByteBudget budget(kMax);
  Hoarder known(budget, 600'000);
  known.holder.set_known();
  Hoarder stranger(budget, 500'000);
  budget.relieve();
  EXPECT_EQ(stranger.times, 1);
  EXPECT_EQ(known.times, 0);
}

// Nobody is turned out for what is on its way between two threads.
TEST(ByteBudget, ThoseWhoHoldLittleAreLeftAlone) {
  ByteBudget budget(kMax);
  Hoarder little(budget, 1'000);
  const ByteBudget::Charge charge(budget, 2 * kMax);
  budget.relieve();
  EXPECT_EQ(little.times, 0);
  EXPECT_FALSE(budget.make_room());
}

}  // namespace
}  // namespace drover::test
