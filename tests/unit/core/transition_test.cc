// Everything but the ends of runs: enqueue, parents, claim, cancel, deadline, the next generation.
#include "records.h"

namespace drover {
namespace {

using namespace drover::testing;
using enum TaskState;

TEST(FirstStep, WaitsForParentsThenForItsTime) {
  TaskRecord record = new_record();
  record.unmet_parents = 1;
  record.task.run_at = kNow + Millis{1};
  EXPECT_EQ(first_step(record, kContext).next.task.state, kBlocked);
  record.unmet_parents = 0;
  EXPECT_EQ(first_step(record, kContext).next.task.state, kScheduled);
  record.task.run_at = kNow;
  EXPECT_EQ(first_step(record, kContext).next.task.state, kPending);
  record.task.run_at.reset();
  const Step step = first_step(record, kContext);
  EXPECT_EQ(step.next.task.state, kPending);
  EXPECT_EQ(step.next.place, 0);
  EXPECT_EQ(step.expected_revision, 0);
  EXPECT_EQ(event_names(step), std::vector<std::string>{"task.enqueued"});
  EXPECT_EQ(step.next.task.payload, record.task.payload);
  EXPECT_EQ(step.run_end, std::nullopt);
}

TEST(ParentDone, OnlyTheLastOneReleases) {
  TaskRecord record = record_in(kBlocked);
  record.unmet_parents = 2;
  const Step first = must(record, trigger::ParentDone{});
  EXPECT_EQ(first.next.task.state, kBlocked);
  EXPECT_EQ(first.next.unmet_parents, 1);
  EXPECT_TRUE(first.events.empty());
  EXPECT_EQ(first.next.place, 42);

  const Step last = must(first.next, trigger::ParentDone{});
  EXPECT_EQ(last.next.task.state, kPending);
  EXPECT_EQ(last.next.unmet_parents, 0);
  EXPECT_EQ(last.next.place, 0);
  EXPECT_EQ(event_names(last), std::vector<std::string>{"task.unblocked"});
}

TEST(ParentDone, StillWaitsForRunAt) {
  TaskRecord record = record_in(kBlocked);
  record.task.run_at = kNow + Millis{1};
  const Step step = must(record, trigger::ParentDone{});
  EXPECT_EQ(step.next.task.state, kScheduled);
  EXPECT_EQ(step.next.task.run_at, kNow + Millis{1});
  EXPECT_EQ(event_names(step), std::vector<std::string>{"task.unblocked"});
}

TEST(ParentEnded, Cancels) {
  const Step step = must(record_in(kBlocked), trigger::ParentEnded{task_id(9)});
  EXPECT_EQ(step.next.task.state, kCancelled);
  EXPECT_EQ(step.next.task.finished_at, kNow);
  EXPECT_EQ(step.next.task.cancel_reason, "parent 00000000-0000-0000-0000-000000000009 ended");
  EXPECT_EQ(step.next.ended_by, task_id(9));
  EXPECT_EQ(step.events.at(0).data, R"({"reason":"parent 00000000-0000-0000-0000-000000000009 ended"})");
}

TEST(ParentEnded, Fails) {
  TaskRecord record = record_in(kBlocked);
  record.task.on_parent_failure = OnParentFailure::kFail;
  const Step step = must(record, trigger::ParentEnded{task_id(9)});
  EXPECT_EQ(step.next.task.state, kFailed);
  EXPECT_EQ(step.next.task.finished_at, kNow);
  EXPECT_EQ(step.next.task.error, (TaskError{ErrorClass::kParentFailed,
                                             "parent 00000000-0000-0000-0000-000000000009 ended without completing"}));
  EXPECT_EQ(step.next.task.cancel_reason, std::nullopt);
  EXPECT_EQ(step.next.ended_by, task_id(9));
  EXPECT_EQ(event_names(step), std::vector<std::string>{"task.failed"});
  EXPECT_TRUE(step.events.at(0).data.starts_with(R"({"class":"parent_failed",)")) << step.events.at(0).data;
}

TEST(ParentEnded, RunsAsIfDone) {
  TaskRecord record = record_in(kBlocked);
  record.task.on_parent_failure = OnParentFailure::kRun;
  EXPECT_EQ(must(record, trigger::ParentEnded{task_id(9)}), must(record, trigger::ParentDone{}));
  record.unmet_parents = 2;
  EXPECT_EQ(must(record, trigger::ParentEnded{task_id(9)}), must(record, trigger::ParentDone{}));
}

TEST(Due, GoesToTheTail) {
  const Step step = must(record_in(kScheduled), trigger::Due{});
  EXPECT_EQ(step.next.task.state, kPending);
  EXPECT_EQ(step.next.place, 0);
}

TEST(Claim, StartsARun) {
  for (const TaskState state : {kPending, kStalled}) {
    TaskRecord record = record_in(state);
    record.task.run = 4;
    record.task.attempts = 1;
    record.task.progress = Progress{50, "half"};
    record.lease_beats = 9;
    const Step step = must(record, trigger::Claim{lease_id(6), "host:2:w"});
    EXPECT_EQ(step.next.task.state, kRunning);
    EXPECT_EQ(step.next.task.run, 5);
    EXPECT_EQ(step.next.task.attempts, 2);
    EXPECT_EQ(step.next.task.started_at, kNow);
    EXPECT_EQ(step.next.task.worker_id, "host:2:w");
    EXPECT_EQ(step.next.task.progress, std::nullopt);
    EXPECT_EQ(step.next.lease, lease_id(6));
    EXPECT_EQ(step.next.lease_beats, 0);
    EXPECT_EQ(step.next.place, 42);
    EXPECT_EQ(step.events.at(0).data, R"({"worker_id":"host:2:w"})");
  }
}

TEST(Cancel, WaitingTasksEndAtOnce) {
  for (const TaskState state : {kBlocked, kScheduled, kPending, kStalled}) {
    const Step step = must(record_in(state), trigger::Cancel{"why"});
    EXPECT_EQ(step.next.task.state, kCancelled);
    EXPECT_EQ(step.next.task.cancel_reason, "why");
    EXPECT_EQ(step.next.task.cancel_requested_at, std::nullopt);
    EXPECT_EQ(step.next.task.finished_at, kNow);
    EXPECT_EQ(step.next.ended_by, std::nullopt);
    EXPECT_EQ(step.events.at(0).data, R"({"reason":"why"})");
  }
}

TEST(Cancel, RunningTasksAreAsked) {
  const TaskRecord record = record_in(kRunning);
  const Step step = must(record, trigger::Cancel{"why"});
  TaskRecord expected = record;
  expected.task.cancel_requested_at = kNow;
  expected.task.cancel_reason = "why";
  EXPECT_EQ(step.next, expected);
  EXPECT_EQ(step.events.at(0).data, R"({"reason":"why"})");
}

TEST(Cancel, TheFirstRequestStands) {
  const TaskRecord record = cancel_requested_record();
  const Step step = must(record, trigger::Cancel{"again"});
  EXPECT_EQ(step.next, record);
  EXPECT_TRUE(step.events.empty());
}

TEST(Deadline, FailsWithoutAFallback) {
  const Step step = must(record_in(kPending), trigger::Deadline{});
  EXPECT_EQ(step.next.task.state, kFailed);
  EXPECT_EQ(step.next.task.finished_at, kNow);
  EXPECT_EQ(step.next.task.error, (TaskError{ErrorClass::kDeadline, "its deadline passed"}));
  EXPECT_FALSE(step.next.task.fallback);
  EXPECT_EQ(step.result, Step::ResultWrite::kKeep);
  EXPECT_EQ(step.events.at(0).data, R"({"fallback":false})");
  EXPECT_EQ(step.run_end, std::nullopt);
}

TEST(Deadline, CompletesWithTheFallback) {
  TaskRecord record = record_in(kScheduled);
  record.task.fallback_result = R"({"sorry":true})";
  record.task.error = TaskError{ErrorClass::kAgentError, "earlier"};
  const Step step = must(record, trigger::Deadline{});
  EXPECT_EQ(step.next.task.state, kCompleted);
  EXPECT_EQ(step.next.task.result, R"({"sorry":true})");
  EXPECT_EQ(step.next.task.fallback_result, R"({"sorry":true})");
  EXPECT_EQ(step.result, Step::ResultWrite::kReplace);
  EXPECT_TRUE(step.next.task.fallback);
  EXPECT_EQ(step.next.task.error, std::nullopt);
  EXPECT_EQ(step.events.at(0).data, R"({"fallback":true})");
}

TEST(Deadline, EndsTheRunAndRevokesItsLease) {
  TaskRecord record = record_in(kRunning);
  record.task.fallback_result = "0";
  const Step step = must(record, trigger::Deadline{});
  EXPECT_EQ(step.next.task.state, kCompleted);
  EXPECT_TRUE(step.next.lease.is_none());
  EXPECT_EQ(step.next.task.worker_id, std::nullopt);
  EXPECT_EQ(step.run_end, (RunEnd{.worker_id = "host:1:w",
                                  .ended_at = kNow,
                                  .outcome = "deadline_passed",
                                  .error = TaskError{ErrorClass::kDeadline, "its deadline passed"},
                                  .revoked = true}));
}

TEST(Deadline, SaysWhomToTell) {
  ClassTable classes = default_class_table();
  classes[static_cast<std::size_t>(ErrorClass::kDeadline)].alert = true;
  DecisionContext context = kContext;
  const TypePolicy type{.classes = classes};
  context.type = &type;
  EXPECT_EQ(must(record_in(kPending), trigger::Deadline{}, context).events.at(0).data,
            R"({"fallback":false,"alert":true})");
}

// Ended after a long life: everything is set that a next generation must not see.
TaskRecord worn_record(TaskState state) {
  TaskRecord record = record_in(state);
  record.ended_by = task_id(9);
  record.cascade_due = true;
  record.unmet_parents = 5;
  Task& task = record.task;
  task.run = 6;
  task.attempts = 3;
  task.stalls = 2;
  task.defers = 1;
  task.run_at = kNow + Millis{9};
  task.started_at = kCreated + Millis{1};
  task.deadline_at = kCreated + std::chrono::hours(3);  // an earlier generation began an hour after the enqueue
  record.deadline = std::chrono::hours(2);
  task.progress = Progress{90, "almost"};
  task.cancel_requested_at = kNow;
  task.cancel_reason = "why";
  task.fallback = true;
  task.error = TaskError{ErrorClass::kAgentError, "boom"};
  task.exit_code = 1;
  task.result = "1";
  return record;
}

// Only what a new generation resets differs from `record`.
TaskRecord reopened(TaskRecord record, TaskState state, int unmet_parents) {
  record.ended_by.reset();
  record.cascade_due = false;
  record.unmet_parents = unmet_parents;
  record.place = 0;
  Task& task = record.task;
  task.state = state;
  task.generation += 1;
  task.attempts = 0;
  task.stalls = 0;
  task.defers = 0;
  task.started_at.reset();
  task.finished_at.reset();
  task.deadline_at = kNow + std::chrono::hours(2);
  task.progress.reset();
  task.cancel_requested_at.reset();
  task.cancel_reason.reset();
  task.fallback = false;
  task.error.reset();
  task.exit_code.reset();
  task.result.reset();
  return record;
}

TEST(Retry, OpensTheNextGeneration) {
  for (const TaskState state : {kFailed, kCancelled}) {
    const TaskRecord record = worn_record(state);
    const Step step = must(record, trigger::Retry{});
    TaskRecord expected = reopened(record, kPending, 0);
    expected.task.run_at.reset();
    expected.first_generation = expected.task.generation;
    EXPECT_EQ(step.next, expected);
    EXPECT_EQ(step.next.task.run, 6);  // run numbers are never used again
    EXPECT_EQ(step.result, Step::ResultWrite::kReplace);
    EXPECT_EQ(event_names(step), std::vector<std::string>{"task.retried"});
  }
}

TEST(Retry, WaitsForItsParentsAgain) {
  const Step step = must(worn_record(kFailed), trigger::Retry{2});
  EXPECT_EQ(step.next.task.state, kBlocked);
  EXPECT_EQ(step.next.unmet_parents, 2);
}

TEST(Retry, WithoutADeadlineGetsNone) {
  TaskRecord record = worn_record(kFailed);
  record.task.deadline_at.reset();
  record.deadline.reset();
  EXPECT_EQ(must(record, trigger::Retry{}).next.task.deadline_at, std::nullopt);
}

TEST(ParentRetried, RevivesWhatThatParentsEndHadEnded) {
  for (const TaskState state : {kFailed, kCancelled}) {
    const TaskRecord record = worn_record(state);
    const Step step = must(record, trigger::ParentRetried{1});
    EXPECT_EQ(step.next, reopened(record, kBlocked, 1));
    EXPECT_EQ(step.result, Step::ResultWrite::kReplace);
    EXPECT_EQ(event_names(step), std::vector<std::string>{"task.revived"});
  }
}

TEST(ParentRetried, WithNothingToWaitForGoesOnAsAtEnqueue) {
  TaskRecord record = worn_record(kCancelled);
  EXPECT_EQ(must(record, trigger::ParentRetried{0}).next.task.state, kScheduled);
  record.task.run_at = kNow;
  EXPECT_EQ(must(record, trigger::ParentRetried{0}).next.task.state, kPending);
}

TEST(ParentRetried, LeavesAloneWhatEndedByItself) {
  EXPECT_EQ(refused(record_in(kFailed), trigger::ParentRetried{1}).code, ErrorCode::kWrongState);
  EXPECT_EQ(refused(record_in(kCancelled), trigger::ParentRetried{1}).code, ErrorCode::kWrongState);
}

TEST(ParentRetried, ABlockedTaskWaitsForIt) {
  const TaskRecord record = record_in(kBlocked);
  const Step step = must(record, trigger::ParentRetried{3});
  TaskRecord expected = record;
  expected.unmet_parents = 3;
  EXPECT_EQ(step.next, expected);
  EXPECT_TRUE(step.events.empty());
  EXPECT_EQ(step.result, Step::ResultWrite::kKeep);
  // Nothing is left to wait for: it must not be stuck.
  EXPECT_EQ(must(record, trigger::ParentRetried{0}), must(record, trigger::ParentDone{}));
}

}  // namespace
}  // namespace drover
