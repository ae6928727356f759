#include "worker/start_troubles.h"

#include <gtest/gtest.h>

#include "worker/machine_limits.h"

namespace drover::test {
namespace {

class StartTroublesTest : public testing::Test {
 protected:
  std::vector<Unable> current() {
    return troubles.look(now, [this](const auto&) { return is_there; });
  }
  MonoTime until() {
    const std::vector<Unable> unable = current();
    EXPECT_EQ(unable.size(), 1U);
    return unable.empty() ? MonoTime{} : unable[0].until;
  }

  MonoTime now{Millis{1'000'000}};
  bool is_there = true;
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
  EXPECT_TRUE(troubles.started("a", now));
  EXPECT_TRUE(current().empty()) << "the latest failure was long ago";
  EXPECT_FALSE(troubles.started("a", now));
}

TEST_F(StartTroublesTest, AfterALimitItGoesOnTaskByTaskForAWhile) {
  troubles.cannot_start("too many open files", now);
  now = until();
  troubles.trying("a", now);
  EXPECT_TRUE(troubles.started("a", now));
  EXPECT_EQ(until(), now) << "the next may be tried";
  troubles.trying("a", now);
  troubles.cannot_start("again", now);
  EXPECT_EQ(until(), now + Millis{250}) << "what started in between makes the pauses short again";
  now = until();
  troubles.trying("a", now);
  EXPECT_TRUE(troubles.started("a", now));
  now = now + Millis{5'000};
  EXPECT_TRUE(current().empty());
}

TEST_F(StartTroublesTest, AStartFromBeforeTheTroubleEndsNothing) {
  troubles.cannot_start("too many open files", now);
  EXPECT_FALSE(troubles.started("a", now));
  EXPECT_EQ(until(), now + Millis{250});
}

TEST_F(StartTroublesTest, AMissingProgramConcernsItsTypeAndIsLookedForBeforeATaskIsTried) {
  troubles.cannot_run("a", "cannot run ./a", now);
  EXPECT_EQ(current()[0].type, "a");
  EXPECT_EQ(until(), now + Millis{5'000});
  now = until();
  is_there = false;
  EXPECT_EQ(until(), now + Millis{10'000}) << "still missing";
  now = now + Millis{10'000};
  is_there = true;
  EXPECT_EQ(until(), now) << "may be tried";
  troubles.trying("b", now);
  EXPECT_FALSE(troubles.started("b", now)) << "another type's program says nothing about it";
  troubles.trying("a", now);
  EXPECT_TRUE(troubles.started("a", now));
  EXPECT_TRUE(current().empty());
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

TEST_F(StartTroublesTest, TasksThatNameWhatIsNotHereAreToldApart) {
  const TaskId one = *TaskId::parse("01000000-0000-0000-0000-000000000001");
  const TaskId two = *TaskId::parse("01000000-0000-0000-0000-000000000002");
  for (const TaskId& task : {one, two, one}) troubles.cannot_run_task(task, "a", "no repository x", now);
  const std::vector<Unable> unable = current();
  ASSERT_EQ(unable.size(), 1U);
  EXPECT_EQ(unable[0], (Unable{Unable::Kind::kTask, "a", "no repository x", now + Millis{5'000}, 2}));
  now = now + Millis{5'000};
  troubles.trying("a", now);
  EXPECT_TRUE(troubles.started("a", now)) << "another task of the type runs";
  EXPECT_TRUE(current().empty());
}

}  // namespace
}  // namespace drover::test
