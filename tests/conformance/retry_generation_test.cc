// Retry by an operator: the next generation of the same task, and of what its end had ended, and only that.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

CONFORMANCE_SUITE(RetryGeneration);

TEST_P(RetryGeneration, AFailedTaskStartsAfresh) {
  const TaskId id = enqueue({.type = "work", .max_attempts = 1});
  must(queue().fail(start(id), {.message = "boom", .exit_code = 9}));
  const Task task = retry(id);
  EXPECT_EQ(task.state, TaskState::kPending);
  EXPECT_EQ(task.generation, 2);
  EXPECT_EQ(task.attempts, 0);
  EXPECT_EQ(task.stalls, 0);
  EXPECT_EQ(task.defers, 0);
  EXPECT_EQ(task.run, 1);
  EXPECT_EQ(task.error, std::nullopt);
  EXPECT_EQ(task.exit_code, std::nullopt);
  EXPECT_EQ(task.finished_at, std::nullopt);
  EXPECT_EQ(task, get(id));
  EXPECT_EQ(story(id), "enqueued claimed failed retried");
  EXPECT_EQ(last_event_of(id).generation, 2);
  const ClaimedTask claimed = claim_one();
  EXPECT_EQ(claimed.task.run, 2);
  EXPECT_EQ(claimed.task.attempts, 1);
}

TEST_P(RetryGeneration, ACancelledTaskToo) {
  const Lease lease = start_work();
  cancel(lease.task);
  settle({lease, CancelConfirmed{}});
  const Task task = retry(lease.task);
  EXPECT_EQ(task.state, TaskState::kPending);
  EXPECT_EQ(task.generation, 2);
  EXPECT_EQ(task.cancel_requested_at, std::nullopt);
  EXPECT_EQ(task.cancel_reason, std::nullopt);
  EXPECT_EQ(complete(start(lease.task)), TaskState::kCompleted);
}

TEST_P(RetryGeneration, KeepsTheHistoryOfRuns) {
  const TaskId id = enqueue_work();
  fail(start(id), ErrorClass::kInvalid, "first");
  retry(id);
  fail(start(id), ErrorClass::kInvalid, "second");
  const auto runs = must(queue().runs(id));
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].generation, 2);
  EXPECT_EQ(message_of(runs[0].error), "second");
  EXPECT_EQ(runs[1].generation, 1);
  EXPECT_EQ(message_of(runs[1].error), "first");
}

TEST_P(RetryGeneration, KeepsTheBody) {
  const TaskId id = enqueue({.type = "work", .payload = R"({"n":1})", .prompt = "go", .tags = {"x"}});
  fail(start(id), ErrorClass::kInvalid);
  retry(id);
  const Task task = claim_one().task;
  EXPECT_EQ(task.payload, R"({"n":1})");
  EXPECT_EQ(task.prompt, "go");
  EXPECT_EQ(task.tags, std::vector<std::string>{"x"});
}

TEST_P(RetryGeneration, TheCheckpointIsHandedOn) {
  const TaskId id = enqueue_work();
  const Lease lease = start(id);
  must(queue().checkpoint(lease, "42"));
  fail(lease, ErrorClass::kInvalid);
  retry(id);
  EXPECT_EQ(claim_one().task.checkpoint, "42");
}

TEST_P(RetryGeneration, TheAttemptsCountFromZero) {
  const TaskId id = enqueue({.type = "work", .max_attempts = 2});
  fail(start(id));
  pass(2s);
  fail(start(id));
  retry(id);
  EXPECT_EQ(fail(start(id)), TaskState::kScheduled);
  pass(2s);
  EXPECT_EQ(fail(start(id)), TaskState::kFailed);
}

TEST_P(RetryGeneration, ADelayThatHasPassedIsNotRepeated) {
  const TaskId id = enqueue({.type = "work", .delay = 1h});
  cancel(id);
  EXPECT_EQ(retry(id).state, TaskState::kPending);
}

