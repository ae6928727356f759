// The circuit breaker of a type: failures in a row close its gate, then one probe decides.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

class CircuitBreaker : public ConformanceTest {
 protected:
  void SetUp() override {
    apply_config(R"({"types":{"work":{"breaker":{"failures":3,"window":"60s","open":"30s"},"max_attempts":1}}})");
  }
  void fail_some(int count) {
    for (int i = 0; i < count; ++i) fail(start_work());
  }
  // Three failures in a row: closed for 30 s.
  void open_breaker() {
    fail_some(3);
    ASSERT_EQ(gate("type:work").value_or(GateStatus{}).closed_until, now() + 30s);
  }
};
ON_EVERY_STORE(CircuitBreaker);

TEST_P(CircuitBreaker, FailuresInARowOpenIt) {
  fail_some(2);
  EXPECT_EQ(gate("type:work"), std::nullopt);
  const TaskId waiting = enqueue_work();
  fail(start(waiting));
  enqueue_work();
  EXPECT_TRUE(claim(1).empty());
  EXPECT_EQ(gate_story(), "breaker.opened type:work");
}

TEST_P(CircuitBreaker, HoldsUpItsOwnTypeOnly) {
  open_breaker();
  enqueue_work();
  const TaskId other = enqueue({.type = "other", .queue = "work"});
  EXPECT_EQ(claim_one().task.id, other);
  EXPECT_TRUE(claim(1).empty());
}

TEST_P(CircuitBreaker, ASuccessInBetweenBeginsAnew) {
  fail_some(2);
  complete(start_work());
  fail_some(2);
  EXPECT_EQ(gate("type:work"), std::nullopt);
  fail_some(1);
  EXPECT_NE(gate("type:work"), std::nullopt);
}

// It says that it is done, and is not believed.
TEST_P(CircuitBreaker, ACompletionWithoutTheRequiredProofIsNoSuccess) {
  apply_config(R"({"types":{"work":{"verify":"required","max_attempts":1,
                                    "breaker":{"failures":3,"window":"60s","open":"30s"}}}})");
  const auto complete_unproven = [&](const Lease& lease) {
    const Settlement item{.lease = lease, .end = Completion{}};
    EXPECT_EQ(must(queue().settle(std::span(&item, 1)).front()), TaskState::kFailed);
  };
  fail_some(2);
  complete_unproven(start_work());
  fail_some(1);
  EXPECT_EQ(gate("type:work").value_or(GateStatus{}).closed_until, now() + 30s) << "three failures in a row";
  pass(30s);
  complete_unproven(start_work());
  EXPECT_EQ(gate_story(), "breaker.opened type:work") << "the probe has shown nothing";
}

TEST_P(CircuitBreaker, OnlyFailuresOfTheTypeCount) {
  for (const ErrorClass error_class :
       {ErrorClass::kInvalid, ErrorClass::kRateLimited, ErrorClass::kOom, ErrorClass::kAuth, ErrorClass::kOverloaded}) {
    fail(start_work(), error_class);
  }
  release(start_work());
  EXPECT_EQ(gate("type:work"), std::nullopt);
}

TEST_P(CircuitBreaker, OldFailuresDoNotCount) {
  fail_some(2);
  pass(61s);
  fail_some(2);
  EXPECT_EQ(gate("type:work"), std::nullopt);
}

TEST_P(CircuitBreaker, AfterAWhileOneProbeGoesThrough) {
  open_breaker();
  for (int i = 0; i < 5; ++i) enqueue_work();
  pass(30s);
  const auto probe = claim(5);
  ASSERT_EQ(probe.size(), 1U);
  EXPECT_TRUE(claim(5).empty());
  complete(probe[0].lease);
  EXPECT_EQ(claim(5).size(), 4U);
  EXPECT_EQ(gate_story(), "breaker.opened type:work breaker.closed type:work");
  EXPECT_EQ(gate("type:work"), std::nullopt);
}

TEST_P(CircuitBreaker, AProbeThatFailsClosesItAgain) {
  open_breaker();
  enqueue_work();
  enqueue_work();
  pass(30s);
  fail(claim_one().lease);
  EXPECT_TRUE(claim(1).empty());
  EXPECT_EQ(gate("type:work").value_or(GateStatus{}).closed_until, now() + 30s);
  pass(30s);
  complete(claim_one().lease);
  EXPECT_EQ(gate_story(), "breaker.opened type:work breaker.reopened type:work breaker.closed type:work");
}

