// Rates: so many units in a time, at most a burst at once; a task takes its cost.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

CONFORMANCE_SUITE(Rates);

TEST_P(Rates, ABurstAndThenOneAtATime) {
  apply_config(R"({"queues":{"work":{"rate":"60/min","burst":3}}})");
  enqueue_all(std::vector<TaskSpec>(10, TaskSpec{.type = "work"}));
  EXPECT_EQ(claim(10).size(), 3U);
  EXPECT_TRUE(claim(10).empty());
  pass(999ms);
  EXPECT_TRUE(claim(10).empty());
  pass(1ms);
  EXPECT_EQ(claim(10).size(), 1U);
  pass(2s);
  EXPECT_EQ(claim(10).size(), 2U);
  pass(1min);
  EXPECT_EQ(claim(10).size(), 3U) << "never more than the burst";
}

TEST_P(Rates, ATaskTakesItsCost) {
  apply_config(R"({"queues":{"work":{"rate":"1/s","burst":5}}})");
  enqueue_all(std::vector<TaskSpec>(4, TaskSpec{.type = "work", .cost = 2}));
  EXPECT_EQ(claim(10).size(), 2U);
  pass(1s);
  EXPECT_EQ(claim(10).size(), 1U) << "one unit was left";
  pass(1s);
  EXPECT_TRUE(claim(10).empty());
  pass(1s);
  EXPECT_EQ(claim(10).size(), 1U);
}

TEST_P(Rates, ACheapTaskPassesAnExpensiveOneThatWaits) {
  apply_config(R"({"queues":{"work":{"rate":"1/s","burst":5}}})");
  enqueue({.type = "work", .cost = 3});
  const TaskId expensive = enqueue({.type = "work", .cost = 5});
  const TaskId cheap = enqueue({.type = "work", .cost = 1});
  EXPECT_EQ(claim(10).size(), 2U);
  EXPECT_EQ(state(cheap), TaskState::kRunning);
  EXPECT_EQ(state(expensive), TaskState::kPending);
  pass(4s);
  EXPECT_EQ(claim_one().task.id, expensive);
}

TEST_P(Rates, ACostOverTheBurstIsRefused) {
  apply_config(R"({"types":{"work":{"provider":"acme"}},"gates":{"provider:acme":{"rate":"1/s","burst":5}}})");
  const World before = world();
  const auto refused = queue().enqueue_one({.type = "work", .cost = 6});
  ASSERT_EQ(code_of(refused), ErrorCode::kLimitExceeded);
  EXPECT_NE(refused.error().message.find("provider:acme"), std::string::npos);
  EXPECT_EQ(world(), before);
  EXPECT_EQ(get(enqueue({.type = "work", .cost = 5})).cost, 5);
}

TEST_P(Rates, OfOwnersEachTheirOwn) {
  apply_config(R"({"owners":{"default":{"rate":"1/s"}}})");
  for (int i = 0; i < 3; ++i) {
    enqueue({.type = "work", .owner = "a"});
    enqueue({.type = "work", .owner = "b"});
  }
  EXPECT_EQ(claim(10).size(), 2U);
  pass(1s);
  EXPECT_EQ(claim(10).size(), 2U);
}

TEST_P(Rates, AReleasedTaskDoesNotGiveItsUnitBack) {
  apply_config(R"({"queues":{"work":{"rate":"1/s"}}})");
  const TaskId id = enqueue_work();
  release(start(id));
  EXPECT_TRUE(claim(1).empty());
  pass(1s);
  EXPECT_EQ(claim_one().task.id, id);
}

TEST_P(Rates, ARateThatGoesLetsAllStart) {
  apply_config(R"({"queues":{"work":{"rate":"1/h"}}})");
  enqueue_all(std::vector<TaskSpec>(5, TaskSpec{.type = "work"}));
  EXPECT_EQ(claim(10).size(), 1U);
  EXPECT_TRUE(claim(10).empty());
  apply_config("{}");
  EXPECT_EQ(claim(10).size(), 4U);
}

TEST_P(Rates, HoldUpNobodyElse) {
  apply_config(R"({"gates":{"type:slow":{"rate":"1/h"}}})");
  enqueue_all(std::vector<TaskSpec>(5, TaskSpec{.type = "slow", .queue = "work", .priority = 0}));
  enqueue_all(std::vector<TaskSpec>(5, TaskSpec{.type = "work"}));
  EXPECT_EQ(claim(10).size(), 6U);
}

TEST_P(Rates, ShownWithTheirBurst) {
  apply_config(R"({"queues":{"work":{"rate":"60/min","burst":3}}})");
  EXPECT_EQ(gate("queue:work").value_or(GateStatus{}).rate, (Rate{60, Millis(1min), 3}));
}

TEST_P(Rates, OutliveARestart) {
  apply_config(R"({"queues":{"work":{"rate":"1/min"}}})");
  enqueue_all(std::vector<TaskSpec>(2, TaskSpec{.type = "work"}));
  EXPECT_EQ(claim(10).size(), 1U);
  reopen();
  EXPECT_TRUE(claim(10).empty());
  pass(1min);
  EXPECT_EQ(claim(10).size(), 1U);
}

}  // namespace
}  // namespace drover::test
