// Cascades that are too large for one step: they go on by the sweeper, and nobody is counted twice.
#include "engine/cascade.h"

#include <fmt/format.h>

#include "unit/engine/engine_fixture.h"

namespace drover::test {
namespace {

class CascadeTest : public EngineTest {
 protected:
  static constexpr std::size_t kFan = 1'000;
  static constexpr std::size_t kArms = 11;  // times kFan is more than one step takes
  static_assert(kFan * kArms > kCascadeStepsMax);

  // A root, arms that depend on it, and a fan that depends on each arm.
  TaskId enqueue_bush(OnParentFailure leaf_policy = OnParentFailure::kCancel) {
    const TaskId root = enqueue({.type = "work"});
    for (std::size_t arm = 0; arm < kArms; ++arm) {
      const TaskId id = enqueue({.type = "arm", .depends_on = {root}});
      enqueue_all(
          std::vector<TaskSpec>(kFan, TaskSpec{.type = "leaf", .depends_on = {id}, .on_parent_failure = leaf_policy}));
    }
    return root;
  }
  std::size_t unfinished() {
    return count({.states = {TaskState::kBlocked, TaskState::kScheduled, TaskState::kPending, TaskState::kRunning}});
  }
  int sweep() { return must(Sweepers(engine_).run_once()).cascades; }
};

TEST_F(CascadeTest, DependentsBeyondOneStepEndByTheSweeper) {
  const TaskId root = enqueue_bush();
  const CancelOutcome outcome = must(engine_.cancel(root, "stop"));
  EXPECT_EQ(outcome.state, TaskState::kCancelled);
  EXPECT_LE(outcome.cancelled, static_cast<int>(kCascadeStepsMax));
  EXPECT_GT(unfinished(), 0U);
  conflict(1);
  EXPECT_EQ(sweep(), 0);
  EXPECT_GT(sweep(), 0);
  EXPECT_EQ(unfinished(), 0U);
  EXPECT_EQ(sweep(), 0);
  EXPECT_EQ(count({.states = {TaskState::kCancelled}}), 1 + kArms + kArms * kFan);
  // What takes more than one step to bring back is not brought back in part.
  EXPECT_EQ(code_of(engine_.retry(root)), ErrorCode::kLimitExceeded);
  EXPECT_EQ(state(root), TaskState::kCancelled);
}

TEST_F(CascadeTest, SoDoThoseOfAFailure) {
  const TaskId root = enqueue_bush(OnParentFailure::kRun);
  must(engine_.fail(claim(1).at(0).lease, {.error_class = ErrorClass::kInvalid}));
  ASSERT_EQ(state(root), TaskState::kFailed);
  EXPECT_GT(count({.states = {TaskState::kBlocked}}), 0U);
  EXPECT_GT(sweep(), 0);
  EXPECT_EQ(count({.states = {TaskState::kBlocked}}), 0U);
  EXPECT_EQ(count({.type = "leaf", .states = {TaskState::kPending}}), kArms * kFan);
}

TEST_F(CascadeTest, ChildrenBeyondOneStepGoInPortionsAndDependentsCountOnce) {
  const TaskId root = enqueue({.type = "root"});
  for (std::size_t arm = 0; arm < kArms; ++arm) {
    const TaskId id = enqueue({.type = "work", .parent_id = root});
    enqueue_all(std::vector<TaskSpec>(kFan, TaskSpec{.type = "leaf", .parent_id = id}));
  }
  for (const ClaimedTask& arm : claim(kArms)) must(engine_.complete(arm.lease, {}));
  const TaskId other = enqueue({.type = "other"});
  const TaskId dependent =
      enqueue({.type = "work", .depends_on = {root, other}, .on_parent_failure = OnParentFailure::kRun});

  must(engine_.cancel(root, "stop"));
  EXPECT_GT(count({.type = "leaf", .states = {TaskState::kPending}}), 0U);
  EXPECT_EQ(sweep(), 1);
  EXPECT_EQ(sweep(), 0);
  EXPECT_EQ(count({.type = "leaf", .states = {TaskState::kCancelled}}), kArms * kFan);
  EXPECT_EQ(state(dependent), TaskState::kBlocked);  // for the other parent

  const auto claimed = must(engine_.claim({.worker_id = "w", .serves = {{.queue = "other"}}, .n = 1}));
  must(engine_.complete(claimed.at(0).lease, {}));
  EXPECT_EQ(state(dependent), TaskState::kPending);
}

TEST_F(CascadeTest, WhichParentsCountAsDone) {
  using enum TaskState;
  for (const TaskState state : {kBlocked, kScheduled, kPending, kRunning, kStalled}) {
    EXPECT_FALSE(parent_is_done(state, OnParentFailure::kRun)) << name_of(state);
  }
  for (const auto policy : {OnParentFailure::kCancel, OnParentFailure::kFail, OnParentFailure::kRun}) {
    EXPECT_TRUE(parent_is_done(kCompleted, policy));
    EXPECT_EQ(parent_is_done(kFailed, policy), policy == OnParentFailure::kRun);
    EXPECT_EQ(parent_is_done(kCancelled, policy), policy == OnParentFailure::kRun);
  }
}

}  // namespace
}  // namespace drover::test
