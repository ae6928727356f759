// What a dump says of a task is all there is to it.
#include "core/dump.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

TaskId id_of(char last) {
  return TaskId::parse(std::string("0193300d-2b6b-7c4f-8a1e-00ff10ab5c9") + last).value_or(TaskId());
}

// Every field at something else than its default, but for what means nothing outside its store.
DumpedTask odd_task() {
  DumpedTask dumped;
  TaskRecord& record = dumped.record;
  Task& task = record.task;
  task.id = id_of('1');
  task.type = "t";
  task.queue = "q";
  task.owner = "o";
  task.state = TaskState::kFailed;
  task.priority = 3;
  task.payload = R"({"a":"\u00e9","n":1e400})";
  task.prompt = "p\n";
  task.system_prompt = "";
  task.model = "m";
  task.agent_id = "a";
  task.source = "s";
  task.traceparent = "tp";
  task.fallback_result = "null";
  task.checkpoint = "[0.10]";
  task.result = R"("r")";
  task.tags = {"x", "y"};
  task.depends_on = {id_of('2')};
  task.parent_id = id_of('3');
  task.request_id = "r";
  task.dedupe_key = "k";
  task.dedupe = DedupeMode::kMerge;
  task.gates = {"provider:p", "lock:l"};
  task.cost = 7;
  task.run_at = Time(Millis{11});
  task.created_at = Time(Millis{12});
  task.started_at = Time(Millis{13});
  task.finished_at = Time(Millis{14});
  task.deadline_at = Time(Millis{15});
  task.run = 4;
  task.attempts = 2;
  task.max_attempts = 9;
  task.stalls = 1;
  task.max_stalls = 8;
  task.defers = 5;
  task.max_defers = 6;
  task.generation = 2;
  task.retry = {.kind = RetryPolicy::Kind::kFixed, .base = Millis{77}};
  task.retry = *parse_retry_policy(to_string(task.retry));
  task.timeout = Millis{16};
  task.idle_timeout = Millis{17};
  task.on_parent_failure = OnParentFailure::kRun;
  task.at_most_once = true;
  task.progress = Progress{40, "so far"};
  task.worker_id = "h:1:w";
  task.cancel_requested_at = Time(Millis{18});
  task.cancel_reason = "why";
  task.fallback = true;
  task.error = TaskError{ErrorClass::kLost, "gone"};
  task.exit_code = 3;
  task.escalation = Escalation{.to = "ada", .by = "bob", .why = "look", .at = Time(Millis(7))};
  record.place = 19;
  record.unmet_parents = 1;
  record.dependents = 2;
  record.children = 3;
  record.depth = 4;
  record.ended_by = id_of('2');
  record.cascade_due = true;
  record.deadline_span = Millis{20};
  record.request_hash = "h";
  dumped.runs = {{.run = 3,
                  .generation = 2,
                  .worker_id = "w",
                  .started_at = Time(Millis{1}),
                  .ended_at = Time(Millis{2}),
                  .outcome = "failed",
                  .error = TaskError{ErrorClass::kOom, "m"},
                  .exit_code = 9,
                  .note = "n"}};
  dumped.log = {{.seq = 5, .run = 3, .at = Time(Millis{3}), .stream = LogStream::kErr, .text = "t\n"}};
  dumped.left_out = {{3, 1'000}};
  return dumped;
}

std::string refusal(JsonText text, std::string_view part, std::string_view other) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  text.replace(at, part.size(), other);
  const auto read = task_from_dump(text);
  return read ? "taken" : read.error().message;
}

TEST(DumpTest, ATaskComesBackWhole) {
  const DumpedTask task = odd_task();
  const auto read = task_from_dump(to_dump(task));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->record, task.record);
  EXPECT_EQ(read->runs, task.runs);
  ASSERT_EQ(read->log.size(), 1u);
  EXPECT_EQ(read->log[0].text, "t\n");
  EXPECT_EQ(read->log[0].stream, LogStream::kErr);
  EXPECT_EQ(read->left_out, task.left_out);
  EXPECT_EQ(to_dump(*read), to_dump(task));
}

TEST(DumpTest, WhatIsWrongIsRefused) {
  const JsonText good = to_dump(odd_task());
  EXPECT_NE(refusal(good, R"("queue":"q")", R"("queue":"a|b")"), "taken");
  EXPECT_EQ(refusal(good, R"("queue":"q",)", ""), "queue is missing");
  EXPECT_EQ(refusal(good, R"("queue":"q")", R"("queue":7)"), "queue is not what it should be");
  EXPECT_EQ(refusal(good, R"("queue":"q")", R"("queue":"q","cow":1)"),
            "there is a member that this version does not know");
  EXPECT_EQ(refusal(good, R"("[0.10]")", R"("[0.10")"), "checkpoint is no compact JSON");
  EXPECT_EQ(refusal(good, R"("priority":3)", R"("priority":10)").substr(0, 8), "priority");
  EXPECT_EQ(refusal(good, R"("state":"failed")", R"("state":"pending")"),
            "a task has finished_at when it has ended, and only then");
  EXPECT_EQ(refusal(good, R"("outcome":"failed",)", ""), "runs: outcome is missing");
}

TEST(DumpTest, EventsComeBack) {
  const Event of_task{.seq = 3,
                      .at = Time(Millis{4}),
                      .name = "task.failed",
                      .task = id_of('1'),
                      .type = "t",
                      .queue = "q",
                      .owner = "o",
                      .state = TaskState::kFailed,
                      .run = 2,
                      .generation = 1,
                      .data = R"({"a":"|\n"})"};
  EXPECT_EQ(event_from_dump(to_dump(of_task)), of_task);
  const Event of_gate{.seq = 4, .at = Time(Millis{5}), .name = "gate.closed", .data = "{}"};
  EXPECT_EQ(event_from_dump(to_dump(of_gate)), of_gate);
}

}  // namespace
}  // namespace drover
