// Gates under contention: what moved is decided again, and nothing counts twice.
#include "support/together.h"
#include "unit/engine/engine_fixture.h"

namespace drover::test {
namespace {

class EngineGates : public EngineTest {
 protected:
  void apply_config(const JsonText& document) { must(engine_.apply_config(document, must(engine_.config()).version)); }
  std::optional<GateStatus> gate(const std::string& name) {
    for (GateStatus& gate : must(engine_.gates())) {
      if (gate.name == name) return std::move(gate);
    }
    return std::nullopt;
  }
  int failures(const std::string& type) {
    const std::vector<std::string> names{"type:" + type};
    return must(store_->read_gates(names)).front().record.breaker.failures;
  }
};

TEST_F(EngineGates, AFailureThatIsDecidedAgainCountsOnce) {
  const Lease lease = start_work();
  conflict(3);
  must(engine_.fail(lease, {.message = "no"}));
  EXPECT_EQ(failures("work"), 1);
}

TEST_F(EngineGates, AStaleGuessThatAGateIsAtRestIsFoundOut) {
  const Lease first = start_work();
  const Lease second = start_work();
  const Lease third = start_work();
  must(engine_.complete(first, {}));  // from now on this engine takes the gate to be at rest
  Engine other(*store_, rng_);
  must(other.fail(second, {.message = "no"}));
  EXPECT_EQ(failures("work"), 1);
  must(engine_.complete(third, {}));
  EXPECT_EQ(failures("work"), 0) << "the success was told to the gate";
}

TEST_F(EngineGates, TooMuchContentionChangesNoGate) {
  conflict(kDecideTriesMax);
  EXPECT_EQ(code_of(engine_.set_gate({.gate = "all", .what = GateOrder::Close{}})), ErrorCode::kStoreUnavailable);
  EXPECT_EQ(gate("all"), std::nullopt);
  conflict(kDecideTriesMax - 1);
  must(engine_.set_gate({.gate = "all", .what = GateOrder::Close{}}));
  EXPECT_NE(gate("all"), std::nullopt);
}

TEST_F(EngineGates, AnOrderThatChangesNothingWritesNothing) {
  must(engine_.set_gate({.gate = "all", .what = GateOrder::Open{}}));
  must(engine_.set_gate({.gate = "lock:site", .what = GateOrder::Limit{}}));
  EXPECT_EQ(must(engine_.last_event_seq()), 0);
}

TEST_F(EngineGates, ADedupeThatLostARaceIsDecidedAgain) {
  const TaskSpec spec{.type = "work", .dedupe_key = "k"};
  conflict(2);
  const TaskId id = enqueue(spec);
  conflict(2);
  EXPECT_EQ(enqueue(spec), id);
  EXPECT_EQ(count({}), 1U);
}

TEST_F(EngineGates, ManyAtOnceWithOneKeyMakeOneTask) {
  constexpr int kCallers = 8;
  together(kCallers, [&](int) { enqueue({.type = "work", .dedupe_key = "k"}); });
  EXPECT_EQ(count({}), 1U);
}

TEST_F(EngineGates, OrdersAtTheSameMomentAreAllCarriedOut) {
  apply_config(R"({"owners":{"default":{"permits":3}}})");
  together(8, [&](int i) {
    must(engine_.set_gate({.gate = "owner:o" + std::to_string(i % 2), .what = GateOrder::Limit{i + 1}}));
    if (i == 4) apply_config(R"({"owners":{"default":{"permits":5}}})");
  });
  for (const char* name : {"owner:o0", "owner:o1"}) {
    const GateStatus status = gate(name).value_or(GateStatus{});
    ASSERT_EQ(status.holds.size(), 2U) << name;
    EXPECT_EQ(status.holds[0].permits, 5) << "the policy that holds now";
  }
}

TEST_F(EngineGates, PoliciesAtTheSameMomentLeaveTheGatesOfTheLastOne) {
  constexpr int kAppliers = 4;
  for (int round = 0; round < 10; ++round) {
    together(kAppliers, [&](int i) {
      const JsonText document = fmt::format(R"({{"owners":{{"o":{{"permits":{}}}}}}})", kAppliers * round + i + 1);
      for (int tries = 0; tries < 100; ++tries) {
        const auto applied = engine_.apply_config(document, must(engine_.config()).version);
        if (applied) return;
        ASSERT_EQ(applied.error().code, ErrorCode::kWrongState);
      }
      ADD_FAILURE() << "never applied";
    });
    const GateStatus status = gate("owner:o").value_or(GateStatus{});
    ASSERT_EQ(status.holds.size(), 1U);
    EXPECT_EQ(must(engine_.config()).document,
              fmt::format(R"({{"owners":{{"o":{{"permits":{}}}}}}})", *status.holds[0].permits));
  }
}

}  // namespace
}  // namespace drover::test
