#include "base/failpoint.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace drover {
namespace {

class FailpointTest : public testing::Test {
 protected:
  void TearDown() override { set_failpoint_handler({}); }
};

TEST_F(FailpointTest, IsNothingWhenDisarmed) {
  failpoint("enqueue.before_commit");
}

TEST_F(FailpointTest, TheHandlerSeesEveryName) {
  std::vector<std::string> seen;
  set_failpoint_handler([&seen](std::string_view name) { seen.emplace_back(name); });
  failpoint("a");
  failpoint("b");
  set_failpoint_handler({});
  failpoint("c");
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "b"}));
}

TEST_F(FailpointTest, TheHandlerMayThrow) {
  set_failpoint_handler([](std::string_view) { throw std::runtime_error("power lost"); });
  EXPECT_THROW(failpoint("a"), std::runtime_error);
}

// The environment is read at the start of the process; the "threadsafe" style starts this program anew.
class FailpointDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  void TearDown() override { ::unsetenv("DROVER_FAILPOINT"); }

  static void arm(const char* spec) { ASSERT_EQ(::setenv("DROVER_FAILPOINT", spec, 1), 0); }

  static void pass_three_times() {
    for (int passage = 1; passage <= 3; ++passage) {
      std::fprintf(stderr, "<%d>", passage);
      failpoint("settle.before_commit");
      failpoint("settle.after_commit");
    }
    ::_exit(0);
  }
};

TEST_F(FailpointDeathTest, KillsAtTheFirstPassage) {
  arm("settle.before_commit");
  EXPECT_EXIT(pass_three_times(), testing::KilledBySignal(SIGKILL), "^<1>$");
}

TEST_F(FailpointDeathTest, KillsAtTheNthPassage) {
  arm("settle.after_commit:3");
  EXPECT_EXIT(pass_three_times(), testing::KilledBySignal(SIGKILL), "^<1><2><3>$");
}

TEST_F(FailpointDeathTest, OtherNamesAndLaterPassagesAreLeftAlone) {
  arm("settle:1");
  EXPECT_EXIT(pass_three_times(), testing::ExitedWithCode(0), "^<1><2><3>$");
  arm("settle.after_commit:4");
  EXPECT_EXIT(pass_three_times(), testing::ExitedWithCode(0), "^<1><2><3>$");
}

TEST_F(FailpointDeathTest, AWrongSpecStopsTheProcess) {
  for (const char* spec : {"settle:", "settle:0", "settle:x", "settle:1x", "settle:-1", ":1"}) {
    arm(spec);
    EXPECT_EXIT(pass_three_times(), testing::KilledBySignal(SIGABRT), "DROVER_FAILPOINT is NAME\\[:N\\]") << spec;
  }
}

}  // namespace
}  // namespace drover
