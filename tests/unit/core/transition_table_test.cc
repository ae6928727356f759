// Every cell of state × trigger, against a table that was written from DESIGN's life of a task, not from the code.
#include <map>

#include "records.h"

namespace drover {
namespace {

using namespace drover::testing;
using enum TaskState;

// Where one trigger leads, by state; what is missing is refused.
struct Row {
  std::string name;
  Trigger trigger;
  std::map<TaskState, TaskState> leads_to;
  std::string event;
  // When another kind of record is needed than record_in() gives.
  TaskRecord (*record)(TaskState) = record_in;
};

TaskRecord requested(TaskState state) {
  return state == kRunning ? cancel_requested_record() : record_in(state);
}

TaskRecord ended_by_parent(TaskState state) {
  return state == kFailed || state == kCancelled ? record_ended_by_parent(state) : record_in(state);
}

std::vector<Row> table() {
  return {
      {"parent_done", trigger::ParentDone{}, {{kBlocked, kPending}}, "task.unblocked"},
      {"parent_ended", trigger::ParentEnded{task_id(9)}, {{kBlocked, kCancelled}}, "task.cancelled"},
      {"due", trigger::Due{}, {{kScheduled, kPending}}, "task.due"},
      {"claim", trigger::Claim{lease_id(6), "host:2:w"}, {{kPending, kRunning}, {kStalled, kRunning}}, "task.claimed"},
      {"report", trigger::Report{}, {{kRunning, kRunning}}, ""},
      {"complete", trigger::Complete{{.result = "1"}}, {{kRunning, kCompleted}}, "task.completed"},
      {"fail", failure(ErrorClass::kAgentError), {{kRunning, kScheduled}}, "task.retrying"},
      {"release", trigger::Release{}, {{kRunning, kPending}}, "task.released"},
      {"suspend", trigger::Suspend{.unmet_parents = 1}, {{kRunning, kBlocked}}, "task.suspended"},
      {"confirm_cancel", trigger::ConfirmCancel{}, {{kRunning, kCancelled}}, "task.cancelled", requested},
      {"lease_lost", trigger::LeaseLost{}, {{kRunning, kStalled}}, "task.stalled"},
      // A running one has another event: see below.
      {"cancel",
       trigger::Cancel{"why"},
       {{kBlocked, kCancelled},
        {kScheduled, kCancelled},
        {kPending, kCancelled},
        {kStalled, kCancelled},
        {kRunning, kRunning}},
       "task.cancelled"},
      {"deadline",
       trigger::Deadline{},
       {{kBlocked, kFailed}, {kScheduled, kFailed}, {kPending, kFailed}, {kRunning, kFailed}, {kStalled, kFailed}},
       "task.deadline_passed"},
      {"edit",
       trigger::Edit{.priority = 1},
       {{kBlocked, kBlocked}, {kScheduled, kScheduled}, {kPending, kPending}, {kStalled, kStalled}},
       "task.updated"},
      {"retry", trigger::Retry{}, {{kFailed, kPending}, {kCancelled, kPending}}, "task.retried"},
      // A blocked one has no event: see below.
      {"parent_retried",
       trigger::ParentRetried{1},
       {{kBlocked, kBlocked}, {kFailed, kBlocked}, {kCancelled, kBlocked}},
       "task.revived",
       ended_by_parent},
      {"ask", trigger::Ask{{.name = "question.asked"}}, {{kRunning, kRunning}}, "question.asked"},
      // A blocked one has another event behind it: see below.
      {"question_closed",
       trigger::QuestionClosed{.event = {.name = "question.answered"}},
       {{kBlocked, kPending},
        {kScheduled, kScheduled},
        {kPending, kPending},
        {kRunning, kRunning},
        {kStalled, kStalled}},
       "question.answered"},
      {"escalate", trigger::Escalate{{.to = "ada"}}, {{kFailed, kFailed}}, "task.escalated"},
      {"delete",
       trigger::Delete{},
       {{kCompleted, kCompleted}, {kFailed, kFailed}, {kCancelled, kCancelled}},
       "task.deleted"},
  };
}

std::vector<std::string> expected_events(const Row& row, TaskState state) {
  if (row.name == "cancel" && state == kRunning) return {"task.cancel_requested"};
  if (row.name == "question_closed" && state == kBlocked) return {row.event, "task.unblocked"};
  if (row.event.empty() || (row.name == "parent_retried" && state == kBlocked)) return {};
  return {row.event};
}

TEST(TransitionTable, HasEveryCell) {
  const auto rows = table();
  ASSERT_EQ(rows.size(), static_cast<std::size_t>(kTriggerCount));
  ASSERT_EQ(kAllStates.size(), static_cast<std::size_t>(kTaskStateCount));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].trigger.index(), i);
    EXPECT_EQ(name_of(rows[i].trigger), rows[i].name);
  }
}

