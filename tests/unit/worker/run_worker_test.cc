// The whole worker over a fake queue: real threads, real processes.
#include "worker/run_worker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "base/text.h"
#include "support/must.h"
#include "unit/worker/process_support.h"
#include "worker/worker_loop.h"

namespace drover::test {
namespace {

class RunWorkerTest : public testing::Test {
 protected:
  WorkerConfig config() const {
    return {.serves = {{"test", std::nullopt}},
            .runners = {.for_all = RunnerProfile{{AGENTSIM_BIN}, {}}},
            .state_dir = dir.file("state"),
            .version = "1.2.3",
            .concurrency = 2,
            .lease = Millis{6'000},
            .heartbeat = Millis{200},
            .grace = Millis{300}};
  }
  ClaimedTask task(int number, const std::string& payload) const {
    ClaimedTask claimed = numbered_task(number);
    claimed.task.payload = payload;
    return claimed;
  }
  void start(const WorkerConfig& with) {
    thread = std::jthread([this, with] { report = run_worker(queue, with, stop); });
  }
  [[nodiscard]] bool waits_for_settled(std::size_t count) {
    return queue.wait_until(kLong, [&] { return queue.settled.size() >= count; });
  }

  TempDir dir;
  FakeQueue queue;
  StopSignal stop;
  Result<WorkReport> report;
  std::jthread thread;
};

TEST_F(RunWorkerTest, WorksUntilTheQueuesAreEmptyThenLeaves) {
  for (int i = 1; i <= 5; ++i) queue.put(task(i, R"({"print":"1"})"));
  WorkerConfig until_empty = config();
  until_empty.when_empty = WhenEmpty::kFinish;
  start(until_empty);
  thread.join();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->counts.completed, 5);
  EXPECT_EQ(queue.settled.size(), 5U);
  ASSERT_EQ(queue.unregistered.size(), 1U);
  EXPECT_EQ(queue.unregistered[0], report->worker_id);
  ASSERT_FALSE(queue.calls.empty());
  EXPECT_EQ(queue.calls.front(), "register") << "the first beat is before the first claim";
  EXPECT_EQ(queue.registered[0].version, "1.2.3");
  EXPECT_EQ(queue.registered[0].capacity, 2);
  EXPECT_EQ(queue.calls.back(), "unregister");
}

TEST_F(RunWorkerTest, WorkThatComesWhileItWaitsIsStartedAtOnce) {
  start(config());
  ASSERT_TRUE(queue.wait_until(kLong, [&] { return !queue.claims.empty(); }));
  queue.put(task(1, R"({"print":"1"})"));
  EXPECT_TRUE(waits_for_settled(1));
  stop.request();
}

TEST_F(RunWorkerTest, AStopLetsWorkFinish) {
  PidPipe pids(dir.file("pid"));
  queue.put(task(1, R"({"sleep_ms":300,"print":"1","pid_file":")" + pids.path() + "\"}"));
  start(config());
  ASSERT_GT(pids.wait(), 0);
  stop.request();
  thread.join();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->counts.completed, 1);
  EXPECT_EQ(report->counts.released, 0);
}

TEST_F(RunWorkerTest, WhatDoesNotFinishInTheDrainTimeIsReleased) {
  PidPipe pids(dir.file("pid"));
  queue.put(task(1, R"({"hang":true,"pid_file":")" + pids.path() + "\"}"));
  WorkerConfig impatient = config();
  impatient.drain = Millis{200};
  start(impatient);
  const Watched agent(pids.wait());
  stop.request();
  thread.join();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->counts.released, 1);
  EXPECT_TRUE(agent.ends_within(Millis{0}));
  EXPECT_EQ(queue.unregistered.size(), 1U);
}

TEST_F(RunWorkerTest, ASecondStopDoesNotWaitForTheDrainTime) {
  PidPipe pids(dir.file("pid"));
  queue.put(task(1, R"({"hang":true,"pid_file":")" + pids.path() + "\"}"));
  WorkerConfig patient = config();
  patient.drain = kLong * 10;
  start(patient);
  ASSERT_GT(pids.wait(), 0);
  stop.request();
  stop.request();
  thread.join();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->counts.released, 1);
}

