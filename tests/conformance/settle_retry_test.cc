// Settle: how a run ends, what is kept of it, and when the next one may start.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

CONFORMANCE_SUITE(SettleRetry);

TEST_P(SettleRetry, CompletingKeepsTheResult) {
  const Lease lease = start_work();
  advance(3s);
  EXPECT_EQ(must(queue().complete(lease, {.result = R"({"ok":true})", .exit_code = 0})), TaskState::kCompleted);
  const Task task = get(lease.task);
  EXPECT_EQ(task.state, TaskState::kCompleted);
  EXPECT_EQ(task.result, R"({"ok":true})");
  EXPECT_EQ(task.exit_code, 0);
  EXPECT_EQ(task.finished_at, now());
  EXPECT_EQ(task.attempts, 1);
  EXPECT_FALSE(task.fallback);
  EXPECT_EQ(task.error, std::nullopt);
  EXPECT_EQ(story(lease.task), "enqueued claimed completed");
}

// Of two ends in one call the first one may move the other's task. If somebody has moved that task meanwhile, too, the
// second must not be taken for what the first one left.
TEST_P(SettleRetry, EndsThatMoveEachOthersTasksKeepWhatOthersWrote) {
  const TaskId root = enqueue_work();
  const TaskId blocked = must(queue().enqueue_one({.type = "later", .depends_on = {root}})).id;
  const TaskId child = must(queue().enqueue_one({.type = "work", .parent_id = blocked})).id;
  const auto claimed = claim({.worker_id = "w", .serves = {{"work", {}}}, .n = 2});
  ASSERT_EQ(claimed.size(), 2U);
  const auto lease_of = [&](const TaskId& id) { return claimed[claimed[0].task.id == id ? 0 : 1].lease; };
  const TaskId dependent = must(queue().enqueue_one({.type = "later", .depends_on = {child}})).id;
  const std::vector<Settlement> ends{{lease_of(root), Failure{.error_class = ErrorClass::kInvalid}},
                                     {lease_of(child), Completion{}}};
  const auto answers = queue().settle(ends);
  EXPECT_EQ(must(answers[0]), TaskState::kFailed);
  EXPECT_EQ(must(answers[1]), TaskState::kCancelled);
  EXPECT_EQ(state(blocked), TaskState::kCancelled);
  EXPECT_EQ(state(dependent), TaskState::kCancelled);
  EXPECT_TRUE(must(queue().fsck(FsckMode::kCheck)).empty());
}

TEST_P(SettleRetry, CompletingWithoutAResult) {
  const Lease lease = start_work();
  complete(lease);
  EXPECT_EQ(get(lease.task).result, std::nullopt);
}

TEST_P(SettleRetry, CompletingClosesTheRun) {
  const Lease lease = start_work();
  const Time started = now();
  advance(3s);
  must(queue().complete(lease, {.exit_code = 0}));
  const auto runs = must(queue().runs(lease.task));
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].started_at, started);
  EXPECT_EQ(runs[0].ended_at, now());
  EXPECT_EQ(runs[0].outcome, "completed");
  EXPECT_EQ(runs[0].exit_code, 0);
  EXPECT_EQ(runs[0].error, std::nullopt);
}

TEST_P(SettleRetry, ACompletedTaskSurvivesARestart) {
  const Lease lease = start_work();
  complete(lease, R"([1,2])");
  const World before = world();
  reopen();
  EXPECT_EQ(world(), before);
}

TEST_P(SettleRetry, AFailureIsRetriedLater) {
  const Lease lease = start_work();
  EXPECT_EQ(must(queue().fail(lease, {.message = "boom", .exit_code = 1, .note = "try smaller"})),
            TaskState::kScheduled);
  const Task task = get(lease.task);
  EXPECT_EQ(task.state, TaskState::kScheduled);
  EXPECT_EQ(task.attempts, 1);
  EXPECT_EQ(task.worker_id, std::nullopt);
  EXPECT_EQ(task.finished_at, std::nullopt);
  EXPECT_EQ(task.error, (TaskError{ErrorClass::kAgentError, "boom"}));
  EXPECT_EQ(story(lease.task), "enqueued claimed retrying");
  const auto runs = must(queue().runs(lease.task));
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].outcome, "retrying");
  EXPECT_EQ(runs[0].error, (TaskError{ErrorClass::kAgentError, "boom"}));
  EXPECT_EQ(runs[0].exit_code, 1);
  EXPECT_EQ(runs[0].note, "try smaller");
}

