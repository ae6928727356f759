#include "base/check.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>

namespace drover {
namespace {

TEST(CheckTest, HoldsQuietlyAndEvaluatesOnce) {
  int calls = 0;
  CHECK(++calls == 1);
  CHECK_MSG(++calls == 2, "never shown");
  EXPECT_EQ(calls, 2);
}

TEST(CheckDeathTest, AbortsAndSaysWhere) {
  EXPECT_EXIT(CHECK(1 + 1 == 3), testing::KilledBySignal(SIGABRT),
              "CHECK failed at .*check_test.cc:[0-9]+: 1 \\+ 1 == 3\n");
  EXPECT_EXIT(CHECK_MSG(false, "the lane is empty"), testing::KilledBySignal(SIGABRT), "false: the lane is empty\n");
}

TEST(CheckDeathTest, ALongDetailIsCut) {
  const std::string detail(100'000, 'x');
  EXPECT_EXIT(CHECK_MSG(false, detail), testing::KilledBySignal(SIGABRT), "false: x+\n");
}

}  // namespace
}  // namespace drover
