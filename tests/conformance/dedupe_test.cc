// Dedupe: an enqueue that speaks of a task that is there already.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

class DedupeModes : public ConformanceTest {
 protected:
  static TaskSpec keyed(DedupeMode mode, std::optional<JsonText> payload = std::nullopt) {
    return {.type = "work", .payload = std::move(payload), .dedupe_key = "k", .dedupe = mode};
  }
  Enqueued put(const TaskSpec& spec) { return must(queue().enqueue_one(spec)); }
  void expect_new(const TaskSpec& spec) { EXPECT_FALSE(put(spec).deduplicated); }
  // Changes nothing.
  void expect_answered(const TaskSpec& spec, const TaskId& id) {
    const World before = world();
    const Enqueued answer = put(spec);
    EXPECT_TRUE(answer.deduplicated);
    EXPECT_EQ(answer.id, id);
    EXPECT_EQ(answer.state, state(id));
    EXPECT_EQ(world(), before);
  }
  void expect_written(const TaskSpec& spec, const TaskId& id, const JsonText& payload) {
    const Enqueued answer = put(spec);
    EXPECT_TRUE(answer.deduplicated);
    EXPECT_EQ(answer.id, id);
    EXPECT_EQ(get(id).payload, payload);
    EXPECT_EQ(last_event_of(id).name, "task.updated");
  }
};
ON_EVERY_STORE(DedupeModes);

TEST_P(DedupeModes, ATaskKeepsItsKeyAndMode) {
  const Task task = get(enqueue(keyed(DedupeMode::kMerge)));
  EXPECT_EQ(task.dedupe_key, "k");
  EXPECT_EQ(task.dedupe, DedupeMode::kMerge);
}

TEST_P(DedupeModes, SingleFlightAnswersWithOneThatHasNotEnded) {
  const TaskSpec spec = keyed(DedupeMode::kSingleFlight, "1");
  const TaskId id = enqueue(spec);
  expect_answered(spec, id);
  TaskSpec other = spec;
  other.payload = "2";
  expect_answered(other, id);
  const Lease lease = start(id);
  expect_answered(spec, id);
  complete(lease);
  expect_new(spec);
}

TEST_P(DedupeModes, SingleFlightKnowsEveryUnfinishedState) {
  TaskSpec blocked = keyed(DedupeMode::kSingleFlight);
  blocked.depends_on = {enqueue({.type = "parent"})};
  expect_answered(keyed(DedupeMode::kSingleFlight), enqueue(blocked));
  TaskSpec scheduled = keyed(DedupeMode::kSingleFlight);
  scheduled.dedupe_key = "later";
  scheduled.delay = 1h;
  const TaskId later = enqueue(scheduled);
  expect_answered(scheduled, later);
}

TEST_P(DedupeModes, AKeyWithoutAModeIsSingleFlight) {
  const TaskSpec spec{.type = "work", .dedupe_key = "k"};
  expect_answered(spec, enqueue(spec));
}

TEST_P(DedupeModes, AModeWithoutAKeySpeaksOfTypeAndPayload) {
  const TaskSpec spec{.type = "work", .payload = R"({"a":1,"b":2})", .dedupe = DedupeMode::kSingleFlight};
  TaskSpec same = spec;
  same.payload = R"({ "b": 2, "a": 1 })";
  expect_answered(same, enqueue(spec));
  TaskSpec other = spec;
  other.payload = R"({"a":1,"b":3})";
  expect_new(other);
}

TEST_P(DedupeModes, OwnersAndTypesAreApart) {
  const TaskSpec spec = keyed(DedupeMode::kSingleFlight);
  enqueue(spec);
  TaskSpec owner = spec;
  owner.owner = "other";
  expect_new(owner);
  TaskSpec type = spec;
  type.type = "other";
  expect_new(type);
}