TEST_F(RunWorkerTest, ACancelRequestReachesTheAgent) {
  PidPipe pids(dir.file("pid"));
  const ClaimedTask claimed = task(1, R"({"hang":true,"pid_file":")" + pids.path() + "\"}");
  queue.put(claimed);
  WorkerConfig slow_heart = config();
  slow_heart.lease = kLong * 10;
  slow_heart.heartbeat = kLong * 3;
  start(slow_heart);
  const Watched agent(pids.wait());
  {
    const std::scoped_lock lock(queue.mutex);
    queue.lease_states[claimed.lease.id.to_string()] = LeaseState::kCancelRequested;
  }
  queue.tell(1, "task.cancel_requested", claimed.task.id);
  EXPECT_TRUE(waits_for_settled(1)) << "long before the next heartbeat";
  EXPECT_TRUE(std::holds_alternative<CancelConfirmed>(queue.settled[0].end));
  EXPECT_TRUE(agent.ends_within(Millis{0}));
  stop.request();
}

TEST_F(RunWorkerTest, ResultsSurviveAnOutage) {
  PidPipe pids(dir.file("pid"));
  queue.put(task(1, R"({"sleep_ms":100,"print":"1","pid_file":")" + pids.path() + "\"}"));
  start(config());
  const Watched agent(pids.wait());
  {
    const std::scoped_lock lock(queue.mutex);
    queue.outage = Error{ErrorCode::kStoreUnavailable, "gone", {}};
  }
  ASSERT_TRUE(agent.ends_within(kLong));
  const auto settles = [&] { return std::ranges::count(queue.calls, std::string("settle 1")); };
  ASSERT_TRUE(queue.wait_until(kLong, [&] { return settles() >= 2; })) << "it keeps trying";
  {
    const std::scoped_lock lock(queue.mutex);
    queue.outage.reset();
  }
  EXPECT_TRUE(waits_for_settled(1));
  EXPECT_TRUE(std::holds_alternative<Completion>(queue.settled[0].end));
  stop.request();
}

TEST_F(RunWorkerTest, AStoreThatIsNotThereIsToldAtOnce) {
  queue.outage = Error{ErrorCode::kStoreUnavailable, "gone", {}};
  EXPECT_EQ(code_of(run_worker(queue, config(), stop)), ErrorCode::kStoreUnavailable);
}

TEST_F(RunWorkerTest, AConfigurationThatCannotWorkIsRefused) {
  WorkerConfig nothing_served = config();
  nothing_served.serves.clear();
  WorkerConfig no_slots = config();
  no_slots.concurrency = 0;
  WorkerConfig too_many_slots = config();
  too_many_slots.concurrency = 1'001;
  WorkerConfig short_lease = config();
  short_lease.lease = Millis{50};
  short_lease.heartbeat = Millis{5};
  WorkerConfig no_runner = config();
  no_runner.serves = {{"test", "test"}};
  no_runner.runners = {};
  WorkerConfig slow_heart = config();
  slow_heart.heartbeat = slow_heart.lease;
  WorkerConfig nowhere = config();
  nowhere.state_dir.clear();
  for (const WorkerConfig& bad :
       {nothing_served, no_slots, too_many_slots, short_lease, no_runner, slow_heart, nowhere}) {
    EXPECT_EQ(code_of(run_worker(queue, bad, stop)), ErrorCode::kInvalidArgument);
  }
  EXPECT_TRUE(queue.calls.empty());
}

TEST(NewWorkerId, NamesHostAndProcessAndIsNew) {
  const std::string id = new_worker_id();
  EXPECT_TRUE(is_name(id)) << id;
  EXPECT_NE(id.find(":" + std::to_string(::getpid()) + ":"), std::string::npos) << id;
  EXPECT_NE(id, new_worker_id());
}

}  // namespace
}  // namespace drover::test
