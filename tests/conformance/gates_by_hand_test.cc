// Gates by hand: pause and resume of a queue, a type, an owner, a provider, a lock or everything; limits by hand.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

class GatesByHand : public ConformanceTest {
 protected:
  void SetUp() override { apply_config(R"({"types":{"work":{"provider":"acme"}}})"); }
  TaskId enqueue_mine() { return enqueue({.type = "work", .owner = "me", .locks = {"site"}}); }
  std::optional<ErrorCode> refused(const GateOrder& order) { return code_of(queue().set_gate(order)); }
};
ON_EVERY_STORE(GatesByHand);

constexpr const char* kGatesOfMine[] = {"all", "queue:work", "type:work", "owner:me", "provider:acme", "lock:site"};

TEST_P(GatesByHand, AClosedGateLetsNothingStartUntilItIsOpened) {
  for (const char* name : kGatesOfMine) {
    const TaskId id = enqueue_mine();
    close_gate(name);
    EXPECT_TRUE(claim(10).empty()) << name;
    pass(24h);
    EXPECT_TRUE(claim(10).empty()) << name;
    open_gate(name);
    complete(start(id));
  }
}

TEST_P(GatesByHand, WhatIsBehindAClosedGateHoldsUpNobody) {
  for (int i = 0; i < 30; ++i) enqueue({.type = "work", .queue = "work", .owner = "held", .priority = 0});
  const TaskId other = enqueue({.type = "other", .queue = "work", .owner = "free", .priority = 9});
  close_gate("owner:held");
  EXPECT_EQ(claim_one().task.id, other);
  EXPECT_TRUE(claim(10).empty());
}

TEST_P(GatesByHand, WhatRunsGoesOn) {
  const Lease lease = start(enqueue_mine());
  close_gate("all");
  EXPECT_EQ(renew(lease), LeaseState::kHeld);
  EXPECT_EQ(complete(lease), TaskState::kCompleted);
}

TEST_P(GatesByHand, ClosedForATimeOpensByItself) {
  const TaskId id = enqueue_mine();
  close_gate("queue:work", now() + 1min);
  pass(59s);
  EXPECT_TRUE(claim(1).empty());
  pass(1s);
  EXPECT_EQ(claim_one().task.id, id);
}

TEST_P(GatesByHand, AClaimAloneSeesThatTheTimeHasCome) {
  const TaskId id = enqueue_mine();
  close_gate("queue:work", now() + 1min);
  EXPECT_TRUE(claim(1).empty());
  advance(1min);
  EXPECT_EQ(claim_one().task.id, id);
}

TEST_P(GatesByHand, AnOpenedGateLetsAllOfThemGo) {
  std::vector<TaskSpec> group;
  for (int i = 0; i < 100; ++i) group.push_back({.type = "work", .owner = "o" + std::to_string(i)});
  close_gate("queue:work");
  enqueue_all(group);
  EXPECT_TRUE(claim(10).empty());
  open_gate("queue:work");
  EXPECT_EQ(drain().size(), 100U);
}

TEST_P(GatesByHand, TheOrderIsKeptOverAPause) {
  const TaskId low = enqueue({.type = "work", .priority = 7});
  const TaskId first = enqueue_work();
  const TaskId second = enqueue_work();
  close_gate("all");
  EXPECT_TRUE(claim(10).empty());
  open_gate("all");
  EXPECT_EQ(drain(), (std::vector{first, second, low}));
}

TEST_P(GatesByHand, TwoGatesHaveToBeOpen) {
  const TaskId id = enqueue_mine();
  close_gate("queue:work");
  close_gate("type:work");
  EXPECT_TRUE(claim(1).empty());
  open_gate("queue:work");
  EXPECT_TRUE(claim(1).empty());
  open_gate("type:work");
  EXPECT_EQ(claim_one().task.id, id);
}

TEST_P(GatesByHand, AWaitingTaskCanBeCancelledBehindAGate) {
  const TaskId id = enqueue_mine();
  close_gate("all");
  EXPECT_TRUE(claim(1).empty());
  cancel(id);
  open_gate("all");
  EXPECT_TRUE(claim(1).empty());
}

// Names may contain "@": what waits at one gate must not be taken for what waits at another.
TEST_P(GatesByHand, NamesThatReadAlikeTogetherAreKeptApart) {
  enqueue({.type = "work", .queue = "c", .priority = 0, .locks = {"a@b"}});
  const TaskId wanted = enqueue({.type = "work", .queue = "b@c", .locks = {"a"}});
  close_gate("lock:a@b");
  close_gate("lock:a");
  EXPECT_TRUE(claim({{.queue = "c"}, {.queue = "b@c"}}, 10).empty());
  open_gate("lock:a");
  const auto claimed = claim({{.queue = "c"}, {.queue = "b@c"}}, 10);
  ASSERT_EQ(claimed.size(), 1U);
  EXPECT_EQ(claimed[0].task.id, wanted);
}

TEST_P(GatesByHand, LimitsHoldUntilTheyAreTakenBack) {
  enqueue_all(std::vector<TaskSpec>(10, TaskSpec{.type = "work"}));
  limit_gate("queue:work", 3);
  EXPECT_EQ(startable(10), 3);
  limit_gate("queue:work", 5);
  EXPECT_EQ(startable(10), 5);
  limit_gate("queue:work", 0);
  EXPECT_EQ(startable(10), 0);
  limit_gate("queue:work", std::nullopt);
  EXPECT_EQ(startable(10), 10);
  EXPECT_EQ(gate("queue:work"), std::nullopt);
}