TEST_P(RetryGeneration, TheDeadlineCountsAfresh) {
  const TaskId id = enqueue({.type = "work", .deadline = 1min});
  pass(1min);
  ASSERT_EQ(state(id), TaskState::kFailed);
  EXPECT_EQ(retry(id).deadline_at, now() + 1min);
  pass(1h);
  ASSERT_EQ(state(id), TaskState::kFailed);
  EXPECT_EQ(retry(id).deadline_at, now() + 1min) << "the time before the first retry must not count";
  sweep();
  EXPECT_EQ(state(id), TaskState::kPending);
}

TEST_P(RetryGeneration, NotWhileTheAgentThatADeadlineEndedMayLive) {
  const Lease lease = start_new({.type = "work", .deadline = 10s});
  advance(5s);
  EXPECT_EQ(renew(lease), LeaseState::kHeld);
  pass(5s);
  ASSERT_EQ(state(lease.task), TaskState::kFailed);
  const World before = world();
  EXPECT_EQ(code_of(queue().retry(lease.task)), ErrorCode::kWrongState);
  EXPECT_EQ(world(), before);
  reopen();
  pass(kLease - 5s - 1ms);
  EXPECT_EQ(code_of(queue().retry(lease.task)), ErrorCode::kWrongState);
  EXPECT_EQ(world(), before);
  pass(1ms);
  EXPECT_EQ(retry(lease.task).state, TaskState::kPending);
  EXPECT_EQ(complete(start(lease.task)), TaskState::kCompleted);
}

TEST_P(RetryGeneration, EachRunThatADeadlineEndsHoldsTheNextBack) {
  const TaskId id = enqueue({.type = "work", .deadline = 10s});
  for (int generation = 1; generation <= 3; ++generation) {
    static_cast<void>(start(id));
    pass(10s);
    EXPECT_EQ(code_of(queue().retry(id)), ErrorCode::kWrongState);
    pass(kLease - 10s);
    EXPECT_EQ(retry(id).generation, generation + 1);
  }
}

TEST_P(RetryGeneration, AtOnceIfTheDeadlineEndedNoRun) {
  const TaskId id = enqueue({.type = "work", .deadline = 10s});
  must(queue().fail(start(id), {.message = "boom"}));
  pass(10s);
  ASSERT_EQ(class_of(get(id).error), ErrorClass::kDeadline);
  EXPECT_EQ(retry(id).state, TaskState::kPending);
}

TEST_P(RetryGeneration, BringsBackWhatItsEndHadCancelled) {
  const TaskId parent = enqueue_work();
  const TaskId child = enqueue_after(parent);
  const TaskId grandchild = enqueue_after(child);
  fail(start(parent), ErrorClass::kInvalid);
  ASSERT_EQ(state(grandchild), TaskState::kCancelled);
  retry(parent);
  for (const TaskId& id : {child, grandchild}) {
    const Task task = get(id);
    EXPECT_EQ(task.state, TaskState::kBlocked);
    EXPECT_EQ(task.generation, 2);
    EXPECT_EQ(task.cancel_reason, std::nullopt);
    EXPECT_EQ(task.finished_at, std::nullopt);
    EXPECT_EQ(story(id), "enqueued cancelled revived");
  }
  EXPECT_EQ(drain(), (std::vector{parent, child, grandchild}));
}

TEST_P(RetryGeneration, BringsBackWhatItsEndHadFailed) {
  const TaskId parent = enqueue_work();
  const TaskId child = enqueue({.type = "work", .depends_on = {parent}, .on_parent_failure = OnParentFailure::kFail});
  cancel(parent);
  ASSERT_EQ(state(child), TaskState::kFailed);
  retry(parent);
  EXPECT_EQ(state(child), TaskState::kBlocked);
  EXPECT_EQ(get(child).error, std::nullopt);
  EXPECT_EQ(drain(), (std::vector{parent, child}));
}

TEST_P(RetryGeneration, LeavesAloneWhatEndedForAnotherReason) {
  const TaskId parent = enqueue_work();
  const TaskId cancelled_before = enqueue_after(parent);
  const TaskId child = enqueue_after(parent);
  cancel(cancelled_before, "not needed");
  fail(start(parent), ErrorClass::kInvalid);
  retry(parent);
  EXPECT_EQ(state(cancelled_before), TaskState::kCancelled);
  EXPECT_EQ(get(cancelled_before).generation, 1);
  EXPECT_EQ(get(cancelled_before).cancel_reason, "not needed");
  EXPECT_EQ(state(child), TaskState::kBlocked);
}

