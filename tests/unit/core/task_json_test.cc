#include "core/task_json.h"

#include "records.h"

namespace drover {
namespace {

using namespace drover::testing;

// The field list of the design, in its order.
constexpr std::string_view kDesignKeys[] = {"id",
                                            "type",
                                            "queue",
                                            "owner",
                                            "state",
                                            "priority",
                                            "payload",
                                            "prompt",
                                            "system_prompt",
                                            "model",
                                            "repo",
                                            "base",
                                            "agent_id",
                                            "source",
                                            "tags",
                                            "parent_id",
                                            "depends_on",
                                            "ref",
                                            "request_id",
                                            "dedupe_key",
                                            "locks",
                                            "session",
                                            "run_at",
                                            "created_at",
                                            "started_at",
                                            "finished_at",
                                            "run",
                                            "attempts",
                                            "max_attempts",
                                            "stalls",
                                            "defers",
                                            "suspends",
                                            "open_questions",
                                            "retry",
                                            "timeout_ms",
                                            "idle_timeout_ms",
                                            "deadline_at",
                                            "max_stalls",
                                            "max_defers",
                                            "max_suspends",
                                            "on_parent_failure",
                                            "at_most_once",
                                            "templates",
                                            "fallback_result",
                                            "bootstrap",
                                            "budget",
                                            "checkpoint",
                                            "generation",
                                            "dedupe",
                                            "gates",
                                            "cost",
                                            "progress",
                                            "worker_id",
                                            "cancel_requested_at",
                                            "result",
                                            "fallback",
                                            "error",
                                            "exit_code",
                                            "escalation",
                                            "usage",
                                            "cancel_reason",
                                            "agent",
                                            "next",
                                            "traceparent"};

Task full_task() {
  Task task = new_record().task;
  task.id = *TaskId::parse("01926f3e-7c00-7000-8000-000000000001");
  task.state = TaskState::kRunning;
  task.priority = 2;
  task.run_at = kCreated + Millis{1};
  task.started_at = kCreated + Millis{2};
  task.finished_at = kCreated + Millis{3};
  task.deadline_at = kCreated + Millis{4};
  task.cancel_requested_at = kCreated + Millis{5};
  task.run = 4;
  task.attempts = 2;
  task.stalls = 1;
  task.defers = 1;
  task.at_most_once = true;
  task.fallback_result = "[1.50]";
  task.progress = Progress{40, "half \"way\""};
  task.worker_id = "h:1:u";
  task.result = R"({"b":1,"a":2})";
  task.fallback = true;
  task.error = TaskError{ErrorClass::kTimeout, "too slow"};
  task.exit_code = -9;
  task.escalation = Escalation{.to = "ada", .by = "bob@box", .why = "look", .at = kCreated + Millis{6}};
  task.cancel_reason = "enough";
  task.usage = R"({"turns":3})";
  task.agent = R"({"preset":"claude"})";
  task.next = R"({"session":"resume"})";
  task.dedupe_key = "k";
  task.dedupe = DedupeMode::kKeepLatest;
  task.gates = {"provider:p", "lock:a"};
  task.cost = 7;
  return task;
}

TEST(TaskJson, HasTheFieldsOfTheDesignInTheirOrder) {
  for (const Task& task : {Task{}, full_task()}) {
    const auto value = json::parse(to_json(task));
    ASSERT_TRUE(value);
    const json::Value::Object& members = *value->as_object();
    ASSERT_EQ(members.size(), std::size(kDesignKeys));
    for (std::size_t i = 0; i < members.size(); ++i) EXPECT_EQ(members[i].first, kDesignKeys[i]);
  }
}

TEST(TaskJson, GoldenEmpty) {
  Task task;
  task.id = *TaskId::parse("01926f3e-7c00-7000-8000-000000000001");
  task.type = "eng";
  task.queue = "eng";
  task.owner = "default";
  task.created_at = kCreated;
  EXPECT_EQ(
      to_json(task),
      R"({"id":"01926f3e-7c00-7000-8000-000000000001","type":"eng","queue":"eng","owner":"default","state":"pending",)"
      R"("priority":5,"payload":null,"prompt":null,"system_prompt":null,"model":null,"repo":null,"base":null,"agent_id":null,"source":null,)"
      R"("tags":[],"parent_id":null,"depends_on":[],"ref":null,"request_id":null,"dedupe_key":null,"locks":[],"session":null,"run_at":null,)"
      R"("created_at":"2027-01-15T08:00:00.000Z","started_at":null,"finished_at":null,"run":0,"attempts":0,)"
      R"("max_attempts":3,"stalls":0,"defers":0,"suspends":0,"open_questions":0,"retry":"exponential:1s,2,300s","timeout_ms":3600000,)"
      R"("idle_timeout_ms":600000,"deadline_at":null,"max_stalls":3,"max_defers":100,"max_suspends":20,"on_parent_failure":"cancel",)"
      R"("at_most_once":false,"templates":false,"fallback_result":null,"bootstrap":null,"budget":null,"checkpoint":null,"generation":1,"dedupe":null,)"
      R"("gates":["all","queue:eng","type:eng","owner:default"],"cost":1,"progress":null,"worker_id":null,"cancel_requested_at":null,"result":null,"fallback":false,)"
      R"("error":null,"exit_code":null,"escalation":null,"usage":null,"cancel_reason":null,"agent":null,"next":null,"traceparent":null})");
}

TEST(TaskJson, GoldenFull) {
  EXPECT_EQ(
      to_json(full_task()),
      R"({"id":"01926f3e-7c00-7000-8000-000000000001","type":"eng","queue":"q","owner":"o","state":"running",)"
      R"("priority":2,"payload":{"a":0.10},"prompt":"p","system_prompt":"s","model":"m","repo":"site","base":"main","agent_id":"agent",)"
      R"("source":"src","tags":["x","y"],"parent_id":"00000000-0000-0000-0000-000000000002",)"
      R"("depends_on":["00000000-0000-0000-0000-000000000008","00000000-0000-0000-0000-000000000009"],)"
      R"("ref":null,"request_id":"r","dedupe_key":"k","locks":["a"],"session":null,"run_at":"2027-01-15T08:00:00.001Z",)"
      R"("created_at":"2027-01-15T08:00:00.000Z","started_at":"2027-01-15T08:00:00.002Z",)"
      R"("finished_at":"2027-01-15T08:00:00.003Z","run":4,"attempts":2,"max_attempts":3,"stalls":1,"defers":1,"suspends":0,"open_questions":0,)"
      R"("retry":"exponential:1s,2,300s","timeout_ms":3600000,"idle_timeout_ms":600000,)"
      R"("deadline_at":"2027-01-15T08:00:00.004Z","max_stalls":3,"max_defers":100,"max_suspends":20,"on_parent_failure":"cancel",)"
      R"("at_most_once":true,"templates":false,"fallback_result":[1.50],"bootstrap":null,"budget":null,"checkpoint":{"step":1},"generation":1,"dedupe":"keep_latest",)"
      R"("gates":["all","queue:q","type:eng","owner:o","provider:p","lock:a"],"cost":7,"progress":{"percent":40,"message":"half \"way\""},"worker_id":"h:1:u",)"
      R"("cancel_requested_at":"2027-01-15T08:00:00.005Z","result":{"b":1,"a":2},"fallback":true,)"
      R"("error":{"class":"timeout","message":"too slow","fingerprint":"7d9c902384df"},"exit_code":-9,)"
      R"("escalation":{"to":"ada","by":"bob@box","why":"look","at":"2027-01-15T08:00:00.006Z"},"usage":{"turns":3},"cancel_reason":"enough","agent":{"preset":"claude"},"next":{"session":"resume"},)"
      R"("traceparent":"tp"})");
}

