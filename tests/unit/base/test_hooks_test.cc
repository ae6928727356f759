#include "hooks/test_hooks.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/text.h"

namespace drover {
namespace {

class FailpointTest : public testing::Test {
 protected:
  ~FailpointTest() override { set_failpoint_handler(nullptr); }
};

TEST_F(FailpointTest, IsNothingWhenDisarmed) {
  failpoint(Failpoint::kEnqueueBeforeCommit);
}

TEST_F(FailpointTest, TheHandlerSeesEveryName) {
  std::vector<std::string> seen;
  set_failpoint_handler([&seen](std::string_view name) { seen.emplace_back(name); });
  failpoint(Failpoint::kSettleBegin);
  failpoint(Failpoint::kWorkerAfterSpawn);
  set_failpoint_handler(nullptr);
  failpoint(Failpoint::kSettleAfterCommit);
  EXPECT_EQ(seen, (std::vector<std::string>{"settle.begin", "worker.after_spawn"}));
}

TEST_F(FailpointTest, TheHandlerMayThrow) {
  set_failpoint_handler([](std::string_view) { throw std::runtime_error("power lost"); });
  EXPECT_THROW(failpoint(Failpoint::kClaimBegin), std::runtime_error);
}

TEST_F(FailpointTest, EveryOneHasItsOwnName) {
  std::set<std::string_view> names;
  for (int i = 0; i < kFailpointCount; ++i) names.insert(name_of(static_cast<Failpoint>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kFailpointCount));
}

TEST(PlantedBugTest, OneAtATime) {
  EXPECT_TRUE(planted(PlantedBug::kNone));
  plant(PlantedBug::kAckBeforeCommit);
  EXPECT_TRUE(planted(PlantedBug::kAckBeforeCommit));
  EXPECT_FALSE(planted(PlantedBug::kSettleIgnoresLease));
  plant(PlantedBug::kNone);
  EXPECT_FALSE(planted(PlantedBug::kAckBeforeCommit));
}

TEST(PlantedBugTest, EveryOneHasItsOwnName) {
  std::set<std::string_view> names;
  for (int i = 0; i <= kPlantedBugCount; ++i) {
    const std::string_view name = name_of(static_cast<PlantedBug>(i));
    EXPECT_TRUE(is_name(name)) << name;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_EQ(name_of(PlantedBug::kNone), "none");
  EXPECT_EQ(name_of(PlantedBug::kAtMostOnceRerun), "at_most_once_rerun");
}

}  // namespace
}  // namespace drover
