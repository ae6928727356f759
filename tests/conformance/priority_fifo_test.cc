// The line: strict priority, then owners in turn, then first in first out; who gives a task back unharmed does not cost
// it its place.
#include <map>

#include "conformance/conformance.h"

namespace drover::test {
namespace {

CONFORMANCE_SUITE(PriorityFifo);

std::vector<TaskId> ids_of(const std::vector<ClaimedTask>& claimed) {
  std::vector<TaskId> ids;
  for (const ClaimedTask& item : claimed) ids.push_back(item.task.id);
  return ids;
}

TEST_P(PriorityFifo, FirstInFirstOut) {
  std::vector<TaskId> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(enqueue_work());
  EXPECT_EQ(drain(), ids);
}

TEST_P(PriorityFifo, ABatchKeepsItsOrder) {
  const auto ids = enqueue_all(std::vector<TaskSpec>(20, TaskSpec{.type = "work"}));
  EXPECT_EQ(ids_of(claim(20)), ids);
}

TEST_P(PriorityFifo, ZeroComesFirstAndNineLast) {
  // Seven: the eighth would be the one that waited longest.
  std::map<int, TaskId> by_priority;
  for (const int priority : {5, 9, 0, 3, 1, 8, 2})
    by_priority[priority] = enqueue({.type = "work", .priority = priority});
  std::vector<TaskId> ids;
  for (const auto& [priority, id] : by_priority) ids.push_back(id);
  EXPECT_EQ(drain(), ids);
}

TEST_P(PriorityFifo, PriorityIsStrictHoweverLateItComes) {
  const TaskId low = enqueue({.type = "work", .priority = 6});
  advance(1h);
  const TaskId high = enqueue({.type = "work", .priority = 5});
  EXPECT_EQ(drain(), (std::vector{high, low}));
}

TEST_P(PriorityFifo, OwnersTakeTurns) {
  const TaskId first = enqueue({.type = "work", .owner = "a"});
  const TaskId third = enqueue({.type = "work", .owner = "a"});
  const TaskId second = enqueue({.type = "work", .owner = "b"});
  EXPECT_EQ(drain(), (std::vector{first, second, third}));
}

TEST_P(PriorityFifo, ChosenIdsDoNotJumpTheLine) {
  const TaskId first = enqueue_work();
  const TaskId second = enqueue({.id = TaskId::parse("00000000-0000-7000-8000-000000000001"), .type = "work"});
  EXPECT_EQ(drain(), (std::vector{first, second}));
}

TEST_P(PriorityFifo, AReleasedTaskKeepsItsPlace) {
  const TaskId first = enqueue_work();
  const TaskId second = enqueue_work();
  release(start(first));
  EXPECT_EQ(drain(), (std::vector{first, second}));
}

TEST_P(PriorityFifo, ReleasedTasksKeepTheirOrder) {
  const auto ids = enqueue_all(std::vector<TaskSpec>(4, TaskSpec{.type = "work"}));
  const auto claimed = claim(3);
  release(claimed[2].lease);
  release(claimed[0].lease);
  release(claimed[1].lease);
  EXPECT_EQ(drain(), ids);
}

TEST_P(PriorityFifo, AStalledTaskKeepsItsPlace) {
  const TaskId first = enqueue_work();
  const TaskId second = enqueue_work();
  lose(start(first));
  EXPECT_EQ(drain(), (std::vector{first, second}));
}

TEST_P(PriorityFifo, AStalledTaskStaysBehindAHigherPriority) {
  const TaskId stalled = enqueue_work();
  lose(start(stalled));
  const TaskId high = enqueue({.type = "work", .priority = 0});
  EXPECT_EQ(drain(), (std::vector{high, stalled}));
}

TEST_P(PriorityFifo, ADueTaskGoesToTheTail) {
  const TaskId delayed = enqueue({.type = "work", .delay = 1s});
  const TaskId first = enqueue_work();
  pass(1s);
  const TaskId last = enqueue_work();
  EXPECT_EQ(drain(), (std::vector{first, delayed, last}));
}

TEST_P(PriorityFifo, DueTasksLineUpByTheirTime) {
  const TaskId later = enqueue({.type = "work", .delay = 2s});
  const TaskId sooner = enqueue({.type = "work", .delay = 1s});
  pass(5s);
  EXPECT_EQ(drain(), (std::vector{sooner, later}));
}

TEST_P(PriorityFifo, ARetriedTaskGoesToTheTail) {
  const RetryPolicy at_once{.kind = RetryPolicy::Kind::kFixed, .base = 0ms};
  const TaskId flaky = enqueue({.type = "work", .retry = at_once});
  const TaskId other = enqueue_work();
  EXPECT_EQ(fail(start(flaky)), TaskState::kPending);
  EXPECT_EQ(drain(), (std::vector{other, flaky}));
}

TEST_P(PriorityFifo, AnOperatorsRetryGoesToTheTail) {
  const TaskId failed = enqueue_work();
  fail(start(failed), ErrorClass::kInvalid);
  const TaskId other = enqueue_work();
  retry(failed);
  EXPECT_EQ(drain(), (std::vector{other, failed}));
}

TEST_P(PriorityFifo, AnUnblockedTaskGoesToTheTail) {
  const TaskId parent = enqueue_work();
  const TaskId child = enqueue_after(parent);
  const TaskId other = enqueue_work();
  complete(start(parent));
  EXPECT_EQ(drain(), (std::vector{other, child}));
}

TEST_P(PriorityFifo, QueuesHaveTheirOwnLines) {
  const TaskId mine = enqueue({.type = "work", .queue = "a"});
  const TaskId other = enqueue({.type = "work", .queue = "b", .priority = 0});
  EXPECT_EQ(ids_of(claim({{.queue = "a"}}, 10)), std::vector{mine});
  EXPECT_EQ(ids_of(claim({{.queue = "b"}}, 10)), std::vector{other});
}

TEST_P(PriorityFifo, SeveralQueuesAreServedByPriority) {
  const TaskId normal = enqueue({.type = "work", .queue = "a"});
  const TaskId high = enqueue({.type = "work", .queue = "b", .priority = 0});
  const TaskId low = enqueue({.type = "work", .queue = "a", .priority = 9});
  EXPECT_EQ(ids_of(claim({{.queue = "a"}, {.queue = "b"}}, 10)), (std::vector{high, normal, low}));
}

TEST_P(PriorityFifo, SeveralQueuesOfOnePriorityTakeTurns) {
  const std::vector<Serve> both{{.queue = "b"}, {.queue = "a"}};
  std::vector<TaskId> a;
  std::vector<TaskId> b;
  for (int i = 0; i < 3; ++i) {
    a.push_back(enqueue({.type = "work", .queue = "a"}));
    b.push_back(enqueue({.type = "work", .queue = "b"}));
  }
  std::vector<TaskId> order;
  for (int i = 0; i < 6; ++i) order.push_back(claim(both, 1).at(0).task.id);
  EXPECT_EQ(order, (std::vector{a[0], b[0], a[1], b[1], a[2], b[2]}));
}

TEST_P(PriorityFifo, SurvivesARestart) {
  const TaskId first = enqueue_work();
  const TaskId second = enqueue_work();
  release(start(first));
  reopen();
  const TaskId third = enqueue_work();
  EXPECT_EQ(drain(), (std::vector{first, second, third}));
}

}  // namespace
}  // namespace drover::test