TEST(RunJson, Golden) {
  RunSummary run{.run = 2, .generation = 1, .worker_id = "h:1:u", .started_at = kCreated};
  EXPECT_EQ(
      to_json(run),
      R"({"run":2,"generation":1,"worker_id":"h:1:u","started_at":"2027-01-15T08:00:00.000Z",)"
      R"("ended_at":null,"outcome":null,"error":null,"exit_code":null,"note":null,"usage":null,"change":null,"evidence":null})");
  run.ended_at = kCreated + Millis{7};
  run.outcome = "retrying";
  run.error = TaskError{ErrorClass::kAgentError, "boom"};
  run.exit_code = 1;
  run.note = "n";
  run.usage = R"({"turns":1})";
  run.change = R"({"session":"fresh"})";
  run.evidence = R"({"exit_code":0})";
  EXPECT_EQ(
      to_json(run),
      R"({"run":2,"generation":1,"worker_id":"h:1:u","started_at":"2027-01-15T08:00:00.000Z",)"
      R"("ended_at":"2027-01-15T08:00:00.007Z","outcome":"retrying",)"
      R"("error":{"class":"agent_error","message":"boom","fingerprint":"199593831b5e"},"exit_code":1,"note":"n","usage":{"turns":1},"change":{"session":"fresh"},"evidence":{"exit_code":0}})");
}

