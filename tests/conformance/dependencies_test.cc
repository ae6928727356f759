// Dependencies: released in the very step that completes the last parent.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

CONFORMANCE_SUITE(Dependencies);

TEST_P(Dependencies, ATaskWaitsForItsParent) {
  const TaskId parent = enqueue_work();
  const TaskId child = enqueue_after(parent);
  EXPECT_EQ(state(child), TaskState::kBlocked);
  start(parent);
  EXPECT_TRUE(claim(1).empty());
  EXPECT_EQ(state(child), TaskState::kBlocked);
}

TEST_P(Dependencies, IsReleasedWithItsParentsEnd) {
  const TaskId parent = enqueue_work();
  const TaskId child = enqueue_after(parent);
  complete(start(parent));
  EXPECT_EQ(state(child), TaskState::kPending);
  EXPECT_EQ(story(child), "enqueued unblocked");
  EXPECT_EQ(drain(), std::vector{child});
}

TEST_P(Dependencies, WaitsForTheLastOfSeveralParents) {
  std::vector<TaskId> parents;
  std::vector<ParentRef> refs;
  for (int i = 0; i < 5; ++i) {
    parents.push_back(enqueue_work());
    refs.emplace_back(parents.back());
  }
  const TaskId child = enqueue({.type = "work", .depends_on = refs});
  const auto claimed = claim(5);
  for (const std::size_t i : {3U, 0U, 4U, 1U}) {
    complete(claimed[i].lease);
    EXPECT_EQ(state(child), TaskState::kBlocked);
    EXPECT_EQ(story(child), "enqueued");
  }
  complete(claimed[2].lease);
  EXPECT_EQ(state(child), TaskState::kPending);
}

TEST_P(Dependencies, SeveralParentsMayEndInOneBatch) {
  const TaskId a = enqueue_work();
  const TaskId b = enqueue_work();
  const TaskId child = enqueue({.type = "work", .depends_on = {a, b}});
  const std::vector<Settlement> items{{start(a), Completion{}}, {start(b), Completion{}}};
  for (const auto& answer : queue().settle(items)) EXPECT_EQ(must(answer), TaskState::kCompleted);
  EXPECT_EQ(state(child), TaskState::kPending);
  EXPECT_EQ(story(child), "enqueued unblocked");
}

TEST_P(Dependencies, ADiamond) {
  const auto ids = enqueue_all({{.ref = "top", .type = "work"},
                                {.ref = "left", .type = "work", .depends_on = {"top"}},
                                {.ref = "right", .type = "work", .depends_on = {"top"}},
                                {.type = "work", .depends_on = {"left", "right"}}});
  complete(start(ids[0]));
  EXPECT_EQ(state(ids[1]), TaskState::kPending);
  EXPECT_EQ(state(ids[2]), TaskState::kPending);
  complete(start(ids[1]));
  EXPECT_EQ(state(ids[3]), TaskState::kBlocked);
  complete(start(ids[2]));
  EXPECT_EQ(state(ids[3]), TaskState::kPending);
}

TEST_P(Dependencies, AParentThatIsDoneAlreadyIsNoObstacle) {
  const TaskId parent = enqueue_work();
  complete(start(parent));
  const TaskId child = enqueue_after(parent);
  EXPECT_EQ(state(child), TaskState::kPending);
  EXPECT_EQ(story(child), "enqueued");
}

TEST_P(Dependencies, OneDoneParentAndOneToCome) {
  const TaskId done = enqueue_work();
  complete(start(done));
  const TaskId to_come = enqueue_work();
  const TaskId child = enqueue({.type = "work", .depends_on = {done, to_come}});
  EXPECT_EQ(state(child), TaskState::kBlocked);
  complete(start(to_come));
  EXPECT_EQ(state(child), TaskState::kPending);
}

TEST_P(Dependencies, WhatIsNotAnEndReleasesNothing) {
  const TaskId parent = enqueue({.type = "work", .max_attempts = 5});
  const TaskId child = enqueue_after(parent);
  release(start(parent));
  lose(start(parent));
  fail(start(parent), ErrorClass::kRateLimited);
  pass(10s);
  fail(start(parent));
  pass(10s);
  EXPECT_EQ(state(child), TaskState::kBlocked);
  EXPECT_EQ(story(child), "enqueued");
  complete(start(parent));
  EXPECT_EQ(state(child), TaskState::kPending);
}

TEST_P(Dependencies, ACancelRequestAloneReleasesNothing) {
  const TaskId parent = enqueue_work();
  const TaskId child = enqueue({.type = "work", .depends_on = {parent}, .on_parent_failure = OnParentFailure::kRun});
  const Lease lease = start(parent);
  cancel(parent);
  EXPECT_EQ(state(child), TaskState::kBlocked);
  settle({lease, CancelConfirmed{}});
  EXPECT_EQ(state(child), TaskState::kPending);
}

TEST_P(Dependencies, AFallbackCountsAsCompleted) {
  const TaskId parent = enqueue({.type = "work", .deadline = 1s, .fallback_result = "0"});
  const TaskId child = enqueue_after(parent);
  pass(1s);
  EXPECT_EQ(state(parent), TaskState::kCompleted);
  EXPECT_EQ(state(child), TaskState::kPending);
}

TEST_P(Dependencies, AFanOutOfHundredsIsReleasedAtOnce) {
  const TaskId parent = enqueue_work();
  const std::vector<TaskSpec> group(300, TaskSpec{.type = "work", .depends_on = {parent}});
  const auto ids = enqueue_all(group);
  complete(start(parent));
  EXPECT_EQ(claim(1'000).size(), ids.size());
}

TEST_P(Dependencies, TooManyDependentsAreRefused) {
  set_limits(R"({"dependents":2})");
  const TaskId parent = enqueue_work();
  enqueue_after(parent);
  enqueue_after(parent);
  const World before = world();
  EXPECT_EQ(code_of(queue().enqueue_one({.type = "work", .depends_on = {parent}})), ErrorCode::kLimitExceeded);
  EXPECT_EQ(world(), before);
}

TEST_P(Dependencies, SurviveARestart) {
  const TaskId parent = enqueue_work();
  const TaskId child = enqueue_after(parent);
  reopen();
  complete(start(parent));
  EXPECT_EQ(state(child), TaskState::kPending);
}

}  // namespace
}  // namespace drover::test
