// At most once: a lost lease or a failure is the end, never another run.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

CONFORMANCE_SUITE(AtMostOnce);

TEST_P(AtMostOnce, ALostLeaseIsTheEnd) {
  const Lease lease = start_new({.type = "work", .at_most_once = true});
  lose(lease);
  const Task task = get(lease.task);
  EXPECT_EQ(task.state, TaskState::kFailed);
  EXPECT_EQ(class_of(task.error), ErrorClass::kLost);
  EXPECT_EQ(task.finished_at, now());
  EXPECT_TRUE(claim(1).empty());
  EXPECT_EQ(story(lease.task), "enqueued claimed failed");
}

TEST_P(AtMostOnce, OnDemandTooALostLeaseIsTheEnd) {
  const Lease lease = start_new({.type = "work", .at_most_once = true});
  advance(5s);
  EXPECT_EQ(must(queue().requeue_stalled(5s)), 1);
  EXPECT_EQ(class_of(get(lease.task).error), ErrorClass::kLost);
}

TEST_P(AtMostOnce, AFailureIsTheEndThoughAttemptsAreLeft) {
  for (const ErrorClass error_class : {ErrorClass::kAgentError, ErrorClass::kRateLimited}) {
    const Lease lease = start_new({.type = "work", .max_attempts = 5, .at_most_once = true});
    EXPECT_EQ(must(queue().fail(lease, {.error_class = error_class})), TaskState::kFailed);
    EXPECT_EQ(story(lease.task), "enqueued claimed failed");
  }
}

TEST_P(AtMostOnce, AReleaseIsTheEndToo) {
  const Lease lease = start_new({.type = "work", .at_most_once = true});
  EXPECT_EQ(must(queue().release(lease)), TaskState::kFailed);
  EXPECT_EQ(class_of(get(lease.task).error), ErrorClass::kLost);
}

TEST_P(AtMostOnce, WhatHasNotBegunGoesBackAndMayBeStarted) {
  const Lease lease = start_new({.type = "work", .at_most_once = true});
  EXPECT_EQ(settle({lease, Release{Begun::kNo}}), TaskState::kPending);
  EXPECT_EQ(get(lease.task).attempts, 0);
  EXPECT_EQ(complete(start(lease.task)), TaskState::kCompleted);
  EXPECT_EQ(story(lease.task), "enqueued claimed released claimed completed");
}

TEST_P(AtMostOnce, ItMayComplete) {
  EXPECT_EQ(complete(start_new({.type = "work", .at_most_once = true})), TaskState::kCompleted);
}

TEST_P(AtMostOnce, ItsDependentsLearnOfTheLoss) {
  const TaskId id = enqueue({.type = "work", .at_most_once = true});
  const TaskId dependent = enqueue_after(id);
  lose(start(id));
  EXPECT_EQ(state(dependent), TaskState::kCancelled);
}

TEST_P(AtMostOnce, AnOperatorMayStillRunItAgain) {
  const TaskId id = enqueue({.type = "work", .at_most_once = true});
  lose(start(id));
  EXPECT_EQ(retry(id).state, TaskState::kPending);
  EXPECT_EQ(complete(start(id)), TaskState::kCompleted);
}

}  // namespace
}  // namespace drover::test
