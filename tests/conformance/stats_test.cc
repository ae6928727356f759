// Numbers of the queues: counts, rates, durations, who serves them.
#include <numeric>

#include "conformance/conformance.h"

namespace drover::test {
namespace {

class StatsTest : public ConformanceTest {
 protected:
  static std::int64_t count(const std::array<std::int64_t, kTaskStateCount>& tasks, TaskState state) {
    return tasks[static_cast<std::size_t>(state)];
  }
  QueueStats of(const std::string& name) {
    for (const QueueStats& queue : must(queue().stats()).queues) {
      if (queue.name == name) return queue;
    }
    ADD_FAILURE() << "no queue " << name;
    return {};
  }
};
ON_EVERY_STORE(StatsTest);

TEST_P(StatsTest, NothingYet) {
  const Stats stats = must(queue().stats());
  EXPECT_TRUE(stats.queues.empty());
  EXPECT_EQ(stats.rates, Rates{});
  EXPECT_EQ(stats.runs, Durations{});
  EXPECT_EQ(stats.window, 60s);
  EXPECT_EQ(stats.at, now());
}

TEST_P(StatsTest, TasksAreCountedByQueueAndState) {
  for (const TaskState state : kAllStates) place_in(state);
  enqueue({.type = "other"});
  const Stats stats = must(queue().stats());
  for (const TaskState state : kAllStates) {
    EXPECT_GE(count(of("work").tasks, state), 1) << name_of(state);
    std::int64_t sum = 0;
    for (const QueueStats& queue : stats.queues) sum += count(queue.tasks, state);
    EXPECT_EQ(count(stats.tasks, state), sum);
  }
  EXPECT_EQ(count(of("other").tasks, TaskState::kPending), 1);
}

TEST_P(StatsTest, TheFirstInLineSaysSinceWhenItWaits) {
  EXPECT_TRUE(must(queue().stats()).queues.empty());
  const Time first = now();
  const TaskId id = enqueue_work();
  pass(10s);
  enqueue_work();
  EXPECT_EQ(of("work").waiting_since, first);
  must(queue().cancel(id, ""));
  EXPECT_EQ(of("work").waiting_since, now());
}

TEST_P(StatsTest, TheFirstInLineIsSeenBehindAClosedGate) {
  const Time first = now();
  enqueue_work();
  must(queue().set_gate({.gate = "queue:work", .what = GateOrder::Close{}}));
  EXPECT_TRUE(claim({.worker_id = "w", .serves = {{.queue = "work"}}, .n = 1}).empty());
  pass(10s);
  EXPECT_EQ(of("work").waiting_since, first);
}

TEST_P(StatsTest, ADelayedTaskWaitsSinceItWasDue) {
  enqueue({.type = "work", .delay = 1h});
  EXPECT_EQ(of("work").waiting_since, std::nullopt);
  pass(1h);
  const Time due = now();
  pass(5s);
  EXPECT_EQ(of("work").waiting_since, due);
}

TEST_P(StatsTest, RatesAreOfTheLastMinute) {
  enqueue_work();
  pass(120s);
  enqueue_work();
  enqueue_work();
  const Lease first = claim_one().lease;
  pass(1s);
  complete(first);
  const Lease second = claim_one().lease;
  must(queue().fail(second, {.error_class = ErrorClass::kInvalid, .message = "no"}));
  const Lease third = claim_one().lease;
  must(queue().fail(third, {.error_class = ErrorClass::kAgentError, .message = "again"}));
  const Stats stats = must(queue().stats());
  EXPECT_EQ(stats.rates, (Rates{.enqueued = 2, .started = 3, .completed = 1, .failed = 1, .retried = 1}));
  EXPECT_EQ(stats.queues.at(0).rates, stats.rates);
  pass(120s);
  EXPECT_EQ(must(queue().stats()).rates.completed, 0);
}

TEST_P(StatsTest, DurationsOfWaitsAndRuns) {
  for (int i = 0; i < 4; ++i) enqueue_work();
  pass(2s);
  for (int i = 1; i <= 4; ++i) {
    const Lease lease = claim_one().lease;
    pass(Millis{i * 1'000});
    complete(lease);
  }
  const Stats stats = must(queue().stats());
  EXPECT_EQ(stats.runs.p50, 2s);
  EXPECT_EQ(stats.runs.p95, 4s);
  EXPECT_EQ(stats.waits.p50, 3s);
  EXPECT_EQ(stats.waits.p95, 8s);
  EXPECT_EQ(of("work").runs, stats.runs);
}

TEST_P(StatsTest, WorkersAndTheirSlots) {
  const WorkerInfo worker{.id = "host:1:a", .version = "1", .serves = {{.queue = "work"}}, .capacity = 4};
  must(queue().register_worker(worker));
  WorkerInfo draining = worker;
  draining.id = "host:2:b";
  must(queue().register_worker(draining));
  must(queue().drain_worker({.worker_id = "host:2:b"}));
  enqueue_work();
  enqueue_work();
  claim_one();
  const Stats stats = must(queue().stats());
  EXPECT_EQ(stats.workers.working, 1);
  EXPECT_EQ(stats.workers.draining, 1);
  EXPECT_EQ(stats.workers.slots, 4);
  EXPECT_EQ(stats.workers.running, 1);
  EXPECT_EQ(stats.queues.at(0).workers, 1);
  EXPECT_EQ(stats.queues.at(0).free_slots, 3);
  advance(31s);
  EXPECT_EQ(must(queue().stats()).workers.silent, 2);
  EXPECT_EQ(of("work").workers, 0);
}

TEST_P(StatsTest, PermitsInUse) {
  must(queue().set_gate({.gate = "queue:work", .what = GateOrder::Limit{3}}));
  enqueue_work();
  claim_one();
  const Stats stats = must(queue().stats());
  EXPECT_EQ(stats.permits.gates, 1);
  EXPECT_EQ(stats.permits.permits, 3);
  EXPECT_EQ(stats.permits.in_use, 1);
}

TEST_P(StatsTest, AnOwnerIsToldOfItsOwnTasksAlone) {
  for (const TaskState state : kAllStates) place_in(state);
  enqueue({.type = "work", .owner = "anna"});
  enqueue({.type = "other", .owner = "anna", .delay = 1h});
  enqueue({.type = "work", .owner = "anna-b"});
  const Stats own = must(queue().owner_stats("anna"));
  ASSERT_EQ(own.queues.size(), 2U);
  EXPECT_EQ(own.queues[0].name, "other");
  EXPECT_EQ(count(own.queues[0].tasks, TaskState::kScheduled), 1);
  EXPECT_EQ(own.queues[1].name, "work");
  EXPECT_EQ(count(own.queues[1].tasks, TaskState::kPending), 1);
  EXPECT_EQ(std::accumulate(own.tasks.begin(), own.tasks.end(), std::int64_t{0}), 2);
  EXPECT_EQ(own.rates.enqueued, 2);
  EXPECT_EQ(own.rates.started, 0);
  EXPECT_EQ(own.workers.working, 0);
  EXPECT_EQ(own.at, now());
  EXPECT_TRUE(must(queue().owner_stats("nobody")).queues.empty());
  EXPECT_EQ(code_of(queue().owner_stats("a|b")), ErrorCode::kInvalidArgument);
}

TEST_P(StatsTest, AnOwnersNumbersFollowItsTasks) {
  const TaskId id = enqueue({.type = "work", .owner = "anna"});
  const Lease lease = start(id);
  EXPECT_EQ(count(must(queue().owner_stats("anna")).tasks, TaskState::kRunning), 1);
  complete(lease);
  EXPECT_EQ(count(must(queue().owner_stats("anna")).tasks, TaskState::kCompleted), 1);
  EXPECT_EQ(count(must(queue().owner_stats("anna")).tasks, TaskState::kRunning), 0);
  must(queue().remove(id, {}));
  EXPECT_TRUE(must(queue().owner_stats("anna")).queues.empty());
}

}  // namespace
}  // namespace drover::test