TEST(TransitionTable, DecidesEveryCell) {
  for (const Row& row : table()) {
    for (const TaskState state : kAllStates) {
      SCOPED_TRACE(row.name + " on " + std::string(name_of(state)));
      const TaskRecord record = row.record(state);
      const auto step = decide(record, row.trigger, kContext);
      const auto leads_to = row.leads_to.find(state);
      if (leads_to == row.leads_to.end()) {
        ASSERT_FALSE(step);
        EXPECT_EQ(step.error().code, ErrorCode::kWrongState);
        EXPECT_NE(step.error().message.find(record.task.id.to_string()), std::string::npos);
      } else {
        ASSERT_TRUE(step);
        EXPECT_EQ(name_of(step->next.task.state), name_of(leads_to->second));
        EXPECT_EQ(event_names(*step), expected_events(row, state));
      }
    }
  }
}

// The published table and the decision agree: a cell is kRefuse exactly when it is refused.
TEST(TransitionTable, IsTheDataOfTheDecision) {
  const auto rows = table();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const TaskState state : kAllStates) {
      const bool refused = transition_table()[i][static_cast<std::size_t>(state)] == Rule::kRefuse;
      EXPECT_EQ(refused, !rows[i].leads_to.contains(state)) << rows[i].name << " on " << name_of(state);
    }
  }
}

// What no rule may forget, over every accepted cell.
TEST(TransitionTable, EveryStepKeepsTheInvariants) {
  for (const Row& row : table()) {
    for (const auto& [state, next_state] : row.leads_to) {
      SCOPED_TRACE(row.name + " on " + std::string(name_of(state)));
      const TaskRecord record = row.record(state);
      const Step step = must(record, row.trigger);
      const Task& task = step.next.task;
      EXPECT_EQ(step.expected_revision, record.revision);
      EXPECT_EQ(is_terminal(task.state), task.finished_at.has_value());
      EXPECT_EQ(task.state == kRunning, !step.next.lease.is_none());
      EXPECT_EQ(task.state == kRunning, task.worker_id.has_value());
      EXPECT_EQ(step.run_end.has_value(), state == kRunning && next_state != kRunning);
      if (step.run_end) {
        EXPECT_EQ(step.run_end->ended_at, kNow);
        EXPECT_EQ("task." + step.run_end->outcome, step.events.at(0).name);
      }
      EXPECT_EQ(task.payload, record.task.payload);
      EXPECT_EQ(task.prompt, record.task.prompt);
      EXPECT_EQ(task.system_prompt, record.task.system_prompt);
      EXPECT_EQ(task.checkpoint, record.task.checkpoint);
      EXPECT_EQ(task.depends_on, record.task.depends_on);
      EXPECT_EQ(task.tags, record.task.tags);
      EXPECT_EQ(task.id, record.task.id);
      EXPECT_EQ(task.created_at, record.task.created_at);
      EXPECT_EQ(step.next.dependents, record.dependents);
      EXPECT_EQ(step.next.children, record.children);
      EXPECT_EQ(step.next.depth, record.depth);
      EXPECT_EQ(step.next.request_hash, record.request_hash);
    }
  }
}

TEST(TransitionTable, IsPure) {
  for (const Row& row : table()) {
    for (const auto& [state, next_state] : row.leads_to) {
      const TaskRecord record = row.record(state);
      EXPECT_EQ(must(record, row.trigger), must(record, row.trigger)) << row.name << " on " << name_of(state);
    }
  }
}

TEST(TransitionTable, RefusesRetryOfACompletedTaskInItsOwnWords) {
  const Error error = refused(record_in(kCompleted), trigger::Retry{});
  EXPECT_EQ(error.code, ErrorCode::kWrongState);
  EXPECT_TRUE(error.message.starts_with("a completed task is final")) << error.message;
  EXPECT_EQ(refused(record_in(kPending), trigger::Retry{}).message,
            "task 00000000-0000-0000-0000-000000000001 is pending: retry does not apply");
}

}  // namespace
}  // namespace drover