TEST_P(RetryGeneration, LeavesAloneWhatRanOnRegardless) {
  const TaskId parent = enqueue_work();
  const TaskId child = enqueue({.type = "work", .depends_on = {parent}, .on_parent_failure = OnParentFailure::kRun});
  fail(start(parent), ErrorClass::kInvalid);
  complete(start(child), "1");
  retry(parent);
  EXPECT_EQ(state(child), TaskState::kCompleted);
  EXPECT_EQ(get(child).generation, 1);
}

TEST_P(RetryGeneration, ATaskThatCountedTheEndAsDoneWaitsAgain) {
  const TaskId parent = enqueue_work();
  const TaskId other = enqueue_work();
  const TaskId child =
      enqueue({.type = "work", .depends_on = {parent, other}, .on_parent_failure = OnParentFailure::kRun});
  fail(start(parent), ErrorClass::kInvalid);
  retry(parent);
  complete(start(other));
  EXPECT_EQ(state(child), TaskState::kBlocked);
  EXPECT_EQ(get(child).generation, 1);
  complete(start(parent));
  EXPECT_EQ(state(child), TaskState::kPending);
}

TEST_P(RetryGeneration, AnotherParentThatEndedKeepsTheTaskEnded) {
  const TaskId first = enqueue_work();
  const TaskId second = enqueue_work();
  const TaskId child = enqueue({.type = "work", .depends_on = {first, second}});
  fail(start(first), ErrorClass::kInvalid);
  fail(start(second), ErrorClass::kInvalid);
  retry(first);
  EXPECT_EQ(state(child), TaskState::kCancelled);
  retry(second);
  EXPECT_EQ(state(child), TaskState::kBlocked);
  EXPECT_EQ(drain(), (std::vector{first, second, child}));
}

TEST_P(RetryGeneration, ARevivedTaskWaitsOnlyForWhatIsNotDone) {
  const TaskId done = enqueue_work();
  const TaskId bad = enqueue_work();
  const TaskId child = enqueue({.type = "work", .depends_on = {done, bad}});
  complete(start(done));
  fail(start(bad), ErrorClass::kInvalid);
  retry(bad);
  complete(start(bad));
  EXPECT_EQ(state(child), TaskState::kPending);
}

TEST_P(RetryGeneration, ATaskWhoseParentHasFailedIsRefused) {
  const TaskId parent = enqueue_work();
  const TaskId child = enqueue_after(parent);
  fail(start(parent), ErrorClass::kInvalid);
  const World before = world();
  EXPECT_EQ(code_of(queue().retry(child)), ErrorCode::kWrongState);
  EXPECT_EQ(world(), before);
}

TEST_P(RetryGeneration, ATaskWhoseParentsAreOpenWaitsForThem) {
  const TaskId parent = enqueue_work();
  const TaskId child = enqueue_after(parent);
  cancel(child);
  EXPECT_EQ(retry(child).state, TaskState::kBlocked);
  complete(start(parent));
  EXPECT_EQ(state(child), TaskState::kPending);
}

TEST_P(RetryGeneration, AgainAndAgain) {
  const TaskId parent = enqueue_work();
  const TaskId child = enqueue_after(parent);
  for (int generation = 1; generation < 5; ++generation) {
    EXPECT_EQ(get(parent).generation, generation);
    EXPECT_EQ(get(child).generation, generation);
    fail(start(parent), ErrorClass::kInvalid);
    ASSERT_EQ(state(child), TaskState::kCancelled);
    retry(parent);
  }
  EXPECT_EQ(drain(), (std::vector{parent, child}));
}

TEST_P(RetryGeneration, DropsTheOldResult) {
  const TaskId id = enqueue({.type = "work", .deadline = 1s});
  const Lease lease = start(id);
  must(queue().progress(lease, {50, "half"}));
  pass(1s);
  pass(kLease);
  const Task task = retry(id);
  EXPECT_EQ(task.result, std::nullopt);
  EXPECT_EQ(task.progress, std::nullopt);
  EXPECT_EQ(task.started_at, std::nullopt);
  EXPECT_EQ(task.worker_id, std::nullopt);
}

}  // namespace
}  // namespace drover::test
