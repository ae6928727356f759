// Delay and run_at: never early by the store's clock, and due as soon as it says so.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

CONFORMANCE_SUITE(Delay);

TEST_P(Delay, ADelayedTaskIsScheduled) {
  const Enqueued enqueued = must(queue().enqueue_one({.type = "work", .delay = 10s}));
  EXPECT_EQ(enqueued.state, TaskState::kScheduled);
  EXPECT_EQ(get(enqueued.id).run_at, now() + 10s);
}

TEST_P(Delay, NeverStartsBeforeItsTime) {
  const TaskId id = enqueue({.type = "work", .delay = 10s});
  pass(10s - 1ms);
  EXPECT_EQ(state(id), TaskState::kScheduled);
  EXPECT_TRUE(claim(10).empty());
}

TEST_P(Delay, IsDueAtItsTime) {
  const TaskId id = enqueue({.type = "work", .delay = 10s});
  pass(10s);
  EXPECT_EQ(state(id), TaskState::kPending);
  EXPECT_EQ(story(id), "enqueued due");
  EXPECT_EQ(last_event_of(id).state, TaskState::kPending);
  EXPECT_EQ(drain(), std::vector{id});
}

TEST_P(Delay, ATimeInThePastIsNoDelay) {
  const TaskId id = enqueue({.type = "work", .run_at = now() - 1h});
  EXPECT_EQ(state(id), TaskState::kPending);
  EXPECT_EQ(story(id), "enqueued");
}

TEST_P(Delay, ZeroIsNoDelay) {
  EXPECT_EQ(state(enqueue({.type = "work", .delay = 0ms})), TaskState::kPending);
}

TEST_P(Delay, RunAtNowIsNoDelay) {
  EXPECT_EQ(state(enqueue({.type = "work", .run_at = now()})), TaskState::kPending);
}

TEST_P(Delay, DelayAndRunAtTogetherAreRefused) {
  EXPECT_EQ(code_of(queue().enqueue_one({.type = "work", .delay = 1s, .run_at = now() + 1s})),
            ErrorCode::kInvalidArgument);
}

TEST_P(Delay, StaysScheduledAcrossARestart) {
  const TaskId id = enqueue({.type = "work", .delay = 10s});
  reopen();
  sweep();
  EXPECT_EQ(state(id), TaskState::kScheduled);
  pass(10s);
  EXPECT_EQ(state(id), TaskState::kPending);
}

TEST_P(Delay, SweepingTwiceMakesItDueOnce) {
  const TaskId id = enqueue({.type = "work", .delay = 1s});
  pass(1s);
  sweep();
  EXPECT_EQ(story(id), "enqueued due");
}

TEST_P(Delay, ABlockedTaskWithATimeAheadIsScheduledWhenItsParentIsDone) {
  const TaskId parent = enqueue_work();
  const TaskId child = enqueue({.type = "work", .depends_on = {parent}, .delay = 1min});
  EXPECT_EQ(state(child), TaskState::kBlocked);
  complete(start(parent));
  EXPECT_EQ(state(child), TaskState::kScheduled);
  EXPECT_EQ(story(child), "enqueued unblocked");
  pass(1min);
  EXPECT_EQ(state(child), TaskState::kPending);
  EXPECT_EQ(story(child), "enqueued unblocked due");
}

TEST_P(Delay, ABlockedTaskIsNotDueWhileItWaits) {
  const TaskId parent = enqueue_work();
  const TaskId child = enqueue({.type = "work", .depends_on = {parent}, .delay = 1s});
  pass(2s);
  EXPECT_EQ(state(child), TaskState::kBlocked);
  complete(start(parent));
  EXPECT_EQ(state(child), TaskState::kPending);
}

}  // namespace
}  // namespace drover::test
