// How a run ends: completed, failed in all its ways, released, cancelled.
#include "core/retry.h"
#include "records.h"

namespace drover {
namespace {

using namespace drover::testing;
using enum TaskState;

TEST(Complete, StoresTheResult) {
  TaskRecord record = record_in(kRunning);
  record.task.error = TaskError{ErrorClass::kAgentError, "earlier"};
  const Step step = must(record, trigger::Complete{{.result = R"({"n":1e400})", .exit_code = 0}});
  EXPECT_EQ(step.next.task.state, kCompleted);
  EXPECT_EQ(step.next.task.finished_at, kNow);
  EXPECT_EQ(step.next.task.result, R"({"n":1e400})");
  EXPECT_EQ(step.result, Step::ResultWrite::kReplace);
  EXPECT_EQ(step.next.task.error, std::nullopt);
  EXPECT_EQ(step.next.task.exit_code, 0);
  EXPECT_EQ(step.next.task.attempts, 1);
  EXPECT_EQ(step.next.lease_beats, 0);
  EXPECT_EQ(step.guard, Step::Guard::kRevision);
  EXPECT_EQ(step.run_end, (RunEnd{.worker_id = "host:1:w",
                                  .ended_at = kNow,
                                  .outcome = "completed",
                                  .exit_code = 0,
                                  .settlement = RunSettlement{SettleKind::kComplete, kCompleted, lease_id(5)}}));
}

TEST(Fail, RetryWaitsForTheTasksOwnBackoff) {
  TaskRecord record = record_in(kRunning);
  record.task.attempts = 2;
  const Step step = must(record, failure(ErrorClass::kAgentError));
  EXPECT_EQ(step.next.task.state, kScheduled);
  EXPECT_EQ(step.next.task.run_at, kNow + Millis{2'000});
  EXPECT_EQ(step.next.task.attempts, 2);
  EXPECT_EQ(step.next.task.timeout, record.task.timeout);
  EXPECT_EQ(step.next.place, 0);
  EXPECT_EQ(step.next.task.error, (TaskError{ErrorClass::kAgentError, "boom"}));
  EXPECT_EQ(step.next.task.exit_code, 3);
  EXPECT_EQ(step.next.task.finished_at, std::nullopt);
  EXPECT_EQ(step.result, Step::ResultWrite::kKeep);
  EXPECT_EQ(step.events.at(0).data, R"({"class":"agent_error","message":"boom","delay_ms":2000})");
  EXPECT_EQ(step.run_end, (RunEnd{.worker_id = "host:1:w",
                                  .ended_at = kNow,
                                  .outcome = "retrying",
                                  .error = TaskError{ErrorClass::kAgentError, "boom"},
                                  .exit_code = 3,
                                  .note = "try less",
                                  .settlement = RunSettlement{SettleKind::kFail, kScheduled, lease_id(5)}}));
}

TEST(Fail, RetryWithoutDelayIsPendingAtTheTail) {
  TaskRecord record = record_in(kRunning);
  record.task.retry = {.kind = RetryPolicy::Kind::kLinear, .base = Millis{60}};
  const Step step = must(record, failure(ErrorClass::kKilled));
  EXPECT_EQ(step.next.task.state, kPending);
  EXPECT_EQ(step.next.task.run_at, kNow);
  EXPECT_EQ(step.next.place, 0);
  EXPECT_EQ(step.events.at(0).data, R"({"class":"killed","message":"boom","delay_ms":0})");
}

TEST(Fail, LastAttemptIsADeadLetter) {
  TaskRecord record = record_in(kRunning);
  record.task.attempts = record.task.max_attempts;
  const Step step = must(record, failure(ErrorClass::kAgentError, "it \"broke\"\n"));
  EXPECT_EQ(step.next.task.state, kFailed);
  EXPECT_EQ(step.next.task.finished_at, kNow);
  EXPECT_EQ(step.next.task.attempts, 3);
  EXPECT_EQ(step.next.task.error, (TaskError{ErrorClass::kAgentError, "it \"broke\"\n"}));
  EXPECT_EQ(event_names(step), std::vector<std::string>{"task.failed"});
  EXPECT_EQ(step.events.at(0).data, R"({"class":"agent_error","message":"it \"broke\"\n"})");
  EXPECT_EQ(step.run_end->outcome, "failed");
  EXPECT_EQ(step.run_end->error, step.next.task.error);
  EXPECT_EQ(step.run_end->note, "try less");
}

TEST(Fail, FinalClassEndsAtOnceAndSaysWhomToTell) {
  const Step step = must(record_in(kRunning), failure(ErrorClass::kOom));
  EXPECT_EQ(step.next.task.state, kFailed);
  EXPECT_EQ(step.events.at(0).data, R"({"class":"oom","message":"boom","alert":true})");
}

TEST(Fail, DeferGivesTheAttemptBack) {
  const Step step = must(record_in(kRunning), failure(ErrorClass::kRateLimited));
  EXPECT_EQ(step.next.task.state, kScheduled);
  EXPECT_EQ(step.next.task.attempts, 0);
  EXPECT_EQ(step.next.task.defers, 1);
  EXPECT_EQ(step.next.task.run_at, kNow + defer_delay(1, kContext.unit));
  EXPECT_EQ(step.next.task.error, (TaskError{ErrorClass::kRateLimited, "boom"}));
  EXPECT_EQ(event_names(step), std::vector<std::string>{"task.deferred"});
  EXPECT_EQ(step.events.at(0).data, R"({"class":"rate_limited","message":"boom","delay_ms":1000})");
  EXPECT_EQ(step.run_end->outcome, "deferred");
}

TEST(Fail, DeferObeysRetryAfter) {
  const auto run_at_after = [](Millis retry_after) {
    const trigger::Fail trigger{{.error_class = ErrorClass::kQuotaExhausted, .retry_after = retry_after}};
    return must(record_in(kRunning), trigger).next.task.run_at;
  };
  EXPECT_EQ(run_at_after(std::chrono::hours(5)), kNow + std::chrono::hours(5));
  EXPECT_EQ(run_at_after(Millis{0}), kNow);
  EXPECT_EQ(run_at_after(Millis{-1}), kNow);
  EXPECT_EQ(run_at_after(Millis::max()), kNow + kDurationMax);
}

TEST(Fail, DefersHaveTheirOwnCap) {
  TaskRecord record = record_in(kRunning);
  record.task.defers = 99;
  EXPECT_EQ(must(record, failure(ErrorClass::kOverloaded)).next.task.state, kScheduled);
  record.task.defers = 100;
  const Step step = must(record, failure(ErrorClass::kOverloaded));
  EXPECT_EQ(step.next.task.state, kFailed);
  EXPECT_EQ(step.next.task.defers, 101);
  EXPECT_EQ(step.next.task.attempts, 0);
  EXPECT_EQ(step.next.task.error, (TaskError{ErrorClass::kOverloaded, "boom"}));
}

TEST(Fail, TimeoutGetsALongerTimeout) {
  const auto timeout_after = [](Millis timeout) {
    TaskRecord record = record_in(kRunning);
    record.task.timeout = timeout;
    return must(record, failure(ErrorClass::kTimeout)).next.task.timeout;
  };
  EXPECT_EQ(timeout_after(Millis{1'000}), Millis{1'500});
  EXPECT_EQ(timeout_after(std::chrono::hours(20)), kTimeoutMax);
  EXPECT_EQ(timeout_after(kTimeoutMax), kTimeoutMax);
  // One that was asked for beyond the cap stays.
  EXPECT_EQ(timeout_after(kTimeoutMax * 3), kTimeoutMax * 3);
}

TEST(Fail, TheTypesOwnTableDecides) {
  ClassTable classes = default_class_table();
  classes[static_cast<std::size_t>(ErrorClass::kAgentError)] = {
      .action = Action::kDefer, .timeout_factor = 0.5, .alert = true};
  DecisionContext context = kContext;
  const TypePolicy type{.classes = classes};
  context.type = &type;
  const Step step = must(record_in(kRunning), failure(ErrorClass::kAgentError), context);
  EXPECT_EQ(step.next.task.defers, 1);
  EXPECT_EQ(step.next.task.timeout, Task{}.timeout);  // a factor below 1 does not shrink it
  EXPECT_EQ(step.events.at(0).data, R"({"class":"agent_error","message":"boom","delay_ms":1000,"alert":true})");
}

TEST(Fail, AtMostOnceIsNeverRunAgain) {
  TaskRecord record = record_in(kRunning);
  record.task.at_most_once = true;
  for (const ErrorClass error_class : {ErrorClass::kAgentError, ErrorClass::kRateLimited, ErrorClass::kOom}) {
    const Step step = must(record, failure(error_class));
    EXPECT_EQ(step.next.task.state, kFailed);
    EXPECT_EQ(step.next.task.error->error_class, error_class);
    EXPECT_EQ(step.next.task.attempts, 1);
    EXPECT_EQ(step.run_end->outcome, "failed");
  }
}

TEST(Fail, LongMessagesStayWhole) {
  const std::string message(1 << 20, 'x');
  const Step step = must(record_in(kRunning), failure(ErrorClass::kSyntax, message));
  EXPECT_EQ(step.next.task.error->message, message);
  EXPECT_EQ(step.run_end->error->message, message);
  EXPECT_GT(step.events.at(0).data.size(), message.size());
}

TEST(Release, KeepsItsPlaceAndGivesTheAttemptBack) {
  const Step step = must(record_in(kRunning), trigger::Release{});
  EXPECT_EQ(step.next.task.state, kPending);
  EXPECT_EQ(step.next.place, 42);
  EXPECT_EQ(step.next.task.attempts, 0);
  EXPECT_EQ(step.next.task.run, 1);
  EXPECT_EQ(step.next.task.stalls, 0);
  EXPECT_EQ(step.run_end, (RunEnd{.worker_id = "host:1:w",
                                  .ended_at = kNow,
                                  .outcome = "released",
                                  .settlement = RunSettlement{SettleKind::kRelease, kPending, lease_id(5)}}));
}

TEST(Release, AtMostOnceIsLost) {
  TaskRecord record = record_in(kRunning);
  record.task.at_most_once = true;
  const Step step = must(record, trigger::Release{});
  EXPECT_EQ(step.next.task.state, kFailed);
  EXPECT_EQ(step.next.task.error->error_class, ErrorClass::kLost);
  EXPECT_EQ(event_names(step), std::vector<std::string>{"task.failed"});
}

TEST(LeaseLost, KeepsItsPlaceAndGivesTheAttemptBack) {
  const Step step = must(record_in(kRunning), trigger::LeaseLost{});
  EXPECT_EQ(step.next.task.state, kStalled);
  EXPECT_EQ(step.next.place, 42);
  EXPECT_EQ(step.next.task.attempts, 0);
  EXPECT_EQ(step.next.task.stalls, 1);
  // A renewal between reading and writing wins.
  EXPECT_EQ(step.guard, Step::Guard::kRevisionAndBeats);
  EXPECT_EQ(step.events.at(0).data, R"({"worker_id":"host:1:w"})");
  EXPECT_EQ(step.run_end, (RunEnd{.worker_id = "host:1:w", .ended_at = kNow, .outcome = "stalled"}));
}

TEST(LeaseLost, StallsHaveTheirOwnCap) {
  TaskRecord record = record_in(kRunning);
  record.task.stalls = 2;
  EXPECT_EQ(must(record, trigger::LeaseLost{}).next.task.state, kStalled);
  record.task.stalls = 3;
  const Step step = must(record, trigger::LeaseLost{});
  EXPECT_EQ(step.next.task.state, kFailed);
  EXPECT_EQ(step.next.task.error, (TaskError{ErrorClass::kStalled, "its lease was lost 4 times; max_stalls is 3"}));
  EXPECT_EQ(step.next.task.attempts, 0);
  EXPECT_EQ(event_names(step), std::vector<std::string>{"task.failed"});
  EXPECT_EQ(step.run_end->outcome, "failed");
  EXPECT_EQ(step.run_end->error, step.next.task.error);
  EXPECT_EQ(step.guard, Step::Guard::kRevisionAndBeats);
}

TEST(LeaseLost, AtMostOnceIsLost) {
  TaskRecord record = record_in(kRunning);
  record.task.at_most_once = true;
  const Step step = must(record, trigger::LeaseLost{});
  EXPECT_EQ(step.next.task.state, kFailed);
  EXPECT_EQ(step.next.task.error->error_class, ErrorClass::kLost);
  EXPECT_EQ(step.run_end->outcome, "failed");
}

TEST(CancelRequested, EveryEndIsCancelled) {
  const TaskRecord record = cancel_requested_record();
  const std::vector<Trigger> ends{trigger::Complete{{.result = "1", .exit_code = 0}},
                                  failure(ErrorClass::kAgentError),
                                  failure(ErrorClass::kRateLimited),
                                  failure(ErrorClass::kOom),
                                  trigger::Release{},
                                  trigger::LeaseLost{},
                                  trigger::ConfirmCancel{.exit_code = 143}};
  for (const Trigger& end : ends) {
    SCOPED_TRACE(name_of(end));
    const Step step = must(record, end);
    EXPECT_EQ(step.next.task.state, kCancelled);
    EXPECT_EQ(step.next.task.finished_at, kNow);
    EXPECT_EQ(step.next.task.cancel_reason, "enough");
    EXPECT_EQ(step.next.task.result, std::nullopt);
    EXPECT_EQ(step.result, Step::ResultWrite::kKeep);
    EXPECT_TRUE(step.next.lease.is_none());
    EXPECT_EQ(event_names(step), std::vector<std::string>{"task.cancelled"});
    EXPECT_EQ(step.events.at(0).data, R"({"reason":"enough"})");
    EXPECT_EQ(step.run_end->outcome, "cancelled");
  }
  EXPECT_EQ(must(record, trigger::ConfirmCancel{.exit_code = 143}).run_end->exit_code, 143);
  EXPECT_EQ(must(record, trigger::LeaseLost{}).guard, Step::Guard::kRevisionAndBeats);
  // What the run said of itself stays in its history.
  EXPECT_EQ(must(record, failure(ErrorClass::kAgentError)).run_end->error->message, "boom");
}

TEST(CancelRequested, CannotBeConfirmedWithoutARequest) {
  EXPECT_EQ(refused(record_in(kRunning), trigger::ConfirmCancel{}).code, ErrorCode::kWrongState);
}

}  // namespace
}  // namespace drover
