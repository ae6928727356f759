// What a queue allows: how many may wait in it, and which slots of a worker are kept for urgent tasks.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

class QueueLimits : public ConformanceTest {
 protected:
  // A worker with that many slots, which runs tasks of these priorities, claims into the rest.
  std::vector<int> claim_for(int capacity, std::vector<int> running) {
    const int n = capacity - static_cast<int>(running.size());
    std::vector<int> priorities;
    for (const ClaimedTask& task : claim({.worker_id = "host:1:a",
                                          .serves = {{.queue = "work"}},
                                          .n = n,
                                          .lease = kLease,
                                          .capacity = capacity,
                                          .running_priorities = std::move(running)})) {
      priorities.push_back(task.task.priority);
    }
    return priorities;
  }
  void enqueue_many(int count, int priority) {
    enqueue_all(std::vector<TaskSpec>(static_cast<std::size_t>(count), TaskSpec{.type = "work", .priority = priority}));
  }
};
ON_EVERY_STORE(QueueLimits);

TEST_P(QueueLimits, AFullQueueTakesNoMore) {
  apply_config(R"({"queues":{"work":{"max_waiting":2}}})");
  enqueue_work();
  enqueue({.type = "work", .delay = 1h});
  const World before = world();
  const auto refused = queue().enqueue_one({.type = "work"});
  ASSERT_EQ(code_of(refused), ErrorCode::kQueueFull);
  EXPECT_EQ(refused.error().message,
            "too many tasks are waiting: at most 2 in queue work (queues.work.max_waiting); nothing was stored");
  EXPECT_EQ(world(), before);
  enqueue({.type = "work", .queue = "other"});
  static_cast<void>(claim_one());
  enqueue_work();
}

TEST_P(QueueLimits, ABatchIsRefusedWholeForOneQueue) {
  apply_config(R"({"queues":{"work":{"max_waiting":2}}})");
  const World before = world();
  const std::vector<TaskSpec> group{{.type = "other"}, {.type = "work"}, {.type = "work"}, {.type = "work"}};
  EXPECT_EQ(code_of(queue().enqueue(group)), ErrorCode::kQueueFull);
  EXPECT_EQ(world(), before);
}

TEST_P(QueueLimits, ARetryOrAReleaseIsNeverRefused) {
  apply_config(R"({"queues":{"work":{"max_waiting":1}}})");
  const Lease first = start_work();
  const Lease second = start_work();
  enqueue_work();
  EXPECT_EQ(fail(first), TaskState::kScheduled);
  EXPECT_EQ(release(second), TaskState::kPending);
  EXPECT_EQ(code_of(queue().enqueue_one({.type = "work"})), ErrorCode::kQueueFull);
}

TEST_P(QueueLimits, CountsTrueAfterARestart) {
  apply_config(R"({"queues":{"work":{"max_waiting":2}}})");
  enqueue_work();
  enqueue_work();
  reopen();
  EXPECT_EQ(code_of(queue().enqueue_one({.type = "work"})), ErrorCode::kQueueFull);
}

TEST_P(QueueLimits, SlotsAreKeptForUrgentTasks) {
  apply_config(R"({"queues":{"work":{"reserve":{"priority":2,"slots":1}}}})");
  enqueue_many(5, 5);
  EXPECT_EQ(claim_for(3, {}), (std::vector{5, 5}));
  EXPECT_EQ(claim_for(3, {5, 5}), std::vector<int>{});
  enqueue_many(2, 2);
  EXPECT_EQ(claim_for(3, {5, 5}), std::vector{2});
}

TEST_P(QueueLimits, UrgentTasksMayUseEverySlot) {
  apply_config(R"({"queues":{"work":{"reserve":{"priority":2,"slots":1}}}})");
  enqueue_many(5, 0);
  enqueue_many(5, 5);
  EXPECT_EQ(claim_for(3, {}), (std::vector{0, 0, 0}));
  EXPECT_EQ(claim_for(3, {0, 0}), std::vector{0});
}

TEST_P(QueueLimits, WhatWaitedLongestGetsNoKeptSlot) {
  apply_config(R"({"queues":{"work":{"reserve":{"priority":2,"slots":1}}}})");
  enqueue_many(3, 9);
  enqueue_many(40, 0);
  for (int i = 0; i < 16; ++i) {
    for (const int priority : claim_for(2, {9})) EXPECT_EQ(priority, 0) << "the other slot is taken";
  }
}

TEST_P(QueueLimits, AWorkerAlwaysHasASlotForEverybody) {
  apply_config(R"({"queues":{"work":{"reserve":{"priority":2,"slots":4}}}})");
  enqueue_many(5, 5);
  EXPECT_EQ(claim_for(1, {}), std::vector{5});
  EXPECT_EQ(claim_for(4, {}), std::vector{5});
}

TEST_P(QueueLimits, NothingIsKeptOfAWorkerThatSaysNothingOfItsSlots) {
  apply_config(R"({"queues":{"work":{"reserve":{"priority":2,"slots":1}}}})");
  enqueue_many(3, 5);
  EXPECT_EQ(claim(3).size(), 3U);
}

}  // namespace
}  // namespace drover::test
