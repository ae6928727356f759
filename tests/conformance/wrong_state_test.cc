// Every verb in every state where it does not apply: refused, and nothing changes.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

CONFORMANCE_SUITE(WrongState);

TEST_P(WrongState, CancelOfWhatHasEnded) {
  for (const TaskState from : {TaskState::kCompleted, TaskState::kFailed, TaskState::kCancelled}) {
    const TaskId id = place_in(from).id;
    const World before = world();
    EXPECT_EQ(code_of(queue().cancel(id, "late")), ErrorCode::kWrongState) << name_of(from);
    EXPECT_EQ(world(), before) << name_of(from);
  }
}

TEST_P(WrongState, RetryOfWhatHasNotFailed) {
  for (const TaskState from : kAllStates) {
    if (from == TaskState::kFailed || from == TaskState::kCancelled) continue;
    const TaskId id = place_in(from).id;
    const World before = world();
    EXPECT_EQ(code_of(queue().retry(id)), ErrorCode::kWrongState) << name_of(from);
    EXPECT_EQ(world(), before) << name_of(from);
  }
}

TEST_P(WrongState, SettlingWhatDoesNotRun) {
  for (const TaskState from : kAllStates) {
    if (from == TaskState::kRunning) continue;
    const Placed placed = place_in(from);
    const Lease lease = placed.lease.value_or(Lease{placed.id, LeaseId({1})});
    // The first late result of a run is an event (late_result_test.cc).
    if (placed.lease) (void)queue().complete(lease, {});
    const World before = world();
    int replayed = 0;
    for (const Settlement& item : {Settlement{lease, Completion{}}, Settlement{lease, Failure{}},
                                   Settlement{lease, Release{}}, Settlement{lease, CancelConfirmed{}}}) {
      const auto answer = try_settle(item);
      EXPECT_TRUE(answer || answer.error().code == ErrorCode::kStaleLease) << name_of(from);
      if (answer) ++replayed;
    }
    // The call that ended the run is answered again (replay_test.cc); no other is.
    const bool ended_by_worker = placed.lease && from != TaskState::kStalled;
    EXPECT_EQ(replayed, ended_by_worker ? 1 : 0) << name_of(from);
    EXPECT_EQ(world(), before) << name_of(from);
  }
}

TEST_P(WrongState, SweepingWhatIsNotDueChangesNothing) {
  for (const TaskState from : kAllStates) {
    place_in(from);
    const World before = world();
    sweep();
    EXPECT_EQ(world(), before) << name_of(from);
  }
}

}  // namespace
}  // namespace drover::test
