// The rules of suspending, for one record.
#include "records.h"

namespace drover {
namespace {

using namespace drover::testing;
using enum TaskState;

TEST(Suspend, AddsTheChildrenAndGivesTheAttemptBack) {
  const Step step =
      must(record_in(kRunning), trigger::Suspend{.children = {task_id(20), task_id(21)}, .unmet_parents = 2});
  const Task& task = step.next.task;
  EXPECT_EQ(task.state, kBlocked);
  EXPECT_EQ(task.attempts, 0);
  EXPECT_EQ(task.suspends, 1);
  EXPECT_EQ(task.depends_on, (std::vector{task_id(8), task_id(9), task_id(20), task_id(21)}));
  EXPECT_EQ(step.next.awaited, 2);
  EXPECT_EQ(step.next.unmet_parents, 2);
  EXPECT_EQ(step.next.place, 0);
  EXPECT_EQ(step.parents, Step::ParentsWrite::kReplace);
  EXPECT_EQ(step.events.at(0).data, R"({"children":2,"unmet":2})");
  EXPECT_EQ(given_parents(step.next).size(), 2U);
}

TEST(Suspend, ARetryLetsTheChildrenGo) {
  TaskRecord record = record_in(kFailed);
  record.task.suspends = 3;
  record.awaited = 1;
  const Step step = must(record, trigger::Retry{});
  EXPECT_EQ(step.next.task.suspends, 0);
  EXPECT_EQ(step.next.task.depends_on, std::vector{task_id(8)});
  EXPECT_EQ(step.next.awaited, 0);
  EXPECT_EQ(step.next.first_generation, 2);
  EXPECT_EQ(step.parents, Step::ParentsWrite::kReplace);
}

TEST(Suspend, ARevivalGoesOn) {
  TaskRecord record = record_ended_by_parent(kFailed);
  record.task.suspends = 3;
  record.awaited = 1;
  const Step step = must(record, trigger::ParentRetried{1});
  EXPECT_EQ(step.next.task.suspends, 3);
  EXPECT_EQ(step.next.awaited, 1);
  EXPECT_EQ(step.next.first_generation, 1);
  EXPECT_EQ(step.next.task.generation, 2);
  EXPECT_EQ(step.parents, Step::ParentsWrite::kKeep);
}

TEST(Suspend, OnlyChildrenOfThisLifeAreAwaited) {
  TaskRecord waiter = record_in(kRunning);
  waiter.first_generation = 2;
  TaskRecord child = record_in(kPending);
  child.task.id = task_id(20);
  child.task.parent_id = waiter.task.id;
  child.spawner_generation = 2;
  EXPECT_TRUE(check_awaited(waiter, child));
  child.spawner_generation = 1;
  EXPECT_FALSE(check_awaited(waiter, child));
  child.spawner_generation = 2;
  child.task.parent_id = task_id(3);
  EXPECT_FALSE(check_awaited(waiter, child));
}

TEST(Suspend, ForgettingTheChildrenIsABugThatCanBePlanted) {
  const Planted bug(PlantedBug::kSuspendForgetsChildren);
  EXPECT_EQ(must(record_in(kRunning), trigger::Suspend{.unmet_parents = 2}).next.task.state, kPending);
}

}  // namespace
}  // namespace drover
