// Which time retention believes, when somebody sets the clock.
#include "core/believed_time.h"

#include <gtest/gtest.h>

#include "support/must.h"

namespace drover::test {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""h;

constexpr Time kStart{std::chrono::sys_days(std::chrono::January / 1 / 2026)};
constexpr Millis kKept = 24h * 7;

class BelievedTimeTest : public ::testing::Test {
 protected:
  void pass(Millis by) {
    clocks_.wall += by;
    clocks_.steady += by;
    look();
  }
  void step(Millis by) {
    clocks_.wall += by;
    look();
  }
  void look() { believed_ = drover::look(believed_, clocks_, kept_for_); }
  [[nodiscard]] Time believed() const { return believed_.now.value(); }

  Millis kept_for_ = kKept;
  StoreClocks clocks_{.wall = kStart, .steady = 5s, .boot = "a"};
  BelievedTime believed_ = first_look(clocks_, FirstLook::kEmpty);
};

TEST_F(BelievedTimeTest, FollowsAClockThatRuns) {
  pass(1min);
  EXPECT_EQ(believed(), kStart + 1min);
  pass(24h * 30);
  EXPECT_EQ(believed(), kStart + 1min + 24h * 30);
}

TEST_F(BelievedTimeTest, GoesOnAsIfThereHadBeenNoStepUntilTheClockHasRunForAnHour) {
  step(24h * 3650);
  EXPECT_EQ(believed(), kStart);
  pass(30min);
  EXPECT_EQ(believed(), kStart + 30min);
  pass(30min - 1ms);
  EXPECT_EQ(believed(), kStart + 1h - 1ms);
  pass(1ms);
  EXPECT_EQ(believed(), clocks_.wall);
}

TEST_F(BelievedTimeTest, AStepThatIsTakenBackLeavesNothingBehind) {
  step(24h * 3650);
  pass(3s);
  step(-24h * 3650);
  EXPECT_EQ(believed(), kStart + 3s);
}

TEST_F(BelievedTimeTest, ABackwardStepIsBelievedAtOnce) {
  step(-24h);
  EXPECT_EQ(believed(), kStart - 24h);
}

TEST_F(BelievedTimeTest, EachStepStartsTheHourAnew) {
  step(24h);
  pass(59min);
  step(24h);
  pass(59min);
  EXPECT_EQ(believed(), kStart + 59min + 59min);
}

TEST_F(BelievedTimeTest, DriftIsNoStep) {
  step(kStepMin - 1ms);
  step(-kStepMin + 1ms);
  EXPECT_EQ(believed_.steady_since, 5s);
}

TEST_F(BelievedTimeTest, WhatIsKeptForLessThanAnHourWaitsForThatOnly) {
  kept_for_ = 2min;
  step(24h);
  pass(2min - 1ms);
  EXPECT_EQ(believed(), kStart + 2min - 1ms);
  pass(1ms);
  EXPECT_EQ(believed(), clocks_.wall);
}

TEST_F(BelievedTimeTest, AnotherBootIsAStep) {
  clocks_.boot = "b";
  clocks_.steady = 1s;
  clocks_.wall += 48h;  // a weekend
  look();
  EXPECT_EQ(believed(), kStart);
  pass(1h - 1ms);
  EXPECT_EQ(believed(), kStart + 1h - 1ms);
  pass(1ms);
  EXPECT_EQ(believed(), clocks_.wall);
}

TEST_F(BelievedTimeTest, ALookThatIsALittleOlderIsNoOtherBoot) {
  pass(10s);
  clocks_.steady -= 1s;
  look();
  EXPECT_EQ(believed(), kStart + 10s);
  EXPECT_EQ(believed_.steady_since, 5s);
  clocks_.steady -= kStepMin;
  look();
  EXPECT_EQ(believed_.steady_since, clocks_.steady);
}

TEST_F(BelievedTimeTest, AStoreInUseTrustsNoTimeBeforeTheHourIsOver) {
  believed_ = first_look(clocks_, FirstLook::kInUse);
  EXPECT_EQ(end_of_age(believed_, 0ms), Time::min());
  pass(59min);
  EXPECT_EQ(end_of_age(believed_, 0ms), Time::min());
  pass(1min);
  EXPECT_EQ(end_of_age(believed_, 1h), kStart);
}

TEST_F(BelievedTimeTest, WhatEndedAfterTheClockWasSetBackStaysUntilItIsOldForCertain) {
  step(-24h * 3650);
  const Time set_back_to = clocks_.wall;
  pass(3s);
  step(-1s);
  step(-1h);
  EXPECT_EQ(end_of_age(believed_, 0ms), set_back_to + 3s - 1s - 1h - 1ms);
  step(24h * 3650 + 1h + 1s);
  pass(kKept - 1ms);
  EXPECT_LE(end_of_age(believed_, kKept), set_back_to);
  pass(1ms);
  EXPECT_EQ(end_of_age(believed_, kKept), clocks_.wall - kKept);
}

TEST_F(BelievedTimeTest, IsKeptAsText) {
  step(-24h);
  pass(1min);
  believed_.seen.unsure = {};
  EXPECT_EQ(must(parse_believed_time(to_json(believed_))), believed_);
  const BelievedTime first = first_look(clocks_, FirstLook::kInUse);
  EXPECT_EQ(must(parse_believed_time(to_json(first))), first);
  EXPECT_FALSE(parse_believed_time("{}").has_value());
}

}  // namespace
}  // namespace drover::test