TEST_P(CircuitBreaker, AProbeWhoseWorkerDiesFreesItsPlace) {
  open_breaker();
  const TaskId id = enqueue_work();
  pass(30s);
  lose(start(id));
  EXPECT_EQ(claim_one().task.id, id);
}

TEST_P(CircuitBreaker, AProbeThatIsCancelledFreesItsPlace) {
  open_breaker();
  const TaskId id = enqueue_work();
  const TaskId next = enqueue_work();
  pass(30s);
  const Lease probe = start(id);
  cancel(id);
  settle({probe, CancelConfirmed{}});
  EXPECT_EQ(claim_one().task.id, next);
}

TEST_P(CircuitBreaker, AProbeThatSaysNothingMakesRoomForTheNext) {
  open_breaker();
  const TaskId id = enqueue_work();
  const TaskId next = enqueue_work();
  pass(30s);
  fail(start(id), ErrorClass::kInvalid);
  complete(start(next));
  EXPECT_EQ(gate("type:work"), std::nullopt);
}

TEST_P(CircuitBreaker, RunsFromBeforeSayNothingAfterwards) {
  const Lease slow = start_work();
  const Lease slower = start_work();
  open_breaker();
  complete(slow);
  EXPECT_NE(gate("type:work"), std::nullopt);
  pass(kLease - 1ms);
  EXPECT_EQ(renew(slower), LeaseState::kHeld);
  pass(1s);
  complete(slower);
  EXPECT_NE(gate("type:work"), std::nullopt) << "it was no probe";
}

TEST_P(CircuitBreaker, ABatchOfEndsCountsOneByOne) {
  enqueue_all(std::vector<TaskSpec>(6, TaskSpec{.type = "work"}));
  std::vector<Settlement> ends;
  for (const ClaimedTask& task : claim(4)) ends.push_back({task.lease, Failure{.message = "no"}});
  ends[1].end = Completion{};
  for (const auto& answer : queue().settle(ends)) EXPECT_TRUE(answer);
  EXPECT_EQ(gate("type:work"), std::nullopt) << "two in a row after the success";
  fail(claim_one().lease);
  EXPECT_TRUE(claim(1).empty());
}

TEST_P(CircuitBreaker, ABatchOfEndsOpensIt) {
  enqueue_all(std::vector<TaskSpec>(100, TaskSpec{.type = "work"}));
  std::vector<Settlement> ends;
  for (const ClaimedTask& task : claim(90)) ends.push_back({task.lease, Failure{.message = "no"}});
  for (const auto& answer : queue().settle(ends)) EXPECT_TRUE(answer);
  EXPECT_TRUE(claim(10).empty());
  EXPECT_EQ(gate_story(), "breaker.opened type:work");
}

TEST_P(CircuitBreaker, DoesNotOpenWhatAnOperatorClosed) {
  open_breaker();
  const TaskId id = enqueue_work();
  const TaskId next = enqueue_work();
  pass(30s);
  const Lease probe = start(id);
  close_gate("type:work");
  complete(probe);
  EXPECT_TRUE(claim(1).empty());
  open_gate("type:work");
  EXPECT_EQ(claim_one().task.id, next);
}

TEST_P(CircuitBreaker, IsOpenedByHand) {
  open_breaker();
  enqueue_work();
  enqueue_work();
  open_gate("type:work");
  EXPECT_EQ(claim(5).size(), 2U);
}

TEST_P(CircuitBreaker, TheDefaultIsFiveFailuresInAMinute) {
  apply_config(R"({"types":{"work":{"max_attempts":1}}})");
  fail_some(4);
  EXPECT_EQ(gate("type:work"), std::nullopt);
  fail_some(1);
  EXPECT_EQ(gate("type:work").value_or(GateStatus{}).closed_until, now() + 60s);
}

TEST_P(CircuitBreaker, Off) {
  open_breaker();
  apply_config(R"({"types":{"work":{"breaker":"off","max_attempts":1}}})");
  EXPECT_EQ(gate("type:work"), std::nullopt) << "what it had closed is open";
  fail_some(20);
  EXPECT_EQ(gate("type:work"), std::nullopt);
}

TEST_P(CircuitBreaker, OutlivesARestart) {
  fail_some(2);
  reopen();
  fail_some(1);
  enqueue_work();
  reopen();
  EXPECT_TRUE(claim(1).empty());
  pass(30s);
  EXPECT_EQ(claim(5).size(), 1U);
}

}  // namespace
}  // namespace drover::test