TEST_P(DedupeModes, DropAnswersWithAnyOfTheWindow) {
  TaskSpec spec = keyed(DedupeMode::kDrop);
  spec.dedupe_window = 10s;
  const TaskId id = enqueue(spec);
  complete(start(id));
  advance(10s - 1ms);
  expect_answered(spec, id);
  advance(1ms);
  expect_new(spec);
}

TEST_P(DedupeModes, DropForgetsAfterFiveMinutes) {
  const TaskSpec spec = keyed(DedupeMode::kDrop);
  const TaskId id = enqueue(spec);
  complete(start(id));
  advance(5min - 1ms);
  expect_answered(spec, id);
  advance(1ms);
  expect_new(spec);
}

TEST_P(DedupeModes, MergePatchesThePayloadOfOneThatHasNotStarted) {
  const TaskId id = enqueue(keyed(DedupeMode::kMerge, R"({"z":0.10,"a":{"b":1,"c":2}})"));
  expect_written(keyed(DedupeMode::kMerge, R"({"a":{"b":null},"new":1e400})"), id,
                 R"({"z":0.10,"a":{"c":2},"new":1e400})");
  const ClaimedTask claimed = claim_one();
  EXPECT_EQ(claimed.task.payload, R"({"z":0.10,"a":{"c":2},"new":1e400})");
  expect_new(keyed(DedupeMode::kMerge, R"({"a":1})"));
}

TEST_P(DedupeModes, MergeWithoutAPayloadChangesNothing) {
  const TaskId id = enqueue(keyed(DedupeMode::kMerge, R"({"a":1})"));
  expect_answered(keyed(DedupeMode::kMerge), id);
}

TEST_P(DedupeModes, AMergedPayloadHasALimit) {
  set_limits(R"({"payload_bytes":20})");
  const TaskId id = enqueue(keyed(DedupeMode::kMerge, R"({"a":12345678})"));
  const World before = world();
  EXPECT_EQ(code_of(queue().enqueue_one(keyed(DedupeMode::kMerge, R"({"b":12345678})"))), ErrorCode::kPayloadTooLarge);
  EXPECT_EQ(world(), before);
  EXPECT_EQ(get(id).payload, R"({"a":12345678})");
}

TEST_P(DedupeModes, ReplacePutsTheNewPayload) {
  const TaskId id = enqueue(keyed(DedupeMode::kReplace, R"({"a":1})"));
  expect_written(keyed(DedupeMode::kReplace, "[2]"), id, "[2]");
  const Lease lease = start(id);
  expect_new(keyed(DedupeMode::kReplace, "[3]"));
  complete(lease);
  EXPECT_EQ(get(id).payload, "[2]");
}

TEST_P(DedupeModes, ATaskThatWaitsForItsSecondRunHasStarted) {
  const TaskId id = enqueue(keyed(DedupeMode::kReplace, "1"));
  fail(start(id));
  expect_new(keyed(DedupeMode::kReplace, "2"));
  EXPECT_EQ(get(id).payload, "1");
}

TEST_P(DedupeModes, KeepLatestHasOneRunningAndOneWaiting) {
  const TaskId running = enqueue(keyed(DedupeMode::kKeepLatest, "1"));
  const Lease lease = start(running);
  const TaskId waiting = enqueue(keyed(DedupeMode::kKeepLatest, "2"));
  EXPECT_NE(waiting, running);
  const TaskId behind = enqueue_work();
  expect_written(keyed(DedupeMode::kKeepLatest, "3"), waiting, "3");
  expect_written(keyed(DedupeMode::kKeepLatest, "4"), waiting, "4");
  complete(lease);
  EXPECT_EQ(get(running).payload, "1");
  EXPECT_EQ(drain(), (std::vector{waiting, behind})) << "it keeps its place";
}

TEST_P(DedupeModes, ComesBeforeCapacity) {
  set_limits(R"({"max_waiting":1})");
  const TaskId id = enqueue(keyed(DedupeMode::kSingleFlight));
  expect_answered(keyed(DedupeMode::kSingleFlight), id);
  expect_written(keyed(DedupeMode::kReplace, "7"), id, "7");
  EXPECT_EQ(code_of(queue().enqueue_one({.type = "work"})), ErrorCode::kQueueFull);
}