TEST(EventJson, Golden) {
  const Event event{.seq = 9'007'199'254'740'993,
                    .at = kCreated,
                    .name = "task.completed",
                    .task = task_id(1),
                    .type = "eng",
                    .queue = "q",
                    .owner = "o",
                    .state = TaskState::kCompleted,
                    .run = 3,
                    .generation = 2,
                    .data = R"({"a":1.0})"};
  EXPECT_EQ(to_json(event), R"({"seq":9007199254740993,"at":"2027-01-15T08:00:00.000Z","name":"task.completed",)"
                            R"("task_id":"00000000-0000-0000-0000-000000000001","type":"eng","queue":"q","owner":"o",)"
                            R"("state":"completed","run":3,"generation":2,"data":{"a":1.0}})");
}

TEST(EventJson, OfNoTask) {
  const Event event{.seq = 1, .at = kCreated, .name = "gate.closed", .data = R"({"gate":"all"})"};
  EXPECT_EQ(to_json(event), R"({"seq":1,"at":"2027-01-15T08:00:00.000Z","name":"gate.closed","task_id":null,)"
                            R"("type":null,"queue":null,"owner":null,"state":null,"run":null,"generation":null,)"
                            R"("data":{"gate":"all"}})");
}

TEST(EnqueuedJson, Golden) {
  EXPECT_EQ(to_json(Enqueued{task_id(1), TaskState::kBlocked, true}),
            R"({"id":"00000000-0000-0000-0000-000000000001","state":"blocked","deduplicated":true})");
}

TEST(WorkerJson, Golden) {
  const WorkerInfo worker{.id = "h:1:u",
                          .version = "0.1.0",
                          .serves = {{"q", std::nullopt}, {"eng", "eng"}},
                          .capacity = 4,
                          .registered_at = kCreated,
                          .last_beat_at = kCreated + Millis{1},
                          .draining = true,
                          .drain_by = "ada@box",
                          .drain_reason = "upgrade",
                          .token_id = "4fQ1mZ8x",
                          .workspace_bytes = 4096};
  EXPECT_EQ(
      to_json(worker),
      R"({"id":"h:1:u","version":"0.1.0","serves":[{"queue":"q","type":null,"trouble":""},{"queue":"eng","type":"eng","trouble":""}],)"
      R"("capacity":4,"running":0,"registered_at":"2027-01-15T08:00:00.000Z",)"
      R"("last_beat_at":"2027-01-15T08:00:00.001Z","draining":true,"drain_by":"ada@box","drain_reason":"upgrade","token_id":"4fQ1mZ8x","workspace_bytes":4096})");
}

TEST(LogJson, Golden) {
  LogRecord record{.seq = 5, .run = 2, .at = kCreated, .stream = LogStream::kErr, .text = "a\n\xff"};
  EXPECT_EQ(to_json(record),
            "{\"seq\":5,\"run\":2,\"at\":\"2027-01-15T08:00:00.000Z\",\"stream\":\"stderr\","
            "\"text\":\"a\\n\xEF\xBF\xBD\",\"left_out_before\":0}");
  record.stream = LogStream::kOut;
  EXPECT_NE(to_json(record).find(R"("stream":"stdout")"), std::string::npos);
  record.stream = LogStream::kDrover;
  EXPECT_NE(to_json(record).find(R"("stream":"drover")"), std::string::npos);
}

TEST(TaskJson, SaysWhichValuesAreNullAndNotUnset) {
  Task task = full_task();
  EXPECT_FALSE(to_json(task).contains("null_values"));
  task.payload = "null";
  task.result = "null";
  EXPECT_TRUE(to_json(task).contains(R"("null_values":["payload","result"])")) << to_json(task);
}

TEST(TaskJson, AnEffectOfACancelMayHaveNoStateBefore) {
  CancelEffect effect{.id = full_task().id, .type = "t", .from = TaskState::kPending, .to = TaskState::kCancelled};
  EXPECT_TRUE(to_json(effect).ends_with(R"("type":"t","from":"pending","to":"cancelled"})")) << to_json(effect);
  effect.from.reset();
  EXPECT_TRUE(to_json(effect).contains(R"("from":null)")) << to_json(effect);
}

}  // namespace
}  // namespace drover
