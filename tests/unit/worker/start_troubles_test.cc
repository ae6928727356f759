#include "worker/start_troubles.h"

#include <gtest/gtest.h>

#include "worker/machine_limits.h"

namespace drover::test {
namespace {

class StartTroublesTest : public testing::Test {
 protected:
  MonoTime until() const {
    const std::vector<Unable> unable = troubles.current();
    EXPECT_EQ(unable.size(), 1U);
    return unable.empty() ? MonoTime{} : unable[0].until;
  }

  MonoTime now{Millis{1'000'000}};
  StartTroubles troubles;
};

TEST_F(StartTroublesTest, WhatFailsTogetherIsOneTrouble) {
  for (int i = 0; i < 20; ++i) troubles.cannot_start("too many open files", now);
  EXPECT_EQ(until(), now + Millis{250});
}

TEST_F(StartTroublesTest, PausesGrowUntilSomethingStarts) {
  Millis expected{250};
  for (int i = 0; i < 8; ++i) {
    troubles.cannot_start("too many open files", now);
    EXPECT_EQ(until(), now + std::min(expected, Millis{10'000}));
    now = until();
    troubles.trying("a", now);
    EXPECT_GT(until(), now) << "one at a time";
    expected *= 2;
  }
  EXPECT_TRUE(troubles.started("a"));
  EXPECT_TRUE(troubles.current().empty());
  EXPECT_FALSE(troubles.started("a"));
  troubles.cannot_start("again", now);
  EXPECT_EQ(until(), now + Millis{250});
}

TEST_F(StartTroublesTest, AMissingProgramConcernsItsTypeAndIsLookedForBeforeATaskIsTried) {
  troubles.cannot_run("a", "cannot run ./a", now);
  EXPECT_EQ(troubles.current()[0].type, "a");
  EXPECT_EQ(until(), now + Millis{5'000});
  EXPECT_FALSE(troubles.started("b")) << "another type's program says nothing about it";
  now = until();
  bool is_there = false;
  const auto look = [&] { troubles.look_for_programs(now, [&](const auto&) { return is_there; }); };
  look();
  EXPECT_EQ(until(), now + Millis{10'000}) << "still missing";
  now = until();
  is_there = true;
  look();
  EXPECT_EQ(until(), now) << "may be tried";
  EXPECT_TRUE(troubles.started("a"));
}

TEST(MachineLimits, SlotsFitIntoTheDescriptors) {
  EXPECT_EQ(slots_within(20, 40, 12), 1);
  EXPECT_EQ(slots_within(20, 10, 12), 1) << "a worker has at least one";
  EXPECT_EQ(slots_within(20, 1024, 12), 20);
  EXPECT_EQ(slots_within(1'000, 1024, 12), 110);
  EXPECT_EQ(slots_within(1'000, RLIM_INFINITY, 12), 1'000);
}

TEST(MachineLimits, AnErrorOfALimitSaysWhichAndWhatHelps) {
  EXPECT_NE(explain_error(EMFILE).find("ulimit -n"), std::string::npos);
  EXPECT_NE(explain_error(EAGAIN).find("ulimit -u"), std::string::npos);
  EXPECT_EQ(explain_error(ENOENT), "No such file or directory");
  EXPECT_TRUE(is_used_up(EMFILE));
  EXPECT_FALSE(is_used_up(ENOENT));
}

}  // namespace
}  // namespace drover::test
