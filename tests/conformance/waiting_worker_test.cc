// Workers that wait: by a claim that they left with the queue, where it has such, or by asking again after a change.
#include <future>
#include <thread>

#include "conformance/conformance.h"
#include "drover/worker.h"

namespace drover::test {
namespace {

constexpr std::chrono::seconds kPatience{30};

class WaitingWorker : public ConformanceTest {
 protected:
  // As an idle worker does it.
  class Waiting {
   public:
    Waiting(TaskQueue& queue, ClaimRequest request) : queue_(queue), request_(std::move(request)) {
      EXPECT_TRUE(must(claim_registered(queue_, request_)).empty());
      left_ = must(queue_.leave_claim(request_, [] {}));
    }
    // Something changed: what there is for it.
    std::vector<ClaimedTask> look() {
      if (left_ != nullptr) {
        Taken<ClaimedTask> taken = must(std::exchange(left_, nullptr)->withdraw());
        if (!taken.tasks.empty()) return std::move(taken.tasks);
      }
      return must(claim_registered(queue_, request_));
    }

   private:
    TaskQueue& queue_;
    const ClaimRequest request_;
    std::unique_ptr<StandingClaim<ClaimedTask>> left_;
  };

  static ClaimRequest request(int n) {
    return {.worker_id = "host:1:w", .serves = {{.queue = "work"}}, .n = n, .lease = kLease};
  }
  Waiting wait_for(int n) { return {queue(), request(n)}; }
};
ON_EVERY_STORE(WaitingWorker);

TEST_P(WaitingWorker, GetsWhatIsEnqueuedAndItsStoryIsThatOfAnyTask) {
  Waiting waiting = wait_for(2);
  advance(45s);
  const TaskId id = enqueue_work();
  const auto claimed = waiting.look();
  ASSERT_EQ(claimed.size(), 1U);
  EXPECT_EQ(claimed[0].task.id, id);
  EXPECT_EQ(claimed[0].task.state, TaskState::kRunning);
  EXPECT_EQ(claimed[0].task.run, 1);
  EXPECT_EQ(story(id), "enqueued claimed");
  EXPECT_EQ(renew(claimed[0].lease), LeaseState::kHeld);
  EXPECT_EQ(complete(claimed[0].lease, "1"), TaskState::kCompleted);
}

// Else it would ask again at once, for ever.
TEST_P(WaitingWorker, AskingInVainIsNoChange) {
  start_work();
  const std::uint64_t seen = queue().changes();
  EXPECT_TRUE(claim(request(1)).empty());
  EXPECT_EQ(must(queue().backlog(request(1).serves)).running, 1);
  EXPECT_EQ(queue().changes(), seen);
  enqueue_work();
  EXPECT_NE(queue().changes(), seen);
}

TEST_P(WaitingWorker, ItsLeaseIsAsLongAsAnyOther) {
  Waiting waiting = wait_for(1);
  advance(45s);
  const TaskId id = enqueue_work();
  ASSERT_EQ(waiting.look().size(), 1U);
  pass(kLease - 1ms);
  EXPECT_EQ(state(id), TaskState::kRunning);
  pass(1ms);
  EXPECT_EQ(state(id), TaskState::kStalled);
}

TEST_P(WaitingWorker, OfTwoOneGetsTheTask) {
  Waiting first = wait_for(1);
  Waiting second = wait_for(1);
  enqueue_work();
  EXPECT_EQ(second.look().size() + first.look().size(), 1U);
}

TEST_P(WaitingWorker, GetsNoMoreThanItAskedFor) {
  Waiting waiting = wait_for(2);
  enqueue_all({{.type = "work"}, {.type = "work"}, {.type = "work"}});
  EXPECT_EQ(waiting.look().size(), 2U);
  EXPECT_EQ(claim(5).size(), 1U);
}

TEST_P(WaitingWorker, GetsWhatFollowsAnEnd) {
  const Lease parent = start_work();
  const TaskId child = enqueue_after(parent.task);
  Waiting waiting = wait_for(1);
  complete(parent);
  const auto claimed = waiting.look();
  ASSERT_EQ(claimed.size(), 1U);
  EXPECT_EQ(claimed[0].task.id, child);
}

TEST_P(WaitingWorker, AGateHoldsItBackUntilItOpens) {
  close_gate("queue:work");
  Waiting closed = wait_for(1);
  enqueue_work();
  EXPECT_TRUE(closed.look().empty());
  Waiting waiting = wait_for(1);
  open_gate("queue:work");
  EXPECT_EQ(waiting.look().size(), 1U);
}

TEST_P(WaitingWorker, KeepsItsReservedSlotsFree) {
  apply_config(R"({"queues": {"work": {"reserve": {"priority": 2, "slots": 1}}}})");
  ClaimRequest two_slots = request(2);
  two_slots.capacity = 2;
  Waiting waiting(queue(), two_slots);
  enqueue_all({{.type = "work", .priority = 5}, {.type = "work", .priority = 5}});
  EXPECT_EQ(waiting.look().size(), 1U);
}

TEST_P(WaitingWorker, WhatThePolicyHasComeToRefuseFailsAndIsNotGivenToIt) {
  const TaskId id = enqueue({.type = "work", .delay = 10s});
  apply_config(R"({"types":{"other":{}},"types_closed":true})");
  Waiting waiting = wait_for(1);
  pass(10s);
  EXPECT_TRUE(waiting.look().empty());
  EXPECT_EQ(state(id), TaskState::kFailed);
}

// The real thing: threads, bells and all.
TEST_P(WaitingWorker, OneOfTwoIdleWorkersRunsATaskOnce) {
  std::promise<std::string> ran;
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2; ++i) {
    workers.push_back(std::make_unique<Worker>(queue(), WorkerOptions{}));
    workers.back()->handle("work", [&](TaskContext& context) -> HandlerResult {
      ran.set_value(context.task().id.to_string());  // throws if it is called twice
      return "1";
    });
    threads.emplace_back([&worker = *workers.back()] { must(worker.run()); });
  }
  const TaskId id = enqueue_work();
  std::future<std::string> run = ran.get_future();
  ASSERT_EQ(run.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(run.get(), id.to_string());
  for (const auto& worker : workers) worker->stop();
  threads.clear();
  EXPECT_EQ(story(id), "enqueued claimed completed");
}

}  // namespace
}  // namespace drover::test
