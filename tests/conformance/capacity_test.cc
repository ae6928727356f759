// Back-pressure: a full queue refuses, stores nothing, and never stops what it has accepted from ending.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

class CapacityLimit : public ConformanceTest {
 protected:
  // The limit that was reached is the one that is named.
  void expect_too_many(const std::vector<TaskSpec>& group, std::string_view limit = "") {
    const World before = world();
    const auto refused = queue().enqueue(group);
    ASSERT_EQ(code_of(refused), ErrorCode::kQueueFull);
    EXPECT_TRUE(refused.error().message.contains(limit)) << refused.error().message;
    if (!limit.empty()) {
      EXPECT_EQ(std::ranges::count(refused.error().message, '('), 1) << refused.error().message;
    }
    EXPECT_EQ(world(), before);
  }
  void expect_full(const TaskSpec& spec = {.type = "work"}) { expect_too_many({spec}); }
};
ON_EVERY_STORE(CapacityLimit);

TEST_P(CapacityLimit, ForAll) {
  set_limits(R"({"max_waiting":3})");
  for (int i = 0; i < 3; ++i) enqueue_work();
  expect_too_many({{.type = "work"}}, "at most 3 in all (limits.max_waiting)");
  expect_full({.type = "other", .owner = "somebody"});
}

TEST_P(CapacityLimit, PerOwner) {
  set_limits(R"({"max_waiting_per_owner":2})");
  enqueue({.type = "work", .owner = "me"});
  enqueue({.type = "work", .owner = "me"});
  expect_too_many({{.type = "work", .owner = "me"}}, "at most 2 for one owner (limits.max_waiting_per_owner)");
  enqueue({.type = "work", .owner = "you"});
}

TEST_P(CapacityLimit, OfGroupsTogetherOnlyThoseThatDoNotFitAreRefused) {
  set_limits(R"({"max_waiting":3,"max_waiting_per_owner":2})");
  const std::vector<TaskSpec> mine{{.type = "work", .owner = "me", .request_id = "r1"}};
  const std::vector<TaskSpec> mine_too{{.type = "work", .owner = "me"}};
  const std::vector<TaskSpec> too_many{{.type = "work", .owner = "me", .request_id = "r2"}};
  const std::vector<TaskSpec> too_large(2, TaskSpec{.type = "work", .owner = "you"});
  const std::vector<TaskSpec> yours{{.type = "work", .owner = "you", .request_id = "r2"}};
  const std::vector<std::span<const TaskSpec>> groups{mine, mine_too, too_many, too_large, yours};
  const auto answers = queue().enqueue_groups(groups);
  std::vector<std::optional<ErrorCode>> codes;
  for (const auto& answer : answers) codes.push_back(answer ? std::nullopt : std::optional(answer.error().code));
  const std::optional<ErrorCode> done;
  EXPECT_EQ(codes, (std::vector{done, done, std::optional(ErrorCode::kQueueFull), std::optional(ErrorCode::kQueueFull),
                                done}));
  EXPECT_EQ(must(queue().list({}, 100, {})).tasks.size(), 3U);
}

TEST_P(CapacityLimit, ABatchThatDoesNotFitIsRefusedWhole) {
  set_limits(R"({"max_waiting":3})");
  enqueue_work();
  expect_too_many(std::vector<TaskSpec>(3, TaskSpec{.type = "work"}));
  EXPECT_EQ(enqueue_all(std::vector<TaskSpec>(2, TaskSpec{.type = "work"})).size(), 2U);
}

TEST_P(CapacityLimit, ABatchOfTwoOwnersIsRefusedWholeForOneOfThem) {
  set_limits(R"({"max_waiting_per_owner":1})");
  enqueue({.type = "work", .owner = "me"});
  expect_too_many({{.type = "work", .owner = "you"}, {.type = "work", .owner = "me"}});
}

TEST_P(CapacityLimit, WaitingInAnyWayCounts) {
  set_limits(R"({"max_waiting":4})");
  const Lease stalled = start_work();
  lose(stalled);
  enqueue({.type = "parent"});
  enqueue_after(stalled.task);
  enqueue({.type = "work", .delay = 1h});
  expect_full();
}

TEST_P(CapacityLimit, WhatRunsOrHasEndedMakesRoom) {
  set_limits(R"({"max_waiting":1})");
  const Lease running = start_work();
  const TaskId waiting = enqueue_work();
  expect_full();
  cancel(waiting);
  enqueue_work();
  expect_full();
  complete(running);
  expect_full();
}

TEST_P(CapacityLimit, NeverStopsARetryOrARelease) {
  set_limits(R"({"max_waiting":1})");
  const Lease first = start_work();
  const Lease second = start_work();
  enqueue_work();
  EXPECT_EQ(fail(first), TaskState::kScheduled);
  EXPECT_EQ(release(second), TaskState::kPending);
  expect_full();
}

TEST_P(CapacityLimit, HoldsForChildrenToo) {
  set_limits(R"({"max_waiting":1})");
  const Lease spawner = start_work();
  enqueue_work();
  const World before = world();
  EXPECT_EQ(code_of(queue().spawn(spawner, std::vector<TaskSpec>{{.type = "child"}})), ErrorCode::kQueueFull);
  EXPECT_EQ(world(), before);
}

TEST_P(CapacityLimit, CountsTrueAfterARestart) {
  set_limits(R"({"max_waiting":2})");
  enqueue_work();
  enqueue_work();
  reopen();
  expect_full();
}

}  // namespace
}  // namespace drover::test
