// Children: what a running task may spawn, and how much of it.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

class Children : public ConformanceTest {
 protected:
  Result<std::vector<Enqueued>> try_spawn(const Lease& spawner, int count = 1) {
    return queue().spawn(spawner, std::vector<TaskSpec>(static_cast<std::size_t>(count), TaskSpec{.type = "child"}));
  }
  TaskId spawn(const Lease& spawner) { return must(try_spawn(spawner)).front().id; }
  Lease start_child() { return claim({{.queue = "child"}}, 1).at(0).lease; }
};
ON_EVERY_STORE(Children);

TEST_P(Children, KnowTheirSpawner) {
  const Lease spawner = start_work();
  const TaskId child = spawn(spawner);
  EXPECT_EQ(get(child).parent_id, spawner.task);
  EXPECT_EQ(state(child), TaskState::kPending);
  EXPECT_EQ(story(child), "enqueued");
}

TEST_P(Children, AreListedByTheirSpawner) {
  const Lease spawner = start_work();
  const TaskId first = spawn(spawner);
  const TaskId second = spawn(spawner);
  enqueue({.type = "child"});
  const auto children = all_tasks({.parent_id = spawner.task});
  ASSERT_EQ(children.size(), 2U);
  EXPECT_EQ(children[0].id, second);
  EXPECT_EQ(children[1].id, first);
}

TEST_P(Children, RunOnTheirSpawnersAccount) {
  const Lease spawner = start_new({.type = "work", .owner = "team-a"});
  const auto ids =
      must(queue().spawn(spawner, std::vector<TaskSpec>{{.type = "child"}, {.type = "child", .owner = "team-b"}}));
  EXPECT_EQ(get(ids[0].id).owner, "team-a");
  EXPECT_EQ(get(ids[1].id).owner, "team-a");
}

// A run is as its owner's producer: whatever belongs to others does not exist.
TEST_P(Children, MayNotNameWhatBelongsToOthers) {
  const TaskId theirs = enqueue({.type = "theirs", .owner = "ann"});
  const Lease spawner = start_new({.type = "work", .owner = "bob"});
  const auto refused = [&](const TaskSpec& child) { return queue().spawn(spawner, std::vector<TaskSpec>{child}); };
  const TaskId unknown = TaskId::parse("0193300d-2b6b-7c4f-8a1e-00ff10ab5c9d").value();
  const World before = world();
  const auto foreign = refused({.type = "child", .depends_on = {theirs}});
  const auto missing = refused({.type = "child", .depends_on = {unknown}});
  ASSERT_EQ(code_of(foreign), ErrorCode::kUnknownParent);
  ASSERT_EQ(code_of(missing), ErrorCode::kUnknownParent);
  std::string expected = missing.error().message;
  expected.replace(expected.find(unknown.to_string()), unknown.to_string().size(), theirs.to_string());
  EXPECT_EQ(foreign.error().message, expected) << "the answer tells one from the other";
  EXPECT_EQ(code_of(queue().spawn(spawner, std::vector<TaskSpec>{{.ref = "a", .type = "child"},
                                                                 {.type = "child", .depends_on = {"a", theirs}}})),
            ErrorCode::kUnknownParent);
  EXPECT_EQ(world(), before) << "her task has no dependents more";
  EXPECT_EQ(must(refused({.type = "child", .depends_on = {spawner.task}})).front().state, TaskState::kBlocked);
}

// The spawner is the one of the lease, whatever the child says.
TEST_P(Children, AreNotGivenToAnotherSpawner) {
  const TaskId theirs = enqueue({.type = "theirs", .owner = "ann"});
  const Lease spawner = start_new({.type = "work", .owner = "bob"});
  const auto made = must(queue().spawn(spawner, std::vector<TaskSpec>{{.type = "child", .parent_id = theirs}}));
  EXPECT_EQ(get(made.front().id).parent_id, spawner.task);
  EXPECT_TRUE(all_tasks({.parent_id = theirs}).empty());
}

TEST_P(Children, MayDependOnEachOther) {
  const Lease spawner = start_work();
  const auto ids = must(queue().spawn(
      spawner, std::vector<TaskSpec>{{.ref = "a", .type = "child"}, {.type = "child", .depends_on = {"a"}}}));
  EXPECT_EQ(ids[1].state, TaskState::kBlocked);
  complete(start_child());
  EXPECT_EQ(state(ids[1].id), TaskState::kPending);
}

TEST_P(Children, OutliveTheirSpawnersSuccess) {
  const Lease spawner = start_work();
  const TaskId child = spawn(spawner);
  complete(spawner);
  EXPECT_EQ(state(child), TaskState::kPending);
}

TEST_P(Children, SpawningDoesNotDisturbTheSpawner) {
  const Lease spawner = start_work();
  const Task before = get(spawner.task);
  spawn(spawner);
  EXPECT_EQ(get(spawner.task), before);
  EXPECT_EQ(story(spawner.task), "enqueued claimed");
  EXPECT_EQ(renew(spawner), LeaseState::kHeld);
}

TEST_P(Children, ARepeatedRequestSpawnsOnce) {
  const Lease spawner = start_work();
  const std::vector<TaskSpec> group{{.type = "child", .request_id = "r"}};
  const TaskId first = must(queue().spawn(spawner, group)).front().id;
  const Enqueued replay = must(queue().spawn(spawner, group)).front();
  EXPECT_EQ(replay.id, first);
  EXPECT_TRUE(replay.deduplicated);
}

TEST_P(Children, TooManyAreRefusedWhole) {
  set_limits(R"({"children":3})");
  const Lease spawner = start_work();
  must(try_spawn(spawner, 2));
  const World before = world();
  EXPECT_EQ(code_of(try_spawn(spawner, 2)), ErrorCode::kLimitExceeded);
  EXPECT_EQ(world(), before);
  EXPECT_EQ(code_of(try_spawn(spawner, 1)), std::nullopt);
}

TEST_P(Children, TooDeepIsRefused) {
  set_limits(R"({"depth":2})");
  const Lease root = start_work();
  spawn(root);
  const Lease middle = start_child();
  spawn(middle);
  const Lease leaf = start_child();
  const World before = world();
  EXPECT_EQ(code_of(try_spawn(leaf)), ErrorCode::kLimitExceeded);
  EXPECT_EQ(world(), before);
}

TEST_P(Children, ATaskThatIsToStopSpawnsNoMore) {
  const Lease spawner = start_work();
  cancel(spawner.task);
  const World before = world();
  EXPECT_EQ(code_of(try_spawn(spawner)), ErrorCode::kWrongState);
  EXPECT_EQ(world(), before);
}

TEST_P(Children, ABatchMayNameASpawner) {
  const TaskId spawner = enqueue_work();
  const TaskId child = enqueue({.type = "child", .parent_id = spawner});
  EXPECT_EQ(get(child).parent_id, spawner);
  cancel(spawner);
  EXPECT_EQ(state(child), TaskState::kCancelled);
}

TEST_P(Children, AnUnknownSpawnerIsRefused) {
  const TaskId nobody = TaskId::parse("0193300d-2b6b-7c4f-8a1e-00ff10ab5c9d").value();
  EXPECT_EQ(code_of(queue().enqueue_one({.type = "child", .parent_id = nobody})), ErrorCode::kUnknownParent);
}

}  // namespace
}  // namespace drover::test
