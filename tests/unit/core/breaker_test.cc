#include "core/breaker.h"

#include "records.h"

namespace drover {
namespace {

using namespace drover::testing;

constexpr BreakerPolicy kPolicy{.failures = 3, .window = Millis{60'000}, .open = Millis{10'000}};
constexpr Time kStarted = kNow - Millis{5};

BreakerChange feed(GateRecord& gate, RunVerdict verdict, Time now = kNow, Time started_at = kStarted) {
  return feed_breaker(gate, kPolicy, verdict, started_at, now);
}

GateRecord open_gate() {
  GateRecord gate{.name = "type:eng"};
  for (int i = 0; i < 3; ++i) static_cast<void>(feed(gate, RunVerdict::kBad));
  return gate;
}

Settlement failed(ErrorClass error_class) {
  return {Lease{}, Failure{.error_class = error_class}};
}

TEST(Breaker, WhichEndsSaySomethingOfTheType) {
  const TypePolicy type;
  EXPECT_EQ(verdict_of({Lease{}, Completion{}}, type), RunVerdict::kGood);
  EXPECT_EQ(verdict_of({Lease{}, Release{}}, type), RunVerdict::kNeither);
  EXPECT_EQ(verdict_of({Lease{}, CancelConfirmed{}}, type), RunVerdict::kNeither);
  for (int i = 0; i < kErrorClassCount; ++i) {
    const auto error_class = static_cast<ErrorClass>(i);
    const bool bad = error_class == ErrorClass::kAgentError || error_class == ErrorClass::kTimeout ||
                     error_class == ErrorClass::kKilled || error_class == ErrorClass::kSpawnFailed;
    EXPECT_EQ(verdict_of(failed(error_class), type), bad ? RunVerdict::kBad : RunVerdict::kNeither)
        << name_of(error_class);
  }
}

TEST(Breaker, AnUnprovenCompletionIsNotGood) {
  TypePolicy type;
  type.verify = VerifyRule::kRequired;
  Settlement settlement{Lease{}, Completion{}};
  EXPECT_EQ(verdict_of(settlement, type), RunVerdict::kNeither);
  settlement.report.evidence = R"({"exit_code":0})";
  EXPECT_EQ(verdict_of(settlement, type), RunVerdict::kGood);
}

TEST(Breaker, FailuresInARowOpenIt) {
  GateRecord gate{.name = "type:eng"};
  EXPECT_EQ(feed(gate, RunVerdict::kBad), BreakerChange::kCounted);
  EXPECT_EQ(feed(gate, RunVerdict::kNeither), BreakerChange::kNone);
  EXPECT_EQ(feed(gate, RunVerdict::kBad), BreakerChange::kCounted);
  EXPECT_EQ(gate.breaker.failures, 2);
  EXPECT_TRUE(gate.holds.empty());
  EXPECT_EQ(feed(gate, RunVerdict::kBad), BreakerChange::kOpened);
  const Hold* hold = find_hold(gate, HoldSource::kBreaker);
  ASSERT_NE(hold, nullptr);
  EXPECT_EQ(hold->closed_until, kNow + kPolicy.open);
  EXPECT_EQ(hold->permits, 1);
  EXPECT_EQ(hold->why, "3 failures in a row");
  EXPECT_EQ(gate.breaker, BreakerCount{});
}

TEST(Breaker, ASuccessBeginsTheRowAnew) {
  GateRecord gate{.name = "type:eng"};
  EXPECT_EQ(feed(gate, RunVerdict::kGood), BreakerChange::kNone);
  static_cast<void>(feed(gate, RunVerdict::kBad));
  static_cast<void>(feed(gate, RunVerdict::kBad));
  EXPECT_EQ(feed(gate, RunVerdict::kGood), BreakerChange::kCounted);
  EXPECT_TRUE(is_default(gate));
  EXPECT_EQ(feed(gate, RunVerdict::kBad), BreakerChange::kCounted);
}

TEST(Breaker, OnlyFailuresOfOneWindowCount) {
  GateRecord gate{.name = "type:eng"};
  static_cast<void>(feed(gate, RunVerdict::kBad, kNow));
  static_cast<void>(feed(gate, RunVerdict::kBad, kNow + kPolicy.window));
  EXPECT_EQ(gate.breaker.failures, 2);
  EXPECT_EQ(feed(gate, RunVerdict::kBad, kNow + kPolicy.window + Millis{1}), BreakerChange::kCounted);
  EXPECT_EQ(gate.breaker, (BreakerCount{1, kNow + kPolicy.window + Millis{1}}));
}

TEST(Breaker, RunsFromBeforeTheOpeningSayNothing) {
  GateRecord gate = open_gate();
  const GateRecord before = gate;
  const Time probe_time = kNow + kPolicy.open;
  for (const RunVerdict verdict : {RunVerdict::kGood, RunVerdict::kBad}) {
    EXPECT_EQ(feed(gate, verdict, probe_time + Millis{1}, probe_time - Millis{1}), BreakerChange::kNone);
  }
  EXPECT_EQ(gate, before);
}

TEST(Breaker, TheProbeDecides) {
  const Time probe_time = kNow + kPolicy.open;
  GateRecord good = open_gate();
  EXPECT_EQ(feed(good, RunVerdict::kGood, probe_time + Millis{5}, probe_time), BreakerChange::kClosed);
  EXPECT_TRUE(is_default(good));

  GateRecord bad = open_gate();
  EXPECT_EQ(feed(bad, RunVerdict::kBad, probe_time + Millis{5}, probe_time), BreakerChange::kReopened);
  const Hold* hold = find_hold(bad, HoldSource::kBreaker);
  ASSERT_NE(hold, nullptr);
  EXPECT_EQ(hold->closed_until, probe_time + Millis{5} + kPolicy.open);
  EXPECT_EQ(hold->why, "its probe failed");

  GateRecord neither = open_gate();
  EXPECT_EQ(feed(neither, RunVerdict::kNeither, probe_time + Millis{5}, probe_time), BreakerChange::kNone);
  EXPECT_NE(find_hold(neither, HoldSource::kBreaker), nullptr);
}

TEST(Breaker, NeverOpensWhatAnOperatorClosed) {
  GateRecord gate = open_gate();
  set_hold(gate, Hold{.source = HoldSource::kOperator, .closed_until = kUntilOpened});
  const Time probe_time = kNow + kPolicy.open;
  EXPECT_EQ(feed(gate, RunVerdict::kGood, probe_time, probe_time), BreakerChange::kClosed);
  EXPECT_EQ(limits_of(gate).closed_until, kUntilOpened);
}

TEST(Breaker, Off) {
  GateRecord gate{.name = "type:eng"};
  const BreakerPolicy off{.failures = 0};
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(feed_breaker(gate, off, RunVerdict::kBad, kStarted, kNow), BreakerChange::kNone);
  }
  EXPECT_TRUE(is_default(gate));
}

}  // namespace
}  // namespace drover
