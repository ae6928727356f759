#include "base/clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

namespace drover {
namespace {

TEST(SystemClockTest, WallAgreesWithTheStandardClock) {
  const auto before = std::chrono::floor<Millis>(std::chrono::system_clock::now());
  const Time wall = system_clock().wall();
  const auto after = std::chrono::ceil<Millis>(std::chrono::system_clock::now());
  EXPECT_GE(wall, before);
  EXPECT_LE(wall, after);
}

TEST(SystemClockTest, MonoAgreesWithTheSteadyClock) {
  const auto steady = [] { return std::chrono::steady_clock::now().time_since_epoch(); };
  const auto before = std::chrono::floor<Millis>(steady());
  const MonoTime mono = system_clock().mono();
  const auto after = std::chrono::ceil<Millis>(steady());
  EXPECT_GE(mono.since_origin, before);
  EXPECT_LE(mono.since_origin, after);
}

TEST(SystemClockTest, BootIdIsTheKernels) {
  std::string expected;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  ASSERT_TRUE(std::getline(file, expected));
  EXPECT_EQ(system_clock().boot_id(), expected);
  EXPECT_EQ(expected.size(), 36U);
}

TEST(MonoTimeTest, AddsAndSubtracts) {
  const MonoTime start{Millis{100}};
  EXPECT_EQ(start + Millis{50}, (MonoTime{Millis{150}}));
  EXPECT_EQ(start + Millis{50} - start, Millis{50});
  EXPECT_LT(start, start + Millis{1});
}

}  // namespace
}  // namespace drover
