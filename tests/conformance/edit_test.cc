// Edit: what may change of a task before it starts, and how it stands in line afterwards.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

CONFORMANCE_SUITE(Edit);

using Tags = std::vector<std::string>;

TEST_P(Edit, ChangesWhatIsGivenAndNothingElse) {
  const TaskId id = enqueue({.type = "work", .payload = R"({"a":1})", .prompt = "do it", .tags = {"x"}});
  Task expected = get(id);
  expected.priority = 2;
  expected.payload = R"({"b":0.10,"é":"\u00e9"})";
  expected.tags = {"y", "z"};
  const Task after =
      must(queue().edit(id, {.priority = 2, .payload = R"( {"b": 0.10, "é": "\u00e9"} )", .tags = Tags{"y", "z"}}));
  EXPECT_EQ(after, expected);
  EXPECT_EQ(get(id), expected);
  const Event event = last_event_of(id);
  EXPECT_EQ(event.name, "task.updated");
  EXPECT_EQ(event.task, id);
  EXPECT_EQ(event.data, R"({"priority":2,"payload":true,"tags":true})");
  reopen();
  EXPECT_EQ(get(id), expected);
  const Lease lease = start(id);
  EXPECT_EQ(get(id).payload, expected.payload);
  complete(lease);
}

TEST_P(Edit, WorksInEveryStateBeforeAStart) {
  for (const TaskState from : {TaskState::kBlocked, TaskState::kScheduled, TaskState::kPending, TaskState::kStalled}) {
    const TaskId id = place_in(from).id;
    EXPECT_EQ(must(queue().edit(id, {.priority = 8, .tags = Tags{"t"}})).state, from) << name_of(from);
    EXPECT_EQ(get(id).priority, 8) << name_of(from);
    EXPECT_EQ(get(id).tags, Tags{"t"}) << name_of(from);
  }
}

TEST_P(Edit, IsRefusedWhileItRunsAndAfterItsEnd) {
  for (const TaskState from : {TaskState::kRunning, TaskState::kCompleted, TaskState::kFailed, TaskState::kCancelled}) {
    const TaskId id = place_in(from).id;
    const World before = world();
    EXPECT_EQ(code_of(queue().edit(id, {.priority = 1})), ErrorCode::kWrongState) << name_of(from);
    // The state is what is wrong, whatever the payload is like.
    EXPECT_EQ(code_of(queue().edit(id, {.payload = "1"})), ErrorCode::kWrongState) << name_of(from);
    EXPECT_EQ(world(), before) << name_of(from);
  }
  EXPECT_EQ(code_of(queue().edit(TaskId{}, {.priority = 1})), ErrorCode::kNotFound);
}

TEST_P(Edit, AnotherPriorityIsAnotherPlaceInLine) {
  const TaskId first = enqueue_work();
  const TaskId second = enqueue_work();
  const TaskId urgent = enqueue({.type = "work", .priority = 1});
  must(queue().edit(second, {.priority = 1}));
  must(queue().edit(first, {.priority = 9}));
  const TaskId last = enqueue_work();
  EXPECT_EQ(drain(), (std::vector{urgent, second, last, first}));
}

TEST_P(Edit, WithTheSamePriorityItKeepsItsPlace) {
  const TaskId first = enqueue_work();
  const TaskId second = enqueue_work();
  must(queue().edit(first, {.priority = 5, .delay = 0ms, .payload = "[2]", .tags = Tags{"t"}}));
  EXPECT_EQ(drain(), (std::vector{first, second}));
}

TEST_P(Edit, ThereAndBackIsTheTail) {
  const TaskId first = enqueue_work();
  const TaskId second = enqueue_work();
  must(queue().edit(first, {.priority = 1}));
  must(queue().edit(first, {.priority = 5}));
  EXPECT_EQ(drain(), (std::vector{second, first}));
}

TEST_P(Edit, WhatStalledKeepsWaitingForAnotherWorker) {
  const Lease lost = start_work();
  lose(lost);
  const TaskId other = enqueue_work();
  must(queue().edit(lost.task, {.payload = "[3]"}));
  EXPECT_EQ(state(lost.task), TaskState::kStalled);
  EXPECT_EQ(drain(), (std::vector{lost.task, other}));
}