TEST_P(GatesByHand, TheSmallerOfTwoLimitsHolds) {
  apply_config(R"({"queues":{"work":{"permits":4}}})");
  enqueue_all(std::vector<TaskSpec>(10, TaskSpec{.type = "work"}));
  limit_gate("queue:work", 2);
  EXPECT_EQ(startable(10), 2);
  limit_gate("queue:work", 8);
  EXPECT_EQ(startable(10), 4);
}

TEST_P(GatesByHand, OpeningDropsAllButThePolicy) {
  apply_config(R"({"queues":{"work":{"permits":4}}})");
  enqueue_all(std::vector<TaskSpec>(10, TaskSpec{.type = "work"}));
  close_gate("queue:work");
  limit_gate("queue:work", 2);
  EXPECT_EQ(startable(10), 0);
  const GateStatus status = open_gate("queue:work");
  EXPECT_EQ(status.permits, 4);
  EXPECT_EQ(status.holds.size(), 1U);
  EXPECT_EQ(startable(10), 4);
}

TEST_P(GatesByHand, ALimitOnARunningFleetCountsWhatRuns) {
  enqueue_all(std::vector<TaskSpec>(5, TaskSpec{.type = "work"}));
  const auto running = claim(3);
  EXPECT_EQ(limit_gate("type:work", 3).in_use, 3);
  EXPECT_TRUE(claim(1).empty());
  complete(running[0].lease);
  EXPECT_EQ(claim(5).size(), 1U);
}

TEST_P(GatesByHand, ShowsWhoAndWhy) {
  enqueue_mine();
  const GateStatus status = close_gate("queue:work", now() + 1h);
  EXPECT_EQ(status.name, "queue:work");
  EXPECT_EQ(status.closed_until, now() + 1h);
  ASSERT_EQ(status.holds.size(), 1U);
  EXPECT_EQ(status.holds[0].source, HoldSource::kOperator);
  EXPECT_EQ(status.holds[0].why, "a test");
  EXPECT_EQ(status.holds[0].by, signed_as("me@here"));
  EXPECT_EQ(status.holds[0].since, now());
  EXPECT_TRUE(claim(1).empty());
  EXPECT_EQ(gate("queue:work").value_or(GateStatus{}).waiting_lanes, 1);
  pass(1h);
  EXPECT_EQ(gate("queue:work"), std::nullopt) << "its time is over";
}

TEST_P(GatesByHand, EventsTellOfIt) {
  close_gate("queue:work");
  limit_gate("type:work", 3);
  open_gate("queue:work");
  open_gate("queue:work");
  EXPECT_EQ(gate_story(), "gate.closed queue:work gate.limited type:work gate.opened queue:work");
  for (const Event& event : all_events()) {
    if (!event.task.is_nil()) continue;
    EXPECT_NE(event.data.find(signed_as("me@here")), std::string::npos) << event.data;
  }
}

TEST_P(GatesByHand, OutlivesARestart) {
  enqueue_mine();
  close_gate("provider:acme");
  reopen();
  EXPECT_TRUE(claim(1).empty());
  open_gate("provider:acme");
  reopen();
  EXPECT_EQ(claim(1).size(), 1U);
}

TEST_P(GatesByHand, QueuesShowWhatHoldsThemBack) {
  complete(start_new({.type = "work"}));
  static_cast<void>(start_work());
  enqueue({.type = "work", .queue = "gone"});
  complete(claim({{.queue = "gone"}}, 1).at(0).lease);
  enqueue({.type = "work", .delay = 1h});
  enqueue_after(enqueue({.type = "work", .queue = "other"}));
  close_gate("queue:idle");
  const auto queues = must(queue().queues());
  ASSERT_EQ(queues.size(), 3U);
  EXPECT_EQ(queues[0].name, "idle");
  EXPECT_EQ(queues[0].gate.value_or(GateStatus{}).closed_until, kUntilOpened);
  EXPECT_EQ(queues[1].name, "other");
  EXPECT_EQ(queues[1].waiting, 1);
  EXPECT_EQ(queues[2].name, "work");
  EXPECT_EQ(queues[2].running, 1);
  EXPECT_EQ(queues[2].scheduled, 1);
  EXPECT_EQ(queues[2].blocked, 1);
  EXPECT_EQ(queues[2].gate, std::nullopt);
}

TEST_P(GatesByHand, WhatOnlyAHandHoldsBackIsNotLeftToDo) {
  const std::vector<Serve> serves{{.queue = "work"}};
  enqueue_mine();
  for (const char* name : kGatesOfMine) {
    close_gate(name);
    EXPECT_EQ(must(queue().backlog(serves)).waiting, 0) << name;
    open_gate(name);
    EXPECT_EQ(must(queue().backlog(serves)).waiting, 1) << name;
  }
  close_gate("owner:me", now() + 1h);
  EXPECT_EQ(must(queue().backlog(serves)).waiting, 1) << "it opens by itself";
  close_gate("owner:me");
  const TaskId other = enqueue({.type = "work", .owner = "you"});
  EXPECT_EQ(must(queue().backlog(serves)).waiting, 2) << "one of them is";
  const Lease running = start(other);
  EXPECT_EQ(must(queue().backlog(serves)).waiting, 0);
  EXPECT_EQ(must(queue().backlog(serves)).running, 1);
  complete(running);
}

TEST_P(GatesByHand, BadOrdersChangeNothing) {
  const World before = world();
  EXPECT_EQ(refused({.gate = "moon:x", .what = GateOrder::Open{}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused({.gate = "owner:*", .what = GateOrder::Open{}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused({.gate = "all", .what = GateOrder::Limit{-1}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused({.gate = "all", .what = GateOrder::Close{now()}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused({.gate = "all", .what = GateOrder::Close{}, .why = "\xff"}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(world(), before);
  EXPECT_TRUE(must(queue().gates()).empty());
}

}  // namespace
}  // namespace drover::test
