// Cancel of one task: at once if it does not run, by request if it does.
#include <functional>

#include "conformance/conformance.h"

namespace drover::test {
namespace {

CONFORMANCE_SUITE(Cancel);

TEST_P(Cancel, WhatDoesNotRunEndsAtOnce) {
  for (const TaskState from : {TaskState::kBlocked, TaskState::kScheduled, TaskState::kPending, TaskState::kStalled}) {
    const TaskId id = place_in(from).id;
    const CancelOutcome outcome = cancel(id, "changed my mind");
    EXPECT_EQ(outcome.state, TaskState::kCancelled) << name_of(from);
    EXPECT_EQ(outcome.cancelled, 1) << name_of(from);
    EXPECT_EQ(outcome.requested, 0) << name_of(from);
    const Task task = get(id);
    EXPECT_EQ(task.state, TaskState::kCancelled) << name_of(from);
    EXPECT_EQ(task.cancel_reason, "changed my mind");
    EXPECT_EQ(task.finished_at, now());
    EXPECT_EQ(last_event_of(id).name, "task.cancelled");
    EXPECT_TRUE(claim(1).empty()) << name_of(from);
  }
}

TEST_P(Cancel, NeverStartsAfterwards) {
  const TaskId scheduled = enqueue({.type = "work", .delay = 1s});
  cancel(scheduled);
  pass(1h);
  EXPECT_EQ(state(scheduled), TaskState::kCancelled);
  EXPECT_EQ(story(scheduled), "enqueued cancelled");
}

TEST_P(Cancel, WhatRunsIsAskedToStop) {
  const Lease lease = start_work();
  advance(1s);
  const CancelOutcome outcome = cancel(lease.task, "too slow");
  EXPECT_EQ(outcome.state, TaskState::kRunning);
  EXPECT_EQ(outcome.cancelled, 0);
  EXPECT_EQ(outcome.requested, 1);
  const Task task = get(lease.task);
  EXPECT_EQ(task.state, TaskState::kRunning);
  EXPECT_EQ(task.cancel_requested_at, now());
  EXPECT_EQ(task.cancel_reason, "too slow");
  EXPECT_EQ(story(lease.task), "enqueued claimed cancel_requested");
}

TEST_P(Cancel, TheWorkerLearnsOfItByItsNextBeat) {
  const Lease lease = start_work();
  cancel(lease.task);
  EXPECT_EQ(renew(lease), LeaseState::kCancelRequested);
  EXPECT_EQ(renew(lease), LeaseState::kCancelRequested);
}

TEST_P(Cancel, TheLeaseIsStillRenewedWhileTheTreeDies) {
  const Lease lease = start_work();
  cancel(lease.task);
  advance(kLease - 1ms);
  EXPECT_EQ(renew(lease), LeaseState::kCancelRequested);
  pass(kLease - 1ms);
  EXPECT_EQ(state(lease.task), TaskState::kRunning);
  EXPECT_EQ(settle({lease, CancelConfirmed{.exit_code = 143}}), TaskState::kCancelled);
}

TEST_P(Cancel, TheDyingTaskMayStillSpeak) {
  const Lease lease = start_work();
  cancel(lease.task);
  must(queue().progress(lease, {90, "cleaning up"}));
  must(queue().append_log(lease, std::vector<LogChunk>{{LogStream::kErr, "bye"}}));
  EXPECT_EQ(log_text(lease.task), "bye");
}

TEST_P(Cancel, ConfirmedItIsCancelled) {
  const Lease lease = start_work();
  cancel(lease.task, "why not");
  advance(2s);
  EXPECT_EQ(settle({lease, CancelConfirmed{.exit_code = 143}}), TaskState::kCancelled);
  const Task task = get(lease.task);
  EXPECT_EQ(task.state, TaskState::kCancelled);
  EXPECT_EQ(task.cancel_reason, "why not");
  EXPECT_EQ(task.exit_code, 143);
  EXPECT_EQ(task.finished_at, now());
  EXPECT_EQ(story(lease.task), "enqueued claimed cancel_requested cancelled");
  EXPECT_EQ(last_run_of(lease.task).outcome, "cancelled");
}

TEST_P(Cancel, EveryEndAfterTheRequestIsCancelled) {
  const std::pair<const char*, std::function<void(const Lease&)>> ends[] = {
      {"complete", [&](const Lease& lease) { complete(lease, "1"); }},
      {"fail, retryable", [&](const Lease& lease) { fail(lease); }},
      {"fail, final", [&](const Lease& lease) { fail(lease, ErrorClass::kInvalid); }},
      {"defer", [&](const Lease& lease) { fail(lease, ErrorClass::kRateLimited); }},
      {"release", [&](const Lease& lease) { release(lease); }},
      {"lease lost", [&](const Lease& lease) { lose(lease); }},
  };
  for (const auto& [how, end] : ends) {
    const Lease lease = start_work();
    cancel(lease.task);
    end(lease);
    const Task task = get(lease.task);
    EXPECT_EQ(task.state, TaskState::kCancelled) << how;
    EXPECT_EQ(task.result, std::nullopt) << how;
    EXPECT_EQ(story(lease.task), "enqueued claimed cancel_requested cancelled") << how;
  }
}

TEST_P(Cancel, ASecondRequestChangesNothing) {
  const Lease lease = start_work();
  cancel(lease.task, "first");
  advance(1s);
  const World before = world();
  const CancelOutcome again = cancel(lease.task, "second");
  EXPECT_EQ(again.state, TaskState::kRunning);
  EXPECT_EQ(again.cancelled, 0);
  EXPECT_EQ(again.requested, 0);
  EXPECT_EQ(world(), before);
}

TEST_P(Cancel, WithoutARequestThereIsNothingToConfirm) {
  const Lease lease = start_work();
  const World before = world();
  EXPECT_EQ(code_of(try_settle({lease, CancelConfirmed{}})), ErrorCode::kWrongState);
  EXPECT_EQ(world(), before);
}

TEST_P(Cancel, TheRequestOutlivesARestart) {
  const Lease lease = start_work();
  cancel(lease.task);
  reopen();
  EXPECT_EQ(renew(lease), LeaseState::kCancelRequested);
}

TEST_P(Cancel, WithoutAReason) {
  const TaskId id = enqueue_work();
  EXPECT_EQ(cancel(id, "").state, TaskState::kCancelled);
}

TEST_P(Cancel, AReasonThatIsNoTextIsRefused) {
  const TaskId id = enqueue_work();
  EXPECT_EQ(code_of(queue().cancel(id, "\xff")), ErrorCode::kInvalidArgument);
  EXPECT_EQ(state(id), TaskState::kPending);
}

}  // namespace
}  // namespace drover::test