TEST_P(Edit, ATimeAheadMakesItWaitAndATimeThatHasComeLetsItGo) {
  const TaskId id = enqueue_work();
  EXPECT_EQ(must(queue().edit(id, {.run_at = now() + 10s})).state, TaskState::kScheduled);
  EXPECT_TRUE(claim(1).empty());
  EXPECT_EQ(must(queue().edit(id, {.delay = 30s})).run_at, now() + 30s);
  pass(10s);
  EXPECT_EQ(state(id), TaskState::kScheduled);
  const TaskId other = enqueue_work();
  EXPECT_EQ(must(queue().edit(id, {.delay = 0ms})).state, TaskState::kPending);
  EXPECT_EQ(drain(), (std::vector{other, id}));
}

TEST_P(Edit, ABlockedOneWaitsForParentsAndItsNewTime) {
  const TaskId parent = enqueue_work();
  const TaskId child = enqueue_after(parent);
  EXPECT_EQ(must(queue().edit(child, {.delay = 1min})).state, TaskState::kBlocked);
  complete(start(parent));
  EXPECT_EQ(state(child), TaskState::kScheduled);
  pass(1min);
  EXPECT_EQ(drain(), std::vector{child});
}

TEST_P(Edit, TagsAreFoundByTheNewOnesOnly) {
  const TaskId id = enqueue({.type = "work", .payload = "[1]", .tags = {"a", "b"}});
  const TaskId other = enqueue({.type = "work", .tags = {"b"}});
  const auto tagged = [&](const std::string& tag) {
    std::vector<TaskId> ids;
    for (const Task& task : must(queue().list({.tag = tag}, 10, std::nullopt)).tasks) ids.push_back(task.id);
    return ids;
  };
  must(queue().edit(id, {.tags = Tags{"b", "c"}}));
  EXPECT_TRUE(tagged("a").empty());
  EXPECT_EQ(tagged("b"), (std::vector{other, id}));
  EXPECT_EQ(tagged("c"), std::vector{id});
  must(queue().edit(id, {.tags = Tags{}}));
  EXPECT_EQ(tagged("b"), std::vector{other});
  EXPECT_EQ(get(id).payload, "[1]");
  cancel(id);
  must(queue().remove(id, {}));
  EXPECT_EQ(tagged("b"), std::vector{other});
}

TEST_P(Edit, APatchIsMergedIntoThePayload) {
  const TaskId id = enqueue({.type = "work", .payload = R"({"a":1.0,"b":{"c":2}})"});
  EXPECT_EQ(must(queue().edit(id, {.patch = R"({"a":null,"b":{"d":3.50}})"})).payload, R"({"b":{"c":2,"d":3.50}})");
  EXPECT_EQ(must(queue().edit(id, {.payload = "null"})).payload, "null");
}