TEST_P(SettleRetry, NeverRetriesBeforeTheBackoffIsOver) {
  const TaskId id = enqueue({.type = "work", .retry = RetryPolicy{.kind = RetryPolicy::Kind::kFixed, .base = 1min}});
  fail(start(id));
  EXPECT_EQ(get(id).run_at, now() + 1min);
  pass(1min - 1ms);
  EXPECT_TRUE(claim(1).empty());
  pass(1ms);
  EXPECT_EQ(story(id), "enqueued claimed retrying due");
  EXPECT_EQ(claim_one().task.attempts, 2);
}

TEST_P(SettleRetry, BackoffDoublesFromOneSecond) {
  const TaskId id = enqueue({.type = "work", .max_attempts = 6});
  for (const Millis expected : {1'000ms, 2'000ms, 4'000ms, 8'000ms, 16'000ms}) {
    fail(start(id));
    const Millis delay = *get(id).run_at - now();
    EXPECT_GE(delay, expected * 9 / 10);
    EXPECT_LE(delay, expected * 11 / 10);
    pass(delay);
  }
}

TEST_P(SettleRetry, TheListKindRepeatsItsLastDelay) {
  const TaskId id = enqueue(
      {.type = "work", .max_attempts = 5, .retry = RetryPolicy{.kind = RetryPolicy::Kind::kList, .delays = {1s, 5s}}});
  for (const Millis expected : {1'000ms, 5'000ms, 5'000ms}) {
    fail(start(id));
    EXPECT_EQ(get(id).run_at, now() + expected);
    pass(expected);
  }
}

TEST_P(SettleRetry, TheLinearKindStartsAtOnce) {
  const TaskId id = enqueue({.type = "work", .retry = RetryPolicy{.kind = RetryPolicy::Kind::kLinear, .base = 60ms}});
  EXPECT_EQ(fail(start(id)), TaskState::kPending);
  EXPECT_EQ(fail(start(id)), TaskState::kScheduled);
  EXPECT_EQ(get(id).run_at, now() + 60ms);
}

TEST_P(SettleRetry, WithoutDelayItIsPendingAtOnce) {
  const TaskId id = enqueue({.type = "work", .retry = RetryPolicy{.kind = RetryPolicy::Kind::kFixed, .base = 0ms}});
  EXPECT_EQ(fail(start(id)), TaskState::kPending);
  EXPECT_EQ(last_event_of(id).name, "task.retrying");
  EXPECT_EQ(claim_one().task.run, 2);
}

TEST_P(SettleRetry, FailsForGoodWhenTheAttemptsAreUsedUp) {
  const TaskId id = enqueue({.type = "work", .max_attempts = 2});
  EXPECT_EQ(fail(start(id)), TaskState::kScheduled);
  pass(2s);
  EXPECT_EQ(fail(start(id), ErrorClass::kAgentError, "again"), TaskState::kFailed);
  const Task task = get(id);
  EXPECT_EQ(task.attempts, 2);
  EXPECT_EQ(task.error, (TaskError{ErrorClass::kAgentError, "again"}));
  EXPECT_EQ(task.finished_at, now());
  EXPECT_EQ(story(id), "enqueued claimed retrying due claimed failed");
  EXPECT_EQ(last_run_of(id).outcome, "failed");
}

TEST_P(SettleRetry, OneAttemptMeansNoRetry) {
  EXPECT_EQ(fail(start_new({.type = "work", .max_attempts = 1})), TaskState::kFailed);
}

TEST_P(SettleRetry, SuccessAfterAFailureClearsTheError) {
  const TaskId id = enqueue_work();
  fail(start(id));
  pass(2s);
  complete(start(id), "1");
  const Task task = get(id);
  EXPECT_EQ(task.state, TaskState::kCompleted);
  EXPECT_EQ(task.error, std::nullopt);
  EXPECT_EQ(task.attempts, 2);
}

TEST_P(SettleRetry, ABatchAnswersItemByItem) {
  enqueue_all(std::vector<TaskSpec>(4, TaskSpec{.type = "work"}));
  const auto claimed = claim(4);
  const Lease nobody{TaskId::parse("0193300d-2b6b-7c4f-8a1e-00ff10ab5c9d").value(), LeaseId({1})};
  const std::vector<Settlement> items{
      {claimed[0].lease, Completion{.result = "1"}},
      {nobody, Completion{}},
      {claimed[1].lease, Failure{.error_class = ErrorClass::kInvalid}},
      {claimed[2].lease, Completion{.result = "{"}},
      {claimed[3].lease, Release{}},
  };
  const auto answers = queue().settle(items);
  ASSERT_EQ(answers.size(), 5U);
  EXPECT_EQ(must(answers[0]), TaskState::kCompleted);
  EXPECT_EQ(code_of(answers[1]), ErrorCode::kNotFound);
  EXPECT_EQ(must(answers[2]), TaskState::kFailed);
  EXPECT_EQ(code_of(answers[3]), ErrorCode::kInvalidJson);
  EXPECT_EQ(must(answers[4]), TaskState::kPending);
  EXPECT_EQ(state(claimed[2].task.id), TaskState::kRunning);
}

TEST_P(SettleRetry, TheSameLeaseTwiceInOneBatchSettlesOnce) {
  const Lease lease = start_work();
  const std::vector<Settlement> items{{lease, Completion{.result = "1"}}, {lease, Completion{.result = "2"}}};
  const auto answers = queue().settle(items);
  EXPECT_EQ(must(answers[0]), TaskState::kCompleted);
  EXPECT_EQ(must(answers[1]).replayed, "completed");
  EXPECT_EQ(get(lease.task).result, "1");
  EXPECT_EQ(story(lease.task), "enqueued claimed completed");
}

TEST_P(SettleRetry, AnEmptyBatchIsAnsweredWithNothing) {
  EXPECT_TRUE(queue().settle({}).empty());
}

TEST_P(SettleRetry, AnOversizeResultIsRefusedAndTheRunGoesOn) {
  set_limits(R"({"result_bytes":10})");
  const Lease lease = start_work();
  const World before = world();
  EXPECT_EQ(code_of(queue().complete(lease, {.result = R"("0123456789")"})), ErrorCode::kResultTooLarge);
  EXPECT_EQ(world(), before);
  EXPECT_EQ(complete(lease, R"("01234567")"), TaskState::kCompleted);
}

TEST_P(SettleRetry, AResultThatIsNoJsonIsRefusedAndTheRunGoesOn) {
  const Lease lease = start_work();
  const World before = world();
  EXPECT_EQ(code_of(queue().complete(lease, {.result = "not json"})), ErrorCode::kInvalidJson);
  EXPECT_EQ(world(), before);
  EXPECT_EQ(renew(lease), LeaseState::kHeld);
}

TEST_P(SettleRetry, ALongErrorKeepsItsHeadAndItsTail) {
  const Lease lease = start_work();
  fail(lease, ErrorClass::kInvalid, "head" + std::string(100'000, 'x') + "tail");
  const std::string text = message_of(get(lease.task).error);
  EXPECT_LT(text.size(), 50'000U);
  EXPECT_TRUE(text.starts_with("head"));
  EXPECT_TRUE(text.ends_with("tail"));
  EXPECT_NE(text.find("left out"), std::string::npos);
}

TEST_P(SettleRetry, AnErrorThatIsNoUtf8IsMadeReadable) {
  const Lease lease = start_work();
  fail(lease, ErrorClass::kInvalid, "bad \xff byte");
  EXPECT_EQ(message_of(get(lease.task).error), "bad \xEF\xBF\xBD byte");
}

}  // namespace
}  // namespace drover::test
