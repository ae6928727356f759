// The simulator has teeth: a few planted bugs, found quickly. `soak bugs` plants them all.
#include "sim/bug_hunt.h"

#include <gtest/gtest.h>

namespace drover::sim {
namespace {

constexpr int kSeedsMax = 60;

class PlantedBugs : public testing::TestWithParam<PlantedBug> {};

TEST_P(PlantedBugs, AreFound) {
  // A rare one: the power must fail between two commits. The hunt begins where it is near.
  const std::uint64_t first = GetParam() == PlantedBug::kDependentsReleasedApart ? 200 : 0;
  const BugHunt result = hunt(GetParam(), first, kSeedsMax);
  EXPECT_TRUE(result.found.has_value()) << name_of(GetParam()) << " was not found in " << kSeedsMax << " seeds";
  // The bug is what was found: the same seed is clean without it.
  EXPECT_FALSE(simulate(make_plan(result.seed)).wrong.has_value());
}

INSTANTIATE_TEST_SUITE_P(Quick, PlantedBugs,
                         testing::Values(PlantedBug::kSettleIgnoresLease, PlantedBug::kReclaimIgnoresRevision,
                                         PlantedBug::kDependentsReleasedApart, PlantedBug::kStalledRunReplays,
                                         PlantedBug::kClaimKeyTakesOthers, PlantedBug::kBulkCursorFirst,
                                         PlantedBug::kConversationUnguarded, PlantedBug::kSuspendForgetsQuestions,
                                         PlantedBug::kAnswersOverwrite, PlantedBug::kEndKeepsQuestions,
                                         PlantedBug::kInterruptSparesRunning),
                         [](const auto& bug) { return std::string(name_of(bug.param)); });

TEST(Shrink, AFailingPlanGetsSmallerAndStillFails) {
  plant(PlantedBug::kAckBeforeCommit);
  const Plan plan = make_plan(0);
  const Outcome outcome = simulate(plan);
  ASSERT_TRUE(outcome.wrong.has_value());
  const Plan smaller = shrink(plan, *outcome.wrong, 60);
  const Outcome again = simulate(smaller);
  plant(PlantedBug::kNone);
  ASSERT_TRUE(again.wrong.has_value());
  EXPECT_EQ(outcome.wrong->check, again.wrong->check);
  EXPECT_LE(smaller.operations.size(), 2U);
  EXPECT_TRUE(smaller.faults.empty());
}

}  // namespace
}  // namespace drover::sim
