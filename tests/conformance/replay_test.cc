// Replays: a settlement whose answer was lost is sent again. The lease that ended the run gets the same answer; nothing
// changes, whatever has become of the task since.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

class Replay : public ConformanceTest {
 protected:
  // The same settlement again is answered as before, and changes nothing.
  void expect_replay(const Settlement& item, TaskState state, const std::string& outcome) {
    const World before = world();
    const Settled answer = must(try_settle(item));
    EXPECT_EQ(answer.state, state);
    EXPECT_EQ(answer.replayed, outcome);
    EXPECT_EQ(world(), before);
  }
  void expect_stale(const Settlement& item) {
    const World before = world();
    EXPECT_EQ(code_of(try_settle(item)), ErrorCode::kStaleLease);
    EXPECT_EQ(world(), before);
  }
  // The first answer is no replay; the second one is, with the same state.
  void expect_settled_twice(const Settlement& item, TaskState state, const std::string& outcome) {
    EXPECT_EQ(must(try_settle(item)), state);
    expect_replay(item, state, outcome);
  }
};
ON_EVERY_STORE(Replay);

TEST_P(Replay, OfEveryKind) {
  expect_settled_twice({start_work(), Completion{.result = "1"}}, TaskState::kCompleted, "completed");
  expect_settled_twice({start_work(), Failure{.error_class = ErrorClass::kInvalid}}, TaskState::kFailed, "failed");
  expect_settled_twice({start_work(), Failure{.error_class = ErrorClass::kRateLimited, .retry_after = 1h}},
                       TaskState::kScheduled, "deferred");
  const Lease cancelled = start_work();
  cancel(cancelled.task);
  expect_settled_twice({cancelled, CancelConfirmed{}}, TaskState::kCancelled, "cancelled");
  const Lease spawner = start_work();
  must(queue().spawn(spawner, std::vector<TaskSpec>{{.type = "child"}}));
  expect_settled_twice({spawner, Suspend{}}, TaskState::kBlocked, "suspended");
  expect_settled_twice({start_work(), Release{}}, TaskState::kPending, "released");
}

TEST_P(Replay, ToldByTheKindThatWasSentNotByTheOutcome) {
  const Lease lease = start_work();
  cancel(lease.task);
  expect_settled_twice({lease, Completion{.result = "1"}}, TaskState::kCancelled, "cancelled");
  expect_stale({lease, CancelConfirmed{}});
  expect_stale({lease, Failure{}});
}

TEST_P(Replay, AnotherKindIsStale) {
  const Lease lease = start_work();
  complete(lease);
  expect_stale({lease, Failure{}});
  expect_stale({lease, Release{}});
  expect_stale({lease, CancelConfirmed{}});
  expect_stale({lease, Suspend{}});
}

TEST_P(Replay, TellsOfItsOwnRunWhileAnotherGoesOn) {
  const Lease first = start_new({.type = "work", .max_attempts = 3});
  const Settlement failed{first, Failure{.message = "broke"}};
  const TaskState state = must(try_settle(failed)).state;
  ASSERT_EQ(state, TaskState::kScheduled);
  pass(2s);
  const Lease second = start(first.task);
  must(queue().progress(second, {40, "nearly"}));
  expect_replay(failed, state, "retrying");
  EXPECT_EQ(renew(second), LeaseState::kHeld);
  complete(second, "2");
  expect_replay(failed, state, "retrying");
  expect_replay({second, Completion{}}, TaskState::kCompleted, "completed");
}

TEST_P(Replay, ToldAfterAnOperatorsRetry) {
  const Lease lease = start_work();
  const Settlement failed{lease, Failure{.error_class = ErrorClass::kInvalid}};
  EXPECT_EQ(settle(failed), TaskState::kFailed);
  retry(lease.task);
  expect_replay(failed, TaskState::kFailed, "failed");
  EXPECT_EQ(state(lease.task), TaskState::kPending);
}

TEST_P(Replay, KeptByTheStore) {
  const Lease lease = start_work();
  complete(lease, "1");
  reopen();
  expect_replay({lease, Completion{.result = "2"}}, TaskState::kCompleted, "completed");
  EXPECT_EQ(get(lease.task).result, "1");
}

TEST_P(Replay, NotOfALostRun) {
  const Lease lost = start_work();
  lose(lost);
  EXPECT_EQ(code_of(queue().complete(lost, {})), ErrorCode::kStaleLease);
  expect_stale({lost, Completion{}});
  expect_stale({lost, Release{}});
  complete(start(lost.task));
  expect_stale({lost, Completion{}});
}

TEST_P(Replay, NotOfARunThatADeadlineEnded) {
  const Lease lease = start_new({.type = "work", .deadline = 10s, .fallback_result = "1"});
  pass(10s);
  EXPECT_EQ(state(lease.task), TaskState::kCompleted);
  EXPECT_EQ(code_of(queue().complete(lease, {})), ErrorCode::kStaleLease);
  expect_stale({lease, Completion{}});
}

TEST_P(Replay, NotOfAnothersLease) {
  const Lease lease = start_work();
  complete(lease);
  expect_stale({{lease.task, LeaseId({7})}, Completion{}});
  expect_stale({{lease.task, LeaseId()}, Completion{}});
  const Lease other = start_work();
  expect_stale({{other.task, lease.id}, Completion{}});
}

TEST_P(Replay, OfABatchThatWasSentTwice) {
  enqueue_work();
  enqueue_work();
  std::vector<Settlement> items;
  for (const ClaimedTask& task : claim(2)) items.push_back({task.lease, Completion{.result = "1"}});
  for (const auto& answer : queue().settle(items)) EXPECT_EQ(must(answer), TaskState::kCompleted);
  const World before = world();
  for (const auto& answer : queue().settle(items)) EXPECT_EQ(must(answer).replayed, "completed");
  EXPECT_EQ(world(), before);
}

}  // namespace
}  // namespace drover::test
