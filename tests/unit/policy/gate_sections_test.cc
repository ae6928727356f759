#include <gtest/gtest.h>

#include "policy/document.h"
#include "policy/policy_gates.h"

namespace drover {
namespace {

Policy policy_of(std::string_view text) {
  auto document = parse_document(text, "drover.yaml");
  if (!document) {
    ADD_FAILURE() << to_string(document.error());
    return {};
  }
  return document->policy;
}

std::string refusal_of(std::string_view text) {
  const auto document = parse_document(text, "drover.yaml");
  if (document) {
    ADD_FAILURE() << "accepted: " << text;
    return {};
  }
  EXPECT_EQ(document.error().code, ErrorCode::kInvalidConfig) << text;
  return document.error().message;
}

constexpr Time kNow{Millis{1'800'000'000'000}};

// The example of the design.
constexpr std::string_view kExample = R"(
types:
  eng-backend: {queue: eng, provider: anthropic, breaker: {failures: 4, window: 30s, open: 2m},
                errors: {overloaded: {close_gate: true}, quota_exhausted: {close_gate: false}}}
  calm: {breaker: off}
queues:
  eng: {permits: 10, rate: "60/min", burst: 10, max_waiting: 50000, reserve: {priority: high, slots: 2}}
  ops:
owners:
  team-a: {weight: 3, permits: 5}
  default: {weight: 2, permits: 20, rate: 5/s}
  team-b: {burst: 7}
gates: {"provider:anthropic": {permits: 8}, "lock:deploy": {permits: 2}, all: {permits: 100}, "type:calm": {rate: 1/h}}
)";

TEST(GateSections, ReadsThemAll) {
  const Policy policy = policy_of(kExample);
  const TypePolicy& eng = policy.type("eng-backend");
  EXPECT_EQ(eng.provider, "anthropic");
  EXPECT_EQ(eng.breaker, (BreakerPolicy{.failures = 4, .window = Millis{30'000}, .open = Millis{120'000}}));
  EXPECT_TRUE(eng.classes[static_cast<std::size_t>(ErrorClass::kOverloaded)].close_gate);
  EXPECT_FALSE(eng.classes[static_cast<std::size_t>(ErrorClass::kQuotaExhausted)].close_gate);
  EXPECT_EQ(policy.type("calm").breaker.failures, 0);
  EXPECT_EQ(policy.type("other").breaker, BreakerPolicy{});

  const QueuePolicy& queue = policy.queues.at("eng");
  EXPECT_EQ(queue.gate, (GatePolicy{.permits = 10, .rate = Rate{60, Millis{60'000}, 10}}));
  EXPECT_EQ(queue.max_waiting, 50'000);
  EXPECT_EQ(queue.reserve, (Reserve{.priority = 2, .slots = 2}));
  EXPECT_EQ(policy.queues.at("ops"), QueuePolicy{});

  EXPECT_EQ(policy.other_owners, (OwnerPolicy{2, {20, Rate{5, Millis{1'000}, 1}}}));
  EXPECT_EQ(policy.owners.at("team-a"), (OwnerPolicy{3, {5, Rate{5, Millis{1'000}, 1}}}));
  EXPECT_EQ(policy.owners.at("team-b"), (OwnerPolicy{2, {20, Rate{5, Millis{1'000}, 7}}}));
  EXPECT_FALSE(policy.owners.contains("default"));

  EXPECT_EQ(policy.gates.at("provider:anthropic").permits, 8);
  EXPECT_EQ(policy.gates.at("type:calm").rate, (Rate{1, Millis{3'600'000}, 1}));
}

TEST(GateSections, ComplaintsNameLineAndPath) {
  EXPECT_EQ(refusal_of("queues:\n  eng: {permit: 1}\n"),
            R"(drover.yaml:2: queues.eng.permit: unknown field "permit" (did you mean "permits"?))");
  EXPECT_EQ(refusal_of("queues: {eng: {permits: -1}}"),
            "drover.yaml:1: queues.eng.permits: expected a whole number from 0 to 1000000, not -1");
  EXPECT_EQ(refusal_of("queues: {'a b': {}}").find("drover.yaml:1: queues.a b: "), 0U);
  EXPECT_EQ(refusal_of("queues: {eng: {rate: fast}}").find("drover.yaml:1: queues.eng.rate: a rate is written like"),
            0U);
  EXPECT_EQ(refusal_of("queues: {eng: {burst: 5}}"), "drover.yaml:1: queues.eng: burst is set, but no rate");
  EXPECT_EQ(refusal_of("queues: {eng: {rate: 1/31d, burst: 1000000}}").find("drover.yaml:1: queues.eng: a burst of"),
            0U);
  EXPECT_EQ(refusal_of("queues: {eng: {reserve: {slots: 0}}}").find("drover.yaml:1: queues.eng.reserve.slots: "), 0U);
  EXPECT_EQ(refusal_of("queues: {eng: {reserve: {priority: 12}}}").find("drover.yaml:1: queues.eng.reserve.priority: "),
            0U);
  EXPECT_EQ(refusal_of("owners:\n  default:\n    weight: 0\n").find("drover.yaml:3: owners.default.weight: "), 0U);
  EXPECT_EQ(refusal_of("owners: {'a b': {}}").find("drover.yaml:1: owners.a b: "), 0U);
  EXPECT_EQ(refusal_of("owners: {team: {burst: 2}}"), "drover.yaml:1: owners.team: burst is set, but no rate");
  EXPECT_EQ(refusal_of("gates: {'queue:eng': {permits: 1}}"),
            "drover.yaml:1: gates.queue:eng: belongs under queues, not under gates");
  EXPECT_EQ(refusal_of("gates: {'owner:o': {permits: 1}}"),
            "drover.yaml:1: gates.owner:o: belongs under owners, not under gates");
  EXPECT_EQ(
      refusal_of("gates: {'moon:x': {permits: 1}}").find(R"(drover.yaml:1: gates.moon:x: "moon:x" is not a gate)"), 0U);
  EXPECT_EQ(refusal_of("gates: {all: {weight: 1}}").find("drover.yaml:1: gates.all.weight: unknown field"), 0U);
  EXPECT_EQ(refusal_of("gates: {all: {burst: 1}}"), "drover.yaml:1: gates.all: burst is set, but no rate");
  EXPECT_EQ(refusal_of("types: {t: {breaker: on}}"),
            "drover.yaml:1: types.t.breaker: expected a mapping or `off`, not \"on\"");
  EXPECT_EQ(refusal_of("types: {t: {breaker: false}}"),
            "drover.yaml:1: types.t.breaker: expected a mapping or `off`, not false");
  EXPECT_EQ(refusal_of("types: {t: {breaker: {failures: 0}}}").find("drover.yaml:1: types.t.breaker.failures: "), 0U);
  EXPECT_EQ(
      refusal_of("types: {t: {errors: {stalled: {close_gate: true}}}}").find("drover.yaml:1: types.t.errors.stalled"),
      0U);
}

// ---- what it does to gates

GateRecord find(const std::vector<GateRecord>& gates, std::string_view name) {
  for (const GateRecord& gate : gates) {
    if (gate.name == name) return gate;
  }
  ADD_FAILURE() << "no gate " << name;
  return {};
}

TEST(PolicyGates, EveryGateThatTheDocumentLimits) {
  const auto gates = policy_gates(policy_of(kExample));
  std::vector<std::string> names;
  for (const GateRecord& gate : gates) names.push_back(gate.name);
  EXPECT_EQ(names, (std::vector<std::string>{"all", "lock:deploy", "owner:*", "owner:team-a", "owner:team-b",
                                             "provider:anthropic", "queue:eng", "type:calm"}));
  EXPECT_EQ(limits_of(find(gates, "queue:eng")).permits, 10);
  EXPECT_EQ(limits_of(find(gates, "queue:eng")).burst, 10);
  EXPECT_EQ(limits_of(find(gates, "owner:*")).permits, 20);
  EXPECT_EQ(limits_of(find(gates, "type:calm")).permits, std::nullopt);
  EXPECT_TRUE(policy_gates(Policy{}).empty());
}

GateRecord obeying(GateRecord gate, const Policy& policy) {
  obey_policy(gate, policy, kNow);
  return gate;
}

TEST(PolicyGates, AGateThatTheDocumentDropsIsFree) {
  const Policy policy = policy_of(kExample);
  const GateRecord limited = obeying({.name = "queue:eng"}, policy);
  EXPECT_EQ(limits_of(limited).permits, 10);
  EXPECT_TRUE(is_default(obeying(limited, Policy{})));
}

TEST(PolicyGates, HoldsOfOthersStay) {
  GateRecord gate{.name = "queue:eng"};
  set_hold(gate, Hold{.source = HoldSource::kOperator, .closed_until = kUntilOpened});
  gate = obeying(gate, policy_of(kExample));
  EXPECT_EQ(gate.holds.size(), 2U);
  gate = obeying(gate, Policy{});
  EXPECT_EQ(gate.holds.size(), 1U);
  EXPECT_EQ(gate.holds.front().source, HoldSource::kOperator);
}

TEST(PolicyGates, AHoldThatSaysTheSameKeepsItsTime) {
  const Policy policy = policy_of(kExample);
  GateRecord gate = obeying({.name = "queue:eng"}, policy);
  obey_policy(gate, policy, kNow + Millis{5});
  EXPECT_EQ(gate.holds.front().since, kNow);
}

TEST(PolicyGates, AnOwnerThatIsHeldBackObeysTheOthersLimitToo) {
  const Policy policy = policy_of("owners: {default: {permits: 4}}");
  EXPECT_TRUE(is_default(obeying({.name = "owner:bob"}, policy))) << "owner:* is enough";
  GateRecord gate{.name = "owner:bob"};
  set_hold(gate, Hold{.source = HoldSource::kOperator, .permits = 9});
  gate = obeying(gate, policy);
  EXPECT_EQ(limits_of(gate).permits, 4);
  drop_hold(gate, HoldSource::kOperator);
  EXPECT_TRUE(is_default(obeying(gate, policy)));
}

TEST(PolicyGates, ALockThatIsHeldBackStillHasOnePermit) {
  GateRecord gate{.name = "lock:deploy"};
  set_hold(gate, Hold{.source = HoldSource::kOperator, .closed_until = kNow});
  EXPECT_EQ(limits_of(obeying(gate, Policy{})).permits, 1);
  EXPECT_TRUE(is_default(obeying({.name = "lock:deploy"}, Policy{})));
}

TEST(PolicyGates, ACountOfFailuresKeepsAGate) {
  GateRecord gate{.name = "type:calm"};
  gate.breaker.failures = 1;
  EXPECT_FALSE(is_default(obeying(gate, Policy{})));
}

}  // namespace
}  // namespace drover