TEST_P(DedupeModes, ABatchSpeaksOfItsOwnTasksToo) {
  std::vector<TaskSpec> group(3, keyed(DedupeMode::kSingleFlight, "1"));
  group.push_back({.type = "work"});
  const auto answers = must(queue().enqueue(group));
  EXPECT_FALSE(answers[0].deduplicated);
  EXPECT_TRUE(answers[1].deduplicated);
  EXPECT_EQ(answers[1].id, answers[0].id);
  EXPECT_EQ(answers[2].id, answers[0].id);
  EXPECT_FALSE(answers[3].deduplicated);
  EXPECT_EQ(all_tasks().size(), 2U);
}

TEST_P(DedupeModes, ABatchMergesStepByStep) {
  const auto answers = must(queue().enqueue(std::vector<TaskSpec>{keyed(DedupeMode::kMerge, R"({"a":1})"),
                                                                  keyed(DedupeMode::kMerge, R"({"b":2})"),
                                                                  keyed(DedupeMode::kMerge, R"({"a":3})")}));
  EXPECT_EQ(answers[2].id, answers[0].id);
  EXPECT_EQ(get(answers[0].id).payload, R"({"a":3,"b":2})");
  EXPECT_EQ(all_tasks().size(), 1U);
}

TEST_P(DedupeModes, ABatchWritesOntoStoredTasksStepByStep) {
  const TaskId id = enqueue(keyed(DedupeMode::kMerge, R"({"a":1})"));
  TaskSpec child{.type = "work", .depends_on = {id}};
  must(queue().enqueue(std::vector<TaskSpec>{child, keyed(DedupeMode::kMerge, R"({"b":2})"), child,
                                             keyed(DedupeMode::kMerge, R"({"c":3})")}));
  EXPECT_EQ(get(id).payload, R"({"a":1,"b":2,"c":3})");
}

TEST_P(DedupeModes, AMatchStandsForItsRef) {
  const TaskId parent = enqueue(keyed(DedupeMode::kSingleFlight));
  TaskSpec same = keyed(DedupeMode::kSingleFlight);
  same.ref = "p";
  const auto answers =
      must(queue().enqueue(std::vector<TaskSpec>{same, {.type = "work", .depends_on = {std::string("p")}}}));
  EXPECT_EQ(get(answers[1].id).depends_on, std::vector{parent});
}

TEST_P(DedupeModes, ManyAtOnceMakeOne) {
  std::vector<TaskId> ids(8);
  for (TaskId& id : ids) id = put(keyed(DedupeMode::kSingleFlight)).id;
  for (const TaskId& id : ids) EXPECT_EQ(id, ids.front());
}

TEST_P(DedupeModes, OutlivesARestart) {
  const TaskId id = enqueue(keyed(DedupeMode::kSingleFlight));
  reopen();
  expect_answered(keyed(DedupeMode::kSingleFlight), id);
}

// The first of the batch looks at the task that the second writes to.
TEST_P(DedupeModes, WhatIsReplacedKeepsAllButItsPayload) {
  const TaskSpec first{.type = "work",
                       .payload = "1",
                       .prompt = "do it",
                       .tags = {"a", "b"},
                       .dedupe_key = "k",
                       .dedupe = DedupeMode::kReplace};
  const TaskId id = enqueue(first);
  TaskSpec again = first;
  again.payload = "2";
  again.prompt = "other";
  again.tags = {};
  const auto ids = enqueue_all({{.type = "work", .depends_on = {id}}, again, {.type = "work", .depends_on = {id}}});
  EXPECT_EQ(ids.at(1), id);
  const Task task = get(id);
  EXPECT_EQ(task.payload, "2");
  EXPECT_EQ(task.prompt, "do it");
  EXPECT_EQ(task.tags, (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace drover::test
