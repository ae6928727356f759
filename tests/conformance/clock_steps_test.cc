// Somebody sets the clock of the store's machine: no lease ends early or late, no worker is taken for dead or alive.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

const Millis kSteps[] = {1s, 10s, 1h, 24h * 3650, -1s, -10s, -1h, -24h * 3650};

const Millis kSeenLate = 6s;  // how much later than without a step a lease may end

CONFORMANCE_SUITE(ClockSteps);

TEST_P(ClockSteps, EndNoLease) {
  const Lease lease = start_work();
  for (const Millis step : kSteps) {
    set_clock(step);
    sweep();
    EXPECT_EQ(state(lease.task), TaskState::kRunning) << step.count();
    EXPECT_EQ(must(queue().requeue_stalled(1s)), 0) << step.count();
  }
  EXPECT_EQ(complete(lease), TaskState::kCompleted);
  EXPECT_EQ(get(lease.task).stalls, 0);
}

TEST_P(ClockSteps, EndNoLeaseOfAWorkerThatBeats) {
  const Lease lease = start_work();
  for (const Millis step : kSteps) {
    pass(kLease / 3);
    set_clock(step);
    sweep();
    ASSERT_EQ(renew(lease), LeaseState::kHeld) << step.count();
    pass(kLease * 2 / 3);
    EXPECT_EQ(state(lease.task), TaskState::kRunning) << step.count();
    ASSERT_EQ(renew(lease), LeaseState::kHeld) << step.count();
  }
}

TEST_P(ClockSteps, ProlongNoLeaseOfADeadWorker) {
  for (const Millis step : kSteps) {
    const Lease lease = start_work();
    set_clock(step);
    sweep();
    pass(kLease - 1ms);
    EXPECT_EQ(state(lease.task), TaskState::kRunning) << step.count();
    pass(kSeenLate);
    EXPECT_EQ(state(lease.task), TaskState::kStalled) << step.count();
    complete(claim_one().lease);
  }
}

TEST_P(ClockSteps, MoveNothingForALeaseThatIsGrantedAfterwards) {
  set_clock(24h * 3650);
  const Lease lease = start_work();
  set_clock(-24h * 3650);
  sweep();
  pass(kLease - 1ms);
  EXPECT_EQ(state(lease.task), TaskState::kRunning);
  pass(kSeenLate);
  EXPECT_EQ(state(lease.task), TaskState::kStalled);
}

TEST_P(ClockSteps, LetNoTaskBeginAnewBesideTheAgentOfARevokedRun) {
  const Lease lease = start_new({.type = "work", .deadline = 5s});
  pass(5s);
  ASSERT_EQ(state(lease.task), TaskState::kFailed);
  set_clock(1h);
  EXPECT_FALSE(queue().retry(lease.task).has_value()) << "its agent may live until its lease has run out";
  pass(kLease);
  EXPECT_EQ(retry(lease.task).state, TaskState::kPending);
}

TEST_P(ClockSteps, LeaveTheSilenceOfWorkersAsItIs) {
  must(queue().register_worker({.id = "host:1:a", .version = "1", .serves = {{.queue = "work"}}}));
  for (const Millis step : kSteps) {
    must(queue().renew("host:1:a", {}, kLease));
    pass(5s);
    set_clock(step);
    sweep();
    const auto workers = must(queue().workers());
    ASSERT_EQ(workers.size(), 1U) << step.count();
    EXPECT_LE(std::chrono::abs(now() - workers[0].last_beat_at - Millis(5s)), kSeenLate) << step.count();
  }
  set_clock(-1h);
  sweep();
  pass(5min + kSeenLate);
  EXPECT_TRUE(must(queue().workers()).empty()) << "it is as silent as before";
}

TEST_P(ClockSteps, AreNothingToWaitFor) {
  start_work();
  set_clock(1h);
  EXPECT_EQ(must(store().next_wake()), kLease);
  set_clock(-2h);
  EXPECT_EQ(must(store().next_wake()), kLease);
}

}  // namespace
}  // namespace drover::test
