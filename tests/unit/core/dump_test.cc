// What a dump says of a task is all there is to it.
#include "core/dump.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "support/other_value.h"

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
  task.repo = "r";
  task.base = "b";
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
  task.usage = R"({"turns":3})";
  task.agent = R"({"preset":"claude"})";
  task.next = R"({"session":"resume"})";
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
  record.deadline = Millis{20};
  record.request_hash = "h";
  record.run_usage = R"({"turns":1})";
  record.ended_usage = R"({"turns":2})";
  dumped.runs = {{.run = 3,
                  .generation = 2,
                  .worker_id = "w",
                  .started_at = Time(Millis{1}),
                  .ended_at = Time(Millis{2}),
                  .outcome = "failed",
                  .error = TaskError{ErrorClass::kOom, "m"},
                  .exit_code = 9,
                  .note = "n",
                  .usage = R"({"turns":1})",
                  .change = R"({"session":"fresh"})",
                  .evidence = R"({"exit_code":0})"}};
  dumped.log = {{.seq = 5, .run = 3, .at = Time(Millis{3}), .stream = LogStream::kErr, .text = "t\n"}};
  dumped.left_out = {{3, 1'000}};
  return dumped;
}

// Nothing but what every task has.
DumpedTask dump_bare_task() {
  DumpedTask dumped;
  Task& task = dumped.record.task;
  task.id = id_of('1');
  task.type = "t";
  task.queue = "q";
  task.owner = "o";
  task.state = TaskState::kPending;
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
  EXPECT_EQ(refusal(good, R"("queue":"q")", R"("queue":7)"), "queue has an invalid value");
  EXPECT_EQ(refusal(good, R"("queue":"q")", R"("queue":"q","cow":1)"),
            "it has a member that this version does not know");
  EXPECT_EQ(refusal(good, R"("[0.10]")", R"("[0.10")"), "checkpoint: expected compact JSON");
  EXPECT_EQ(refusal(good, R"("priority":3)", R"("priority":10)").substr(0, 8), "priority");
  EXPECT_EQ(refusal(good, R"("state":"failed")", R"("state":"pending")"),
            "a task has finished_at when it has ended, and only then");
  EXPECT_EQ(refusal(good, R"("outcome":"failed",)", ""), "runs: outcome is missing");
}

TEST(DumpTest, NobodyHasUsedLessThanNothing) {
  const JsonText good = to_dump(odd_task());
  EXPECT_EQ(refusal(good, R"({\"turns\":3})", R"({\"turns\":-3})"), "usage: turns: a count is not negative");
  EXPECT_EQ(refusal(good, R"({\"turns\":2})", R"({\"turns\":-2})"), "ended_usage: turns: a count is not negative");
  EXPECT_EQ(refusal(good, R"("run_usage":"{\"turns\":1}")", R"("run_usage":"{\"turns\":-1}")"),
            "run_usage: turns: a count is not negative");
  EXPECT_EQ(refusal(good, R"("usage":"{\"turns\":1}")", R"("usage":"{\"turns\":-1}")"),
            "turns: a count is not negative");
}

TEST(DumpTest, EveryFieldComesBack) {
  visit_task_fields([](auto field) {
    // A state has to fit what else is said; JSON has to be JSON, and usage an object.
    if constexpr (field.kIs.dumped && !field.template is<&Task::state, &Task::finished_at>()) {
      DumpedTask task = dump_bare_task();
      test::make_other(field, task.record);
      if constexpr (field.template is<&Task::usage, &TaskRecord::run_usage, &TaskRecord::ended_usage>()) {
        field.of(task.record) = R"({"turns":1})";
      }
      const auto read = task_from_dump(to_dump(task));
      ASSERT_TRUE(read.has_value()) << field.name() << ": " << read.error().message;
      EXPECT_EQ(read->record, task.record) << field.name();
    }
  });
}

TEST(DumpTest, AnExitCodeBelowZeroAndADeadlineThatHadPassedComeBack) {
  DumpedTask task = odd_task();
  task.record.task.exit_code = -1;
  task.record.deadline = Millis{-5};
  const auto read = task_from_dump(to_dump(task));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->record, task.record);
}

TEST(DumpTest, ABareTaskComesBackWhole) {
  const DumpedTask task = dump_bare_task();
  const auto read = task_from_dump(to_dump(task));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->record, task.record);
  EXPECT_TRUE(read->runs.empty());
  EXPECT_TRUE(read->log.empty());
  EXPECT_TRUE(read->left_out.empty());
}

// A replacement that one member cannot stand, for each way of reading a value.
TEST(DumpTest, AValueOfTheWrongKindOrRangeIsRefused) {
  struct Case {
    std::string_view member;
    std::string_view good;
    std::vector<std::string_view> bad;
  };
  const std::vector<Case> cases{
      {"place", "19", {R"("19")", "1.5"}},
      {"cost", "7", {R"("7")"}},
      {"attempts", "2", {R"("2")", "-1", "2147483648"}},
      {"at_most_once", "true", {"1"}},
      {"created_at", "12", {R"("12")"}},
      {"idle_timeout_ms", "17", {R"("17")", "-1"}},
      {"state", R"("failed")", {"3", R"("broken")"}},
      {"dedupe", R"("merge")", {"3", R"("mix")"}},
      {"on_parent_failure", R"("run")", {"3", R"("walk")"}},
      {"parent_id", R"("0193300d-2b6b-7c4f-8a1e-00ff10ab5c93")", {"3", R"("0193300d")"}},
      {"tags", R"(["x","y"])", {R"(["x",1])"}},
      {"error", R"(["lost","gone"])", {R"("gone")", R"(["lost"])", R"(["found","gone"])", R"(["lost",1])"}},
      {"progress", R"([40,"so far"])", {"40", R"(["40","so far"])", "[40,1]"}},
      {"escalation",
       R"(["ada","bob","look",7])",
       {R"("ada")", R"(["ada","bob","look"])", R"([1,"bob","look",7])", R"(["ada",1,"look",7])", R"(["ada","bob",1,7])",
        R"(["ada","bob","look","7"])"}},
  };
  const JsonText good = to_dump(odd_task());
  for (const auto& [member, value, bad] : cases) {
    const auto said = [&member](std::string_view text) { return fmt::format(R"("{}":{})", member, text); };
    for (const std::string_view other : bad) {
      EXPECT_EQ(refusal(good, said(value), said(other)), fmt::format("{} has an invalid value", member)) << other;
    }
  }
}

TEST(DumpTest, ThePastOfATaskIsReadAsStrictly) {
  const JsonText good = to_dump(odd_task());
  for (const std::string_view stream : {"-1", "4", R"("err")"}) {
    EXPECT_EQ(refusal(good, R"("stream":1)", fmt::format(R"("stream":{})", stream)),
              "log: stream has an invalid value");
  }
  for (const std::string_view entry : {"3", "[3]", R"(["3",1000])", R"([3,"1000"])"}) {
    EXPECT_EQ(refusal(good, "[[3,1000]]", fmt::format("[{}]", entry)), "left_out has an invalid value") << entry;
  }
  EXPECT_EQ(refusal(good, R"("left_out":[[3,1000]])", R"("left_out":3)"), "left_out is not a list");
  EXPECT_EQ(refusal(good, R"(,"left_out":[[3,1000]])", ""), "left_out is not a list");

  const JsonText bare = to_dump(dump_bare_task());
  EXPECT_EQ(refusal(bare, R"("runs":[])", R"("runs":{})"), "runs is not a list");
  EXPECT_EQ(refusal(bare, R"("runs":[],)", ""), "runs is not a list");
  EXPECT_EQ(refusal(bare, R"("runs":[])", R"("runs":[1])"), "runs: expected an object");
  EXPECT_EQ(refusal(bare, R"("log":[])", R"("log":null)"), "log is not a list");
}

TEST(DumpTest, OnlyTheFirstProblemIsTold) {
  const JsonText good = to_dump(odd_task());
  EXPECT_EQ(refusal(good, R"("type":"t","queue":"q",)", ""), "type is missing");
  EXPECT_EQ(refusal(good, R"("tags":["x","y"])", R"("tags":"x")"), "tags is not a list");
}

template <class T>
std::string dump_error(const Result<T>& read) {
  return read ? "taken" : to_string(read.error());
}

TEST(DumpTest, ALineOfAnotherFormIsRefused) {
  EXPECT_TRUE(dump_error(task_from_dump("{")).starts_with("invalid_json: "));
  EXPECT_EQ(dump_error(task_from_dump("{}")), "invalid_argument: record is missing");
  EXPECT_EQ(dump_error(task_from_dump("[]")), "invalid_argument: record is missing");
  EXPECT_EQ(dump_error(task_from_dump(R"({"record":[]})")), "invalid_argument: expected an object");

  EXPECT_TRUE(dump_error(event_from_dump("{")).starts_with("invalid_json: "));
  EXPECT_EQ(dump_error(event_from_dump("{}")), "invalid_argument: seq is missing");
  EXPECT_EQ(dump_error(event_from_dump("[]")), "invalid_argument: expected an object");
}

// Whatever a store takes for granted of the tasks that it holds.
TEST(DumpTest, ATaskThatNoStoreCouldHoldIsRefused) {
  constexpr std::string_view kRunning = "a running task has a worker and a time of its start";
  struct Case {
    std::string_view what;
    std::function<void(Task&)> change;
    std::string_view refusal;  // how it begins
  };
  const std::vector<Case> cases{
      {"tag", [](Task& task) { task.tags = {"a b"}; }, "tags: expected 1 to 128 letters"},
      {"request_id", [](Task& task) { task.request_id = "a b"; }, "request_id: expected 1 to 128 letters"},
      {"dedupe_key", [](Task& task) { task.dedupe_key = "a b"; }, "dedupe_key: expected 1 to 128 letters"},
      {"gate", [](Task& task) { task.gates = {"a b"}; }, R"(gates: "a b" is not a gate)"},
      {"cost", [](Task& task) { task.cost = 0; }, "cost: "},
      {"worker_id", [](Task& task) { task.worker_id = "a b"; }, "worker_id: expected 1 to 128 letters"},
      {"scheduled", [](Task& task) { task.state = TaskState::kScheduled; }, "a scheduled task has run_at"},
      {"running, unstarted",
       [](Task& task) {
         task.state = TaskState::kRunning;
         task.worker_id = "w";
       },
       kRunning},
      {"running, by nobody",
       [](Task& task) {
         task.state = TaskState::kRunning;
         task.started_at = Time(Millis{1});
       },
       kRunning},
  };
  for (const Case& wrong : cases) {
    DumpedTask task = dump_bare_task();
    wrong.change(task.record.task);
    const std::string error = dump_error(task_from_dump(to_dump(task)));
    EXPECT_TRUE(error.starts_with(fmt::format("invalid_argument: {}", wrong.refusal))) << wrong.what << ": " << error;
  }
}

TEST(DumpTest, TasksThatRunOrWaitForTheirTimeComeBack) {
  DumpedTask running = dump_bare_task();
  running.record.task.state = TaskState::kRunning;
  running.record.task.worker_id = "w";
  running.record.task.started_at = Time(Millis{1});
  DumpedTask scheduled = dump_bare_task();
  scheduled.record.task.state = TaskState::kScheduled;
  scheduled.record.task.run_at = Time(Millis{2});
  for (const DumpedTask& task : {running, scheduled}) {
    const auto read = task_from_dump(to_dump(task));
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(read->record, task.record);
  }
}

Event dump_event_of_task() {
  return {.seq = 3,
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
}

TEST(DumpTest, EventsComeBack) {
  const Event of_task = dump_event_of_task();
  EXPECT_EQ(event_from_dump(to_dump(of_task)), of_task);
  const Event of_gate{.seq = 4, .at = Time(Millis{5}), .name = "gate.closed", .data = "{}"};
  EXPECT_EQ(event_from_dump(to_dump(of_gate)), of_gate);
}

TEST(DumpTest, AWrongEventIsRefused) {
  constexpr std::string_view kNoName = "an event's name, type, queue or owner is not a name";
  struct Case {
    std::function<void(Event&)> change;
    std::string_view refusal;
  };
  const std::vector<Case> cases{
      {[](Event& event) { event.data = "{"; }, "data: expected compact JSON"},
      {[](Event& event) { event.name = ""; }, kNoName},
      {[](Event& event) { event.name = "a b"; }, kNoName},
      {[](Event& event) { event.type = "a b"; }, kNoName},
      {[](Event& event) { event.queue = "a b"; }, kNoName},
      {[](Event& event) { event.owner = "a b"; }, kNoName},
  };
  for (const auto& [change, refusal] : cases) {
    Event event = dump_event_of_task();
    change(event);
    const JsonText line = to_dump(event);
    EXPECT_EQ(dump_error(event_from_dump(line)), fmt::format("invalid_argument: {}", refusal)) << line;
  }
}

}  // namespace
}  // namespace drover
