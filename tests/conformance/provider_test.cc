// A provider that says "no more" closes its gate for everybody until its reset.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

class Provider : public ConformanceTest {
 protected:
  void SetUp() override {
    apply_config(R"({"types":{"work":{"provider":"acme"},"more":{"provider":"acme","queue":"work"},
                              "other":{"queue":"work","errors":{"overloaded":{"close_gate":true}}}}})");
  }
  TaskState exhaust(const Lease& lease, std::optional<Millis> retry_after,
                    ErrorClass error_class = ErrorClass::kQuotaExhausted) {
    return must(queue().fail(lease, {.error_class = error_class, .message = "no more", .retry_after = retry_after}))
        .state;
  }
  std::optional<Time> closed_until() { return gate("provider:acme").value_or(GateStatus{}).closed_until; }
};
ON_EVERY_STORE(Provider);

TEST_P(Provider, QuotaExhaustedClosesItsGateUntilTheReset) {
  const Lease lease = start_work();
  const TaskId waiting = enqueue({.type = "more"});
  const TaskId free = enqueue({.type = "other"});
  EXPECT_EQ(exhaust(lease, 10min), TaskState::kScheduled);
  EXPECT_EQ(closed_until(), now() + 10min);
  complete(start(free));
  EXPECT_TRUE(claim(1).empty());
  pass(10min);
  EXPECT_EQ(claim(5).size(), 2U);
  EXPECT_EQ(state(waiting), TaskState::kRunning);
  EXPECT_EQ(gate_story(), "gate.closed provider:acme");
}

TEST_P(Provider, WithoutAResetForAMinute) {
  exhaust(start_work(), std::nullopt);
  EXPECT_EQ(closed_until(), now() + 1min);
}

TEST_P(Provider, TheLatestResetWins) {
  const Lease first = start_work();
  const Lease second = start_work();
  const Lease third = start_work();
  exhaust(first, 10min);
  exhaust(second, 5min);
  EXPECT_EQ(closed_until(), now() + 10min);
  exhaust(third, 20min);
  EXPECT_EQ(closed_until(), now() + 20min);
}

TEST_P(Provider, ABatchOfThemClosesItOnce) {
  enqueue_all(std::vector<TaskSpec>(80, TaskSpec{.type = "work"}));
  std::vector<Settlement> ends;
  for (const ClaimedTask& task : claim(80)) {
    ends.push_back({task.lease, Failure{.error_class = ErrorClass::kQuotaExhausted, .retry_after = 1h}});
  }
  ASSERT_EQ(ends.size(), 80U);
  for (const auto& answer : queue().settle(ends)) EXPECT_TRUE(answer);
  EXPECT_EQ(closed_until(), now() + 1h);
  EXPECT_EQ(gate_story(), "gate.closed provider:acme");
}

TEST_P(Provider, OtherClassesLeaveItOpen) {
  exhaust(start_work(), 10min, ErrorClass::kRateLimited);
  exhaust(start_work(), 10min, ErrorClass::kOverloaded);
  EXPECT_EQ(closed_until(), std::nullopt);
}

TEST_P(Provider, AClassMayBeToldToCloseIt) {
  apply_config(R"({"types":{"work":{"provider":"acme","errors":{"overloaded":{"close_gate":true},
                                                                "quota_exhausted":{"close_gate":false}}}}})");
  exhaust(start_work(), 10min);
  EXPECT_EQ(closed_until(), std::nullopt);
  exhaust(start_work(), 10min, ErrorClass::kOverloaded);
  EXPECT_EQ(closed_until(), now() + 10min);
}

TEST_P(Provider, ATaskWithoutAProviderClosesNothing) {
  enqueue({.type = "other"});
  exhaust(claim_one().lease, 10min);
  EXPECT_TRUE(must(queue().gates()).empty());
}

TEST_P(Provider, AStaleLeaseHasNoSay) {
  const Lease lease = start_work();
  lose(lease);
  EXPECT_EQ(code_of(queue().fail(lease, {.error_class = ErrorClass::kQuotaExhausted, .retry_after = 1h})),
            ErrorCode::kStaleLease);
  EXPECT_EQ(closed_until(), std::nullopt);
}

TEST_P(Provider, IsOpenedByHand) {
  const Lease lease = start_work();
  const TaskId waiting = enqueue({.type = "more"});
  exhaust(lease, 1h);
  open_gate("provider:acme");
  EXPECT_EQ(claim_one().task.id, waiting);
}

}  // namespace
}  // namespace drover::test
