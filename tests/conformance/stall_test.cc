// Lost leases: a silent worker's tasks are claimable at once, and a task that keeps killing workers ends.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

CONFORMANCE_SUITE(Stall);

TEST_P(Stall, ALeaseThatRanOutIsTakenBack) {
  const Lease lease = start_work();
  pass(kLease);
  EXPECT_EQ(state(lease.task), TaskState::kStalled);
  const Task task = get(lease.task);
  EXPECT_EQ(task.attempts, 0);
  EXPECT_EQ(task.stalls, 1);
  EXPECT_EQ(task.run, 1);
  EXPECT_EQ(task.worker_id, std::nullopt);
  EXPECT_EQ(story(lease.task), "enqueued claimed stalled");
  EXPECT_EQ(last_run_of(lease.task).outcome, "stalled");
}

TEST_P(Stall, NotAMomentEarlier) {
  const Lease lease = start_work();
  pass(kLease - 1ms);
  EXPECT_EQ(state(lease.task), TaskState::kRunning);
  EXPECT_EQ(renew(lease), LeaseState::kHeld);
}

TEST_P(Stall, IsClaimableAtOnce) {
  const TaskId id = enqueue_work();
  lose(start(id));
  const ClaimedTask again = claim_one();
  EXPECT_EQ(again.task.id, id);
  EXPECT_EQ(again.task.run, 2);
  EXPECT_EQ(again.task.attempts, 1);
  ASSERT_EQ(again.earlier_runs.size(), 1U);
  EXPECT_EQ(again.earlier_runs[0].outcome, "stalled");
}

TEST_P(Stall, RenewingKeepsTheLease) {
  const Lease lease = start_work();
  for (int i = 0; i < 10; ++i) {
    pass(kLease - 1ms);
    ASSERT_EQ(renew(lease), LeaseState::kHeld);
  }
  EXPECT_EQ(state(lease.task), TaskState::kRunning);
  EXPECT_EQ(complete(lease), TaskState::kCompleted);
}

TEST_P(Stall, RenewalCountsFromNow) {
  const Lease lease = start_work();
  advance(kLease / 2);
  EXPECT_EQ(renew(lease, 10s), LeaseState::kHeld);
  pass(10s - 1ms);
  EXPECT_EQ(state(lease.task), TaskState::kRunning);
  pass(1ms);
  EXPECT_EQ(state(lease.task), TaskState::kStalled);
}

TEST_P(Stall, RenewalLeavesNoEvent) {
  const Lease lease = start_work();
  EXPECT_EQ(renew(lease), LeaseState::kHeld);
  EXPECT_EQ(story(lease.task), "enqueued claimed");
}

TEST_P(Stall, OnlyTheSilentOneLosesItsTask) {
  const Lease silent = start_work();
  const Lease alive = start_work();
  advance(kLease / 2);
  EXPECT_EQ(renew(alive), LeaseState::kHeld);
  pass(kLease / 2);
  EXPECT_EQ(state(silent.task), TaskState::kStalled);
  EXPECT_EQ(state(alive.task), TaskState::kRunning);
}

TEST_P(Stall, ManyLeasesAreRenewedAndAnsweredOneByOne) {
  const Lease gone = start_work();
  complete(gone);
  const Lease held = start_work();
  const Lease asked = start_work();
  cancel(asked.task);
  const std::vector<Lease> leases{held, gone, asked};
  EXPECT_EQ(must(queue().renew("host:1:a", leases, kLease)).leases,
            (std::vector{LeaseState::kHeld, LeaseState::kLost, LeaseState::kCancelRequested}));
}

TEST_P(Stall, PastMaxStallsItFails) {
  const TaskId id = enqueue({.type = "work", .max_stalls = 2});
  lose(start(id));
  lose(start(id));
  EXPECT_EQ(state(id), TaskState::kStalled);
  lose(start(id));
  const Task task = get(id);
  EXPECT_EQ(task.state, TaskState::kFailed);
  EXPECT_EQ(class_of(task.error), ErrorClass::kStalled);
  EXPECT_EQ(task.stalls, 3);
  EXPECT_EQ(task.attempts, 0);
  EXPECT_EQ(story(id), "enqueued claimed stalled claimed stalled claimed failed");
}

TEST_P(Stall, StallsDoNotUseUpAttempts) {
  const TaskId id = enqueue({.type = "work", .max_attempts = 2});
  lose(start(id));
  EXPECT_EQ(fail(start(id)), TaskState::kScheduled);
}

TEST_P(Stall, SweepingTwiceStallsOnce) {
  const Lease lease = start_work();
  pass(kLease);
  sweep();
  EXPECT_EQ(get(lease.task).stalls, 1);
}

TEST_P(Stall, AStalledTaskOutlivesARestart) {
  const Lease lease = start_work();
  lose(lease);
  reopen();
  EXPECT_EQ(claim_one().task.id, lease.task);
}

TEST_P(Stall, OnDemandTheSilentAreTakenBackEarlier) {
  const Lease silent = start_work();
  advance(5s);
  const Lease alive = start_work();
  advance(5s);
  EXPECT_EQ(must(queue().requeue_stalled(10s)), 1);
  EXPECT_EQ(state(silent.task), TaskState::kStalled);
  EXPECT_EQ(state(alive.task), TaskState::kRunning);
  EXPECT_EQ(must(queue().requeue_stalled(10s)), 0);
}

TEST_P(Stall, OnDemandABeatCounts) {
  const Lease lease = start_work();
  advance(8s);
  EXPECT_EQ(renew(lease), LeaseState::kHeld);
  advance(8s);
  EXPECT_EQ(must(queue().requeue_stalled(10s)), 0);
  advance(2s);
  EXPECT_EQ(must(queue().requeue_stalled(10s)), 1);
}

}  // namespace
}  // namespace drover::test
