// A provider that says "no more" closes its gate for everybody; then it lets one run through, and more with each
// answer.
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
  // As if the run had sat out a refusal, or had its first answer.
  void say(const Lease& lease, const ProviderSignal& signal) { must(queue().report(lease, {.provider = signal})); }
  int permits() { return gate("provider:acme").value_or(GateStatus{}).permits.value_or(-1); }
  // A task that waits.
  TaskId claimable() { return must(queue().list({.states = {TaskState::kPending}}, 1, std::nullopt)).tasks.at(0).id; }
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
  EXPECT_EQ(claim(5).size(), 1U);
  EXPECT_EQ(state(waiting), TaskState::kRunning);
  EXPECT_EQ(gate_story(), "gate.closed provider:acme provider.slowdown provider:acme");
}

TEST_P(Provider, WithoutAResetForFifteenSeconds) {
  exhaust(start_work(), std::nullopt);
  EXPECT_EQ(closed_until(), now() + 15s);
}

TEST_P(Provider, ReopensOneByOne) {
  enqueue_all(std::vector<TaskSpec>(20, TaskSpec{.type = "work"}));
  std::vector<ClaimedTask> running = claim(8);
  ASSERT_EQ(running.size(), 8U);
  exhaust(running[0].lease, 5s, ErrorClass::kRateLimited);
  EXPECT_TRUE(claim(5).empty());
  pass(5s);
  std::vector<ClaimedTask> first = claim(5);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_TRUE(claim(5).empty());
  say(first[0].lease, {.answered = true});
  EXPECT_EQ(permits(), 2);
  std::vector<ClaimedTask> second = claim(5);
  ASSERT_EQ(second.size(), 1U);
  // Repeated, it says nothing new; and no more does an old run.
  say(first[0].lease, {.answered = true});
  say(running[1].lease, {.answered = true});
  EXPECT_EQ(permits(), 2);
  complete(second[0].lease);
  EXPECT_EQ(permits(), 4);
  EXPECT_EQ(claim(9).size(), 3U);
}

TEST_P(Provider, ARefusalInsideARunClosesItForTheOthers) {
  enqueue_all(std::vector<TaskSpec>(3, TaskSpec{.type = "work"}));
  const Lease lease = claim(1).at(0).lease;
  say(lease, {.throttle = ProviderThrottle{ErrorClass::kRateLimited, 20s}});
  EXPECT_EQ(closed_until(), now() + 20s);
  EXPECT_TRUE(claim(1).empty());
  // It goes on by itself, and says the same again.
  pass(10s);
  say(lease, {.throttle = ProviderThrottle{ErrorClass::kRateLimited, 20s}});
  EXPECT_EQ(closed_until(), now() + 10s);
  pass(10s);
  EXPECT_EQ(claim(2).size(), 1U);
}

TEST_P(Provider, ALateRefusalCutsNothing) {
  enqueue_all(std::vector<TaskSpec>(4, TaskSpec{.type = "work"}));
  std::vector<ClaimedTask> running = claim(3);
  pass(1s);
  exhaust(running[0].lease, 5s, ErrorClass::kRateLimited);
  pass(4s);
  exhaust(running[1].lease, 5s, ErrorClass::kRateLimited);
  pass(1s);
  EXPECT_EQ(claim(5).size(), 1U);
  exhaust(running[2].lease, 5s, ErrorClass::kRateLimited);
  EXPECT_EQ(closed_until(), std::nullopt);
}

TEST_P(Provider, RecoversAtTheLimitOfThePolicy) {
  apply_config(R"({"types":{"work":{"provider":"acme"}},"gates":{"provider:acme":{"permits":2}}})");
  enqueue_all(std::vector<TaskSpec>(4, TaskSpec{.type = "work"}));
  exhaust(claim(1).at(0).lease, 30s, ErrorClass::kOverloaded);
  pass(30s);
  complete(claim(1).at(0).lease);
  EXPECT_EQ(permits(), 2);
  EXPECT_EQ(claim(5).size(), 2U);
  EXPECT_EQ(gate_story(),
            "gate.limited provider:acme gate.closed provider:acme provider.slowdown provider:acme "
            "provider.recovered provider:acme");
}

TEST_P(Provider, AnOperatorsPauseSurvivesTheRecovery) {
  apply_config(R"({"types":{"work":{"provider":"acme"}},"gates":{"provider:acme":{"permits":2}}})");
  enqueue_all(std::vector<TaskSpec>(3, TaskSpec{.type = "work"}));
  const std::vector<ClaimedTask> running = claim(1);
  exhaust(running[0].lease, 1s, ErrorClass::kRateLimited);
  pass(1s);
  const Lease probe = claim(1).at(0).lease;
  close_gate("provider:acme");
  complete(probe);
  EXPECT_TRUE(claim(5).empty());
  open_gate("provider:acme");
  EXPECT_FALSE(claim(5).empty());
}

TEST_P(Provider, AnExitCodeAloneSaysNothingOfIt) {
  const Lease lease = start_work();
  EXPECT_EQ(must(queue().fail(lease, {.error_class = ErrorClass::kRateLimited, .exit_code = 75, .by_exit_code = true})),
            TaskState::kScheduled);
  EXPECT_EQ(closed_until(), std::nullopt);
}

TEST_P(Provider, ExplainsHowItReopens) {
  enqueue_all(std::vector<TaskSpec>(3, TaskSpec{.type = "work"}));
  exhaust(claim(1).at(0).lease, 30s, ErrorClass::kRateLimited);
  const TaskId waiting = claimable();
  EXPECT_TRUE(must(queue().explain(waiting)).text.contains("then lets one task start at a time"));
  pass(30s);
  ASSERT_EQ(claim(5).size(), 1U);
  EXPECT_TRUE(must(queue().explain(claimable())).text.contains("every run that the provider answers lets more start"));
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
  EXPECT_EQ(gate_story(), "gate.closed provider:acme provider.slowdown provider:acme");
}

TEST_P(Provider, OtherClassesLeaveItOpen) {
  exhaust(start_work(), 10min, ErrorClass::kAgentError);
  exhaust(start_work(), 10min, ErrorClass::kAuth);
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
