// The deadline: across all attempts, terminal at once, with the declared fallback if there is one.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

CONFORMANCE_SUITE(DeadlineFallback);

TEST_P(DeadlineFallback, CountsFromTheEnqueue) {
  EXPECT_EQ(get(enqueue({.type = "work", .deadline = 1min})).deadline_at, now() + 1min);
}

TEST_P(DeadlineFallback, WithoutAFallbackTheTaskFails) {
  const TaskId id = enqueue({.type = "work", .deadline = 1min});
  pass(1min - 1ms);
  EXPECT_EQ(state(id), TaskState::kPending);
  pass(1ms);
  const Task task = get(id);
  EXPECT_EQ(task.state, TaskState::kFailed);
  EXPECT_EQ(class_of(task.error), ErrorClass::kDeadline);
  EXPECT_EQ(task.finished_at, now());
  EXPECT_FALSE(task.fallback);
  EXPECT_EQ(story(id), "enqueued deadline_passed");
}

TEST_P(DeadlineFallback, WithAFallbackItCompletes) {
  const TaskId id = enqueue({.type = "work", .deadline = 1min, .fallback_result = R"({"answer": null})"});
  pass(1min);
  const Task task = get(id);
  EXPECT_EQ(task.state, TaskState::kCompleted);
  EXPECT_TRUE(task.fallback);
  EXPECT_EQ(task.result, R"({"answer":null})");
  EXPECT_EQ(task.error, std::nullopt);
  EXPECT_EQ(story(id), "enqueued deadline_passed");
}

TEST_P(DeadlineFallback, HoldsInEveryUnfinishedState) {
  const TaskId parent = enqueue({.type = "parent"});
  const TaskId blocked = enqueue({.type = "work", .depends_on = {parent}, .deadline = 2min});
  const TaskId scheduled = enqueue({.type = "work", .delay = 1h, .deadline = 2min});
  const Lease stalled = start_new({.type = "work", .deadline = 2min});
  lose(stalled);
  const Lease retried = [&] {
    const auto claimed = claim(1);
    release(claimed.front().lease);
    return claimed.front().lease;
  }();
  const TaskId pending = enqueue({.type = "work", .deadline = 1min});
  pass(2min);
  for (const TaskId& id : {blocked, scheduled, stalled.task, retried.task, pending}) {
    EXPECT_EQ(state(id), TaskState::kFailed);
    EXPECT_EQ(class_of(get(id).error), ErrorClass::kDeadline);
    EXPECT_EQ(last_event_of(id).name, "task.deadline_passed");
  }
  EXPECT_TRUE(claim(1).empty());
}

TEST_P(DeadlineFallback, EndsARunningTaskAtOnce) {
  const Lease lease = start_new({.type = "work", .deadline = 10s, .fallback_result = "0"});
  pass(10s);
  EXPECT_EQ(state(lease.task), TaskState::kCompleted);
  EXPECT_EQ(renew(lease), LeaseState::kLost);
  const Task task = get(lease.task);
  EXPECT_EQ(task.worker_id, std::nullopt);
  const RunSummary run = last_run_of(lease.task);
  EXPECT_EQ(run.outcome, "deadline_passed");
  EXPECT_EQ(run.ended_at, now());
  EXPECT_EQ(story(lease.task), "enqueued claimed deadline_passed");
}

TEST_P(DeadlineFallback, ALateResultIsRefused) {
  const Lease lease = start_new({.type = "work", .deadline = 10s, .fallback_result = "0"});
  pass(10s);
  EXPECT_EQ(code_of(queue().complete(lease, {.result = "1"})), ErrorCode::kStaleLease);
  EXPECT_EQ(get(lease.task).result, "0");
}

TEST_P(DeadlineFallback, SpansTheAttempts) {
  const TaskId id = enqueue({.type = "work", .deadline = 10s, .max_attempts = 100});
  fail(start(id));
  pass(2s);
  fail(start(id));
  pass(8s);
  EXPECT_EQ(class_of(get(id).error), ErrorClass::kDeadline);
}

TEST_P(DeadlineFallback, InTimeItDoesNotMatter) {
  const Lease lease = start_new({.type = "work", .deadline = 10s, .fallback_result = "0"});
  advance(10s - 1ms);
  complete(lease, "1");
  pass(1h);
  const Task task = get(lease.task);
  EXPECT_EQ(task.result, "1");
  EXPECT_FALSE(task.fallback);
  EXPECT_EQ(story(lease.task), "enqueued claimed completed");
}

TEST_P(DeadlineFallback, WinsOverADueTime) {
  const TaskId id = enqueue({.type = "work", .delay = 10s, .deadline = 10s});
  pass(10s);
  EXPECT_EQ(story(id), "enqueued deadline_passed");
}

TEST_P(DeadlineFallback, WinsOverALostLease) {
  const Lease lease = start_new({.type = "work", .deadline = 10s});
  pass(1h);
  EXPECT_EQ(class_of(get(lease.task).error), ErrorClass::kDeadline);
  EXPECT_EQ(get(lease.task).stalls, 0);
}

TEST_P(DeadlineFallback, ADeadlineInThePastEndsItAtTheNextSweep) {
  const TaskId id = enqueue({.type = "work", .deadline_at = now() - 1s});
  sweep();
  EXPECT_EQ(state(id), TaskState::kFailed);
}

TEST_P(DeadlineFallback, BothFormsTogetherAreRefused) {
  EXPECT_EQ(code_of(queue().enqueue_one({.type = "work", .deadline = 1s, .deadline_at = now() + 1s})),
            ErrorCode::kInvalidArgument);
}

TEST_P(DeadlineFallback, AFallbackAloneIsKept) {
  const TaskId id = enqueue({.type = "work", .fallback_result = "0"});
  fail(start(id), ErrorClass::kInvalid);
  EXPECT_EQ(state(id), TaskState::kFailed);
  EXPECT_EQ(get(id).result, std::nullopt);
}

}  // namespace
}  // namespace drover::test
