// The public Worker: handlers in this process.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <latch>
#include <semaphore>
#include <stdexcept>
#include <thread>

#include "drover/worker.h"
#include "support/must.h"
#include "support/printers.h"
#include "unit/worker/process_support.h"
#include "worker/handler_run.h"
#include "worker/handler_runs.h"

namespace drover::test {
namespace {

WorkerOptions until_empty() {
  return {.concurrency = 2, .lease = Millis{6'000}, .heartbeat = Millis{200}, .until = RunUntil::kEmpty};
}

const Failure& failure_of(const Settlement& settled) {
  return std::get<Failure>(settled.end);
}

TEST(Worker, RunsHandlersAndSettlesWhatTheyReturn) {
  FakeQueue queue;
  ClaimedTask claimed = numbered_task(1);
  claimed.task.payload = "[1,2]";
  queue.put(claimed);
  Worker worker(queue, until_empty());
  worker.handle("test", [](TaskContext& context) -> HandlerResult {
    return R"({"got":)" + context.task().payload.value_or("null") + "}";
  });
  const WorkerReport report = must(worker.run());
  EXPECT_EQ(report.completed, 1);
  EXPECT_EQ(std::get<Completion>(queue.settled.at(0).end).result, R"({"got":[1,2]})");
  EXPECT_EQ(queue.registered.at(0).serves, (std::vector<Serve>{{"test", "test"}}));
  EXPECT_EQ(queue.unregistered, std::vector<std::string>{report.worker_id});
}

TEST(Worker, FailuresAndExceptionsAreFailures) {
  FakeQueue queue;
  for (int i = 1; i <= 3; ++i) queue.put(numbered_task(i));
  Worker worker(queue, {.lease = Millis{6'000}, .heartbeat = Millis{200}, .until = RunUntil::kEmpty});
  int calls = 0;
  worker.handle("test", [&](TaskContext&) -> HandlerResult {
    switch (++calls) {
      case 1:
        return std::unexpected(Failure{.error_class = ErrorClass::kRateLimited, .message = "slow down"});
      case 2:
        throw std::runtime_error("it broke");
      default:
        throw 42;
    }
  });
  EXPECT_EQ(must(worker.run()).failed, 3);
  EXPECT_EQ(failure_of(queue.settled.at(0)).error_class, ErrorClass::kRateLimited);
  EXPECT_EQ(failure_of(queue.settled.at(1)).error_class, ErrorClass::kAgentError);
  EXPECT_EQ(failure_of(queue.settled.at(1)).message, "it broke");
  EXPECT_EQ(failure_of(queue.settled.at(2)).error_class, ErrorClass::kAgentError);
}

TEST(Worker, TheContextReachesTheQueue) {
  FakeQueue queue;
  queue.put(numbered_task(1));
  Worker worker(queue, until_empty());
  worker.handle("test", [](TaskContext& context) -> HandlerResult {
    const TaskSpec child{.type = "child"};
    EXPECT_TRUE(context.progress(10, "begun"));
    EXPECT_TRUE(context.log("line\n"));
    EXPECT_TRUE(context.checkpoint("{\"at\":1}"));
    EXPECT_TRUE(context.spawn(std::span(&child, 1)));
    EXPECT_FALSE(context.cancelled());
    return "null";
  });
  EXPECT_EQ(must(worker.run()).completed, 1);
  EXPECT_EQ(queue.progresses, (std::vector<Progress>{{10, "begun"}}));
  EXPECT_EQ(queue.log_text(LogStream::kOut), "line\n");
  EXPECT_EQ(queue.checkpoints.size(), 1U);
  EXPECT_EQ(queue.spawned.size(), 1U);
}

TEST(Worker, HandlersRunAtTheSameTime) {
  FakeQueue queue;
  queue.put(numbered_task(1));
  queue.put(numbered_task(2));
  std::latch both(2);
  Worker worker(queue, until_empty());
  worker.handle("test", [&](TaskContext&) -> HandlerResult {
    both.arrive_and_wait();
    return "1";
  });
  EXPECT_EQ(must(worker.run()).completed, 2);
}

// As many as may run, every time: a thread that sleeps is woken although others are still busy with the last ones.
TEST(Worker, NoThreadIsLeftAsleep) {
  constexpr int kAtOnce = 8;
  constexpr int kRounds = 200;
  FakeQueue queue;
  for (int i = 1; i <= kAtOnce * kRounds; ++i) queue.put(numbered_task(i));
  std::barrier all(kAtOnce);
  WorkerOptions options = until_empty();
  options.concurrency = kAtOnce;
  Worker worker(queue, options);
  worker.handle("test", [&](TaskContext&) -> HandlerResult {
    all.arrive_and_wait();
    return "1";
  });
  EXPECT_EQ(must(worker.run()).completed, kAtOnce * kRounds);
}

TEST(Worker, ACancelReachesTheHandler) {
  FakeQueue queue;
  const ClaimedTask claimed = numbered_task(1);
  queue.put(claimed);
  queue.lease_states[claimed.lease.id.to_string()] = LeaseState::kCancelRequested;
  Worker worker(queue, until_empty());
  worker.handle("test", [](TaskContext& context) -> HandlerResult {
    EXPECT_TRUE(context.wait_cancelled(kLong));
    EXPECT_TRUE(context.cancelled());
    return "1";
  });
  EXPECT_EQ(must(worker.run()).cancelled, 1);
}

TEST(Worker, StopReleasesWhatHasNotFinished) {
  FakeQueue queue;
  queue.put(numbered_task(1));
  std::latch begun(1);
  Worker worker(queue, {.lease = Millis{6'000}, .heartbeat = Millis{200}, .drain = kLong * 10});
  worker.handle("test", [&](TaskContext& context) -> HandlerResult {
    begun.count_down();
    EXPECT_TRUE(context.wait_cancelled(kLong));
    return std::unexpected(Failure{.message = "half done"});
  });
  const std::jthread stopper([&] {
    begun.wait();
    worker.stop();
    worker.stop();
  });
  EXPECT_EQ(must(worker.run()).released, 1);
}

constexpr Millis kBound{20'000};

// Whether its worker comes to hold so many, as its beats say.
bool holds(FakeQueue& queue, std::size_t leases) {
  return queue.wait_until(kBound,
                          [&] { return !queue.renewals.empty() && queue.renewals.back().leases.size() == leases; });
}

// A first handler keeps the one thread busy until as much is claimed as may be.
TEST(Worker, HoldsWhatItMayPrefetchAndNoMore) {
  FakeQueue queue;
  for (int i = 1; i <= 9; ++i) queue.put(numbered_task(i));
  Worker worker(
      queue,
      {.concurrency = 1, .prefetch = 3, .lease = Millis{6'000}, .heartbeat = Millis{20}, .until = RunUntil::kEmpty});
  int calls = 0;
  worker.handle("test", [&](TaskContext&) -> HandlerResult {
    if (++calls > 1) return "1";
    EXPECT_TRUE(holds(queue, 4));
    std::size_t beats = 0;
    EXPECT_TRUE(queue.wait_until(kBound, [&] { return (beats = queue.renewals.size()) > 0; }));
    EXPECT_TRUE(queue.wait_until(kBound, [&] { return queue.renewals.size() >= beats + 5; }));
    EXPECT_TRUE(holds(queue, 4)) << "although five wait";
    return "1";
  });
  EXPECT_EQ(must(worker.run()).completed, 9);
  EXPECT_EQ(queue.registered.at(0).capacity, 1) << "what waits in it does not run";
}

TEST(Worker, WhatWaitsIsGivenBackWhenItIsToStop) {
  FakeQueue queue;
  for (int i = 1; i <= 4; ++i) queue.put(numbered_task(i));
  Worker worker(queue, {.concurrency = 1, .prefetch = 3, .lease = Millis{6'000}, .heartbeat = Millis{20}});
  worker.handle("test", [&](TaskContext&) -> HandlerResult {
    EXPECT_TRUE(holds(queue, 4));
    worker.stop();
    EXPECT_TRUE(queue.wait_until(kBound, [&] { return queue.settled.size() == 3; })) << "while this one runs";
    return "1";
  });
  const WorkerReport report = must(worker.run());
  EXPECT_EQ(report.completed, 1);
  EXPECT_EQ(report.released, 3);
}

TEST(Worker, APrefetchOutOfBoundsIsRefused) {
  FakeQueue queue;
  for (const int prefetch : {-1, 1'000}) {
    Worker worker(queue, {.concurrency = 1, .prefetch = prefetch});
    worker.handle("test", [](TaskContext&) -> HandlerResult { return "1"; });
    const auto report = worker.run();
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, ErrorCode::kInvalidArgument);
  }
}

// One thread, which a first run keeps busy.
class WaitingRunTest : public testing::Test {
 protected:
  WaitingRunTest() {
    runs.start(numbered_task(1), later());
    begun.wait();
  }
  ~WaitingRunTest() override {
    if (!go_on.try_wait()) go_on.count_down();
  }

  static MonoTime later() { return system_clock().mono() + kLease; }
  // What ended, as soon as something has.
  std::vector<RunEnded> take_ended() {
    ended.acquire();
    return runs.take_ended();
  }

  static constexpr Millis kLease{60'000};
  FakeQueue queue;
  std::latch begun{1};
  std::latch go_on{1};
  std::atomic<int> calls = 0;
  std::counting_semaphore<> ended{0};
  HandlerRuns runs{queue,
                   {{"test",
                     [this](TaskContext&) -> HandlerResult {
                       if (++calls == 1) begun.count_down();
                       go_on.wait();
                       return "1";
                     }}},
                   1,
                   kLease,
                   [this] { ended.release(); }};
};

TEST_F(WaitingRunTest, OneThatIsStoppedIsGivenBackAtOnceEvenIfItMayRunOnlyOnce) {
  for (const StopReason reason : {StopReason::kShutdown, StopReason::kLeaseLost}) {
    ClaimedTask waiting = numbered_task(2);
    waiting.task.at_most_once = true;
    runs.start(waiting, later());
    runs.stop(waiting.lease, reason);
    const std::vector<RunEnded> all = take_ended();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].lease, waiting.lease);
    EXPECT_EQ(std::get<Release>(all[0].end).begun, Begun::kNo);
  }
  EXPECT_EQ(calls, 1);
}

TEST_F(WaitingRunTest, ACancelledOneNeverBegins) {
  const ClaimedTask waiting = numbered_task(2);
  runs.start(waiting, later());
  runs.stop(waiting.lease, StopReason::kCancelled);
  const std::vector<RunEnded> all = take_ended();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<CancelConfirmed>(all[0].end));
  EXPECT_EQ(calls, 1);
}

TEST_F(WaitingRunTest, OneWhoseLeaseIsNearlyOverIsGivenBackInsteadOfBegun) {
  const ClaimedTask waiting = numbered_task(2);
  runs.start(waiting, system_clock().mono() + kLease / 4);
  go_on.count_down();
  std::vector<RunEnded> all = take_ended();
  if (all.size() < 2) all.push_back(take_ended().at(0));
  EXPECT_TRUE(std::holds_alternative<Completion>(all[0].end));
  EXPECT_EQ(std::get<Release>(all[1].end).begun, Begun::kNo);
  EXPECT_EQ(calls, 1);
}

TEST(Worker, RefusesToRunWithoutHandlers) {
  FakeQueue queue;
  Worker worker(queue, {});
  EXPECT_EQ(code_of(worker.run()), ErrorCode::kInvalidArgument);
}

// ---- one call

HandlerRun make_run(FakeQueue& queue, Task task, Millis lease_left, Millis lease) {
  ClaimedTask claimed = numbered_task(1);
  task.id = claimed.task.id;
  claimed.task = std::move(task);
  return {queue, std::move(claimed), system_clock().mono() + lease_left, lease};
}

TEST(HandlerRun, IsFencedByTheClockAloneWhenNobodyRenews) {
  FakeQueue queue;
  HandlerRun run = make_run(queue, {}, Millis{300}, Millis{600});
  EXPECT_TRUE(run.begin(system_clock().mono()));
  EXPECT_FALSE(run.cancelled());
  EXPECT_TRUE(run.wait_cancelled(kLong)) << "a third of the lease is left";
  EXPECT_TRUE(std::holds_alternative<Release>(run.end(std::unexpected(Failure{})).end));
}

TEST(HandlerRun, ARenewalKeepsItGoing) {
  FakeQueue queue;
  HandlerRun run = make_run(queue, {}, Millis{300}, Millis{600});
  EXPECT_TRUE(run.begin(system_clock().mono()));
  run.lease_renewed(system_clock().mono() + kLong);
  EXPECT_FALSE(run.wait_cancelled(Millis{250}));
}

TEST(HandlerRun, TimeoutsTellTheHandlerToStop) {
  FakeQueue queue;
  Task slow;
  slow.timeout = Millis{100};
  HandlerRun run = make_run(queue, slow, kLong, kLong);
  EXPECT_TRUE(run.begin(system_clock().mono()));
  EXPECT_TRUE(run.wait_cancelled(kLong));
  EXPECT_EQ(std::get<Failure>(run.end(std::unexpected(Failure{.message = "stopped"})).end).error_class,
            ErrorClass::kTimeout);

  Task silent;
  silent.idle_timeout = Millis{100};
  HandlerRun idle = make_run(queue, silent, kLong, kLong);
  EXPECT_TRUE(idle.begin(system_clock().mono()));
  EXPECT_TRUE(idle.wait_cancelled(kLong));
  EXPECT_EQ(std::get<Failure>(idle.end(std::unexpected(Failure{})).end).error_class, ErrorClass::kTimeout);
}

TEST(HandlerRun, AResultThatWasReachedAllTheSameCounts) {
  FakeQueue queue;
  HandlerRun run = make_run(queue, {}, kLong, kLong);
  EXPECT_TRUE(run.begin(system_clock().mono()));
  run.ask_to_stop(StopCause::kShutdown);
  EXPECT_EQ(std::get<Completion>(run.end("1").end).result, "1");
}

TEST(HandlerRun, AnAtMostOnceTaskThatWasStoppedIsLost) {
  FakeQueue queue;
  Task once;
  once.at_most_once = true;
  HandlerRun run = make_run(queue, once, kLong, kLong);
  EXPECT_TRUE(run.begin(system_clock().mono()));
  run.ask_to_stop(StopCause::kShutdown);
  EXPECT_EQ(std::get<Failure>(run.end(std::unexpected(Failure{})).end).error_class, ErrorClass::kLost);
}

}  // namespace
}  // namespace drover::test
