// A clock that somebody sets is noticed, and one that runs is left alone.
#include "store/step_watch.h"

#include <gtest/gtest.h>

namespace drover::test {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""h;

constexpr Time kStart{std::chrono::sys_days(std::chrono::January / 1 / 2026)};

class StepWatchTest : public ::testing::Test {
 protected:
  std::optional<Millis> look(Time wall, Millis earliest, Millis latest) {
    return watch_.look(wall, MonoTime{earliest}, MonoTime{latest});
  }

  StepWatch watch_{"a test"};
};

TEST_F(StepWatchTest, AClockThatRunsIsLeftAlone) {
  EXPECT_EQ(look(kStart, 0ms, 1ms), std::nullopt);
  EXPECT_EQ(look(kStart + 1s, 1s, 1s), std::nullopt);
  EXPECT_EQ(look(kStart + 48h, 48h, 48h), std::nullopt);
}

TEST_F(StepWatchTest, AStepIsNoticedOnceWithItsSize) {
  for (const Millis step :
       {Millis(1s), Millis(-1s), Millis(1h), Millis(-1h), Millis(24h * 3650), Millis(-24h * 3650)}) {
    StepWatch watch("a test");
    watch.look(kStart, {0ms}, {0ms});
    EXPECT_EQ(watch.look(kStart + 100ms + step, {100ms}, {100ms}), step);
    EXPECT_EQ(watch.look(kStart + 200ms + step, {200ms}, {200ms}), std::nullopt);
  }
}

TEST_F(StepWatchTest, ASlowAnswerIsNoStep) {
  look(kStart, 0ms, 0ms);
  EXPECT_EQ(look(kStart + 5s, 1ms, 5s), std::nullopt);
  EXPECT_EQ(look(kStart + 6s, 6s, 6s), std::nullopt);
  EXPECT_EQ(look(kStart + 6s + 1ms, 6s, 11s), std::nullopt);
  EXPECT_EQ(look(kStart + 12s, 12s, 12s), std::nullopt);
}

TEST_F(StepWatchTest, ALookThatComesLateSaysNothing) {
  look(kStart, 0ms, 0ms);
  look(kStart + 10s, 10s, 10s);
  EXPECT_EQ(look(kStart + 5s, 5s, 5s), std::nullopt);
  EXPECT_EQ(look(kStart + 11s, 11s, 11s), std::nullopt);
}

}  // namespace
}  // namespace drover::test
