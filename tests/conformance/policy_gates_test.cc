// The policy's limits: applied as one, obeyed at once by a running fleet, and never a hand's or a breaker's word.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

CONFORMANCE_SUITE(PolicyGates);

TEST_P(PolicyGates, EveryLimitIsAGate) {
  apply_config(R"({"queues":{"work":{"permits":4}},"owners":{"default":{"permits":9},"me":{"weight":3}},
                   "gates":{"all":{"permits":100},"provider:acme":{"rate":"5/s","burst":2},"lock:site":{"permits":2}}})");
  std::vector<std::string> names;
  for (const GateStatus& gate : must(queue().gates())) names.push_back(gate.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"all", "lock:site", "owner:*", "owner:me", "provider:acme", "queue:work"}));
  const GateStatus queue_gate = gate("queue:work").value_or(GateStatus{});
  EXPECT_EQ(queue_gate.permits, 4);
  EXPECT_EQ(queue_gate.in_use, 0);
  ASSERT_EQ(queue_gate.holds.size(), 1U);
  EXPECT_EQ(queue_gate.holds[0].source, HoldSource::kPolicy);
  EXPECT_EQ(gate("owner:me").value_or(GateStatus{}).permits, 9);
  EXPECT_EQ(gate("provider:acme").value_or(GateStatus{}).rate, (Rate{5, Millis(1s), 2}));
}

TEST_P(PolicyGates, AnEmptyPolicyLeavesNoGate) {
  apply_config(R"({"queues":{"work":{"permits":4,"rate":"5/s"}},"owners":{"default":{"permits":9}}})");
  apply_config("{}");
  EXPECT_TRUE(must(queue().gates()).empty());
}

TEST_P(PolicyGates, ChangesOfLimitsAreEvents) {
  apply_config(R"({"queues":{"work":{"permits":4}}})");
  apply_config(R"({"queues":{"work":{"permits":4}},"limits":{"depth":7}})");
  apply_config(R"({"queues":{"work":{"permits":5}}})");
  apply_config("{}");
  EXPECT_EQ(gate_story(), "gate.limited queue:work gate.limited queue:work gate.limited queue:work");
}

TEST_P(PolicyGates, ARunningFleetObeysAtOnce) {
  apply_config(R"({"queues":{"work":{"permits":1}}})");
  enqueue_all(std::vector<TaskSpec>(10, TaskSpec{.type = "work"}));
  EXPECT_EQ(startable(10), 1);
  apply_config(R"({"queues":{"work":{"permits":6}}})");
  EXPECT_EQ(startable(10), 6);
  apply_config(R"({"queues":{"work":{"permits":2}}})");
  EXPECT_EQ(startable(10), 2);
}

TEST_P(PolicyGates, WhatAHandClosedStaysClosed) {
  enqueue_work();
  close_gate("queue:work");
  apply_config(R"({"queues":{"work":{"permits":4}}})");
  EXPECT_EQ(startable(10), 0);
  apply_config("{}");
  EXPECT_EQ(startable(10), 0);
  open_gate("queue:work");
  EXPECT_EQ(startable(10), 1);
}

TEST_P(PolicyGates, ARefusedDocumentChangesNoGate) {
  apply_config(R"({"queues":{"work":{"permits":4}}})");
  EXPECT_EQ(code_of(queue().apply_config(R"({"queues":{"work":{"permits":-1}}})", 1)), ErrorCode::kInvalidConfig);
  EXPECT_EQ(code_of(queue().apply_config(R"({"queues":{"work":{"permits":9}}})", 7)), ErrorCode::kWrongState);
  EXPECT_EQ(gate("queue:work").value_or(GateStatus{}).permits, 4);
}

TEST_P(PolicyGates, OutliveARestart) {
  apply_config(R"({"queues":{"work":{"permits":1}},"owners":{"default":{"permits":3}}})");
  enqueue_all(std::vector<TaskSpec>(3, TaskSpec{.type = "work"}));
  reopen();
  EXPECT_EQ(startable(3), 1);
  EXPECT_EQ(gate("owner:*").value_or(GateStatus{}).permits, 3);
}

}  // namespace
}  // namespace drover::test
