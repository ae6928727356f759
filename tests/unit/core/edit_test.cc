// What may still change of a task that waits.
#include "records.h"

namespace drover {
namespace {

using namespace drover::testing;
using enum TaskState;

TEST(Edit, AnotherPriorityGoesToTheTail) {
  const TaskRecord record = record_in(kPending);
  const Step step = must(record, trigger::Edit{.priority = 1});
  TaskRecord expected = record;
  expected.task.priority = 1;
  expected.place = 0;
  EXPECT_EQ(step.next, expected);
  EXPECT_EQ(step.expected_revision, record.revision);
  EXPECT_EQ(step.events.at(0).data, R"({"priority":1})");
}

TEST(Edit, WhatIsSoAlreadyChangesNothing) {
  for (const TaskState state : {kBlocked, kScheduled, kPending, kStalled}) {
    const TaskRecord record = record_in(state);
    const Task& task = record.task;
    const Step step = must(
        record,
        trigger::Edit{.priority = task.priority, .run_at = task.run_at, .payload = task.payload, .tags = task.tags});
    EXPECT_TRUE(step.events.empty()) << name_of(state);
    EXPECT_EQ(step.next, record) << name_of(state);
  }
}

TEST(Edit, ATimeAheadMakesItWait) {
  const Time later = kNow + Millis{5};
  for (const TaskState state : {kScheduled, kPending, kStalled}) {
    const Step step = must(record_in(state), trigger::Edit{.run_at = later});
    EXPECT_EQ(step.next.task.state, kScheduled) << name_of(state);
    EXPECT_EQ(step.next.task.run_at, later);
    EXPECT_EQ(step.events.at(0).data, R"({"run_at":"2027-01-15T08:10:00.005Z"})");
  }
  EXPECT_EQ(must(record_in(kBlocked), trigger::Edit{.run_at = later}).next.task.state, kBlocked);
}

TEST(Edit, ATimeThatHasComeMakesItReadyAtTheTail) {
  TaskRecord record = record_in(kScheduled);
  record.task.run_at = kNow + Millis{5};
  const Step step = must(record, trigger::Edit{.run_at = kNow});
  EXPECT_EQ(step.next.task.state, kPending);
  EXPECT_EQ(step.next.place, 0);
  // What is ready keeps its place, and what stalled stays first.
  for (const TaskState state : {kPending, kStalled}) {
    const Step stays = must(record_in(state), trigger::Edit{.run_at = kNow});
    EXPECT_EQ(stays.next.task.state, state);
    EXPECT_EQ(stays.next.place, record_in(state).place);
  }
}

TEST(Edit, ReplacesPayloadAndTags) {
  const TaskRecord record = record_in(kPending);
  const Step step = must(record, trigger::Edit{.payload = "[1]", .tags = std::vector<std::string>{"z"}});
  EXPECT_EQ(step.next.task.payload, "[1]");
  EXPECT_EQ(step.next.task.tags, std::vector<std::string>{"z"});
  EXPECT_EQ(step.payload, Step::PayloadWrite::kReplace);
  EXPECT_EQ(step.tags, Step::TagsWrite::kReplace);
  EXPECT_EQ(step.next.place, record.place);
  EXPECT_EQ(step.events.at(0).data, R"({"payload":true,"tags":true})");
  EXPECT_EQ(must(record, trigger::Edit{.payload = "[1]"}).tags, Step::TagsWrite::kKeep);
}

}  // namespace
}  // namespace drover