TEST_P(Edit, IsCheckedAsAtEnqueue) {
  set_limits(R"({"payload_bytes":64})");
  const TaskId id = enqueue({.type = "work", .payload = "[1]", .tags = {"a"}});
  const World before = world();
  const auto refused = [&](const EditOrder& order) { return code_of(queue().edit(id, order)); };
  const std::string long_text = '"' + std::string(64, 'x') + '"';
  EXPECT_EQ(refused({.priority = 1, .payload = long_text}), ErrorCode::kPayloadTooLarge);
  EXPECT_EQ(refused({.priority = 1, .payload = "{"}), ErrorCode::kInvalidJson);
  EXPECT_EQ(refused({.priority = 1, .payload = ""}), ErrorCode::kInvalidJson);
  EXPECT_EQ(refused({.payload = "1", .patch = "2"}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused({.priority = 10, .tags = Tags{"b"}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused({.priority = -1}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused({.delay = -1ms}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused({.run_at = now(), .delay = 1ms}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused({.priority = 1, .tags = Tags{"no tag"}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused({.tags = Tags(101, "t")}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused({.priority = 1, .version = "\"\r\n"}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused({}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(world(), before);
}

TEST_P(Edit, MeetsTheContractOfItsType) {
  apply_config(R"({"types":{"work":{"payload_defaults":{"m":7},"payload_schema":
      {"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}}}})");
  const TaskId id = enqueue({.type = "work", .payload = R"({"n":1})"});
  EXPECT_EQ(code_of(queue().edit(id, {.payload = R"({"n":"one"})"})), ErrorCode::kInvalidPayload);
  EXPECT_EQ(code_of(queue().edit(id, {.patch = R"({"n":null})"})), ErrorCode::kInvalidPayload);
  EXPECT_EQ(must(queue().edit(id, {.payload = R"({"n":2})"})).payload, R"({"n":2,"m":7})");
}

TEST_P(Edit, SeesWhetherSomebodyElseChangedIt) {
  const TaskId id = enqueue_work();
  const std::string seen = version_of(get(id));
  const Task first = must(queue().edit(id, {.priority = 3, .version = seen}));
  EXPECT_NE(version_of(first), seen);
  EXPECT_EQ(version_of(first), version_of(get(id)));
  const World before = world();
  EXPECT_EQ(code_of(queue().edit(id, {.priority = 4, .version = seen})), ErrorCode::kVersionMismatch);
  EXPECT_EQ(world(), before);
  must(queue().edit(id, {.priority = 4, .version = version_of(first)}));
  // What it did itself is a change like others.
  const std::string before_start = version_of(get(id));
  const Lease lease = start(id);
  EXPECT_EQ(code_of(queue().edit(id, {.priority = 1, .version = before_start})), ErrorCode::kVersionMismatch);
  complete(lease);
}

TEST_P(Edit, WhatIsSoAlreadyIsNoEvent) {
  const TaskId id = enqueue({.type = "work", .payload = "[1]"});
  const World before = world();
  EXPECT_EQ(must(queue().edit(id, {.priority = 5, .payload = "[ 1 ]", .tags = Tags{}})), get(id));
  EXPECT_EQ(world(), before);
}

TEST_P(Edit, RequestIdsAndDedupeKeysGoOnWorking) {
  const TaskSpec request{.type = "work", .payload = "[1]", .request_id = "r"};
  const TaskSpec deduped{.type = "work", .payload = R"({"a":1})", .dedupe_key = "k", .dedupe = DedupeMode::kMerge};
  const TaskId first = enqueue(request);
  const TaskId second = enqueue(deduped);
  must(queue().edit(first, {.priority = 1, .payload = "[2]"}));
  must(queue().edit(second, {.priority = 1, .payload = R"({"b":2})", .tags = Tags{"t"}}));
  const Enqueued again = must(queue().enqueue_one(request));
  EXPECT_TRUE(again.deduplicated);
  EXPECT_EQ(again.id, first);
  EXPECT_EQ(get(first).payload, "[2]");
  EXPECT_EQ(enqueue(deduped), second);
  EXPECT_EQ(get(second).payload, R"({"b":2,"a":1})");
  EXPECT_EQ(get(second).tags, Tags{"t"});
}

TEST_P(Edit, LeavesTheRoomOfAnOwnerAsItIs) {
  set_limits(R"({"max_waiting_per_owner":2})");
  const TaskId first = enqueue_work();
  enqueue_work();
  must(queue().edit(first, {.priority = 1, .delay = 1min}));
  EXPECT_EQ(code_of(queue().enqueue_one({.type = "work"})), ErrorCode::kQueueFull);
  must(queue().edit(first, {.delay = 0ms}));
  EXPECT_EQ(code_of(queue().enqueue_one({.type = "work"})), ErrorCode::kQueueFull);
}

TEST_P(Edit, FindsItsWayOutOfAParkedLane) {
  close_gate("queue:work");
  const TaskId id = enqueue_work();
  const TaskId other = enqueue_work();
  EXPECT_TRUE(claim(2).empty());  // the lane is parked
  must(queue().edit(id, {.priority = 9}));
  must(queue().edit(other, {.delay = 1min}));
  open_gate("queue:work");
  EXPECT_EQ(drain(), std::vector{id});
  pass(1min);
  EXPECT_EQ(drain(), std::vector{other});
}

}  // namespace
}  // namespace drover::test
