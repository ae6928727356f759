#include "core/gate.h"

#include "records.h"

namespace drover {
namespace {

using namespace drover::testing;

Hold closed(HoldSource source, Time until) {
  return {.source = source, .closed_until = until, .why = "w", .by = "b", .since = kCreated};
}
Hold limited(HoldSource source, int permits) {
  return {.source = source, .permits = permits, .why = "w", .by = "b", .since = kCreated};
}

TEST(GateNames, Sources) {
  for (int i = 0; i < kHoldSourceCount; ++i) {
    const auto source = static_cast<HoldSource>(i);
    EXPECT_EQ(parse_hold_source(name_of(source)), source);
  }
  EXPECT_EQ(parse_hold_source("weather"), std::nullopt);
  EXPECT_EQ(name_of(Explanation::Reason::kNoWorker), "no_worker");
  EXPECT_EQ(name_of(Explanation::Reason::kStoreRegressed), "store_regressed");
}

TEST(GateNames, WhatIsAGate) {
  for (const std::string_view name :
       {"all", "queue:q", "type:t", "owner:o", "lock:k", "provider:p", "lock:a:b@c", "tag:x"}) {
    EXPECT_TRUE(check_gate_name(name)) << name;
  }
  for (const std::string_view name : {"", "All", "queue", "queue:", "queue:a b", "owner:*", "tags:x", "alle"}) {
    const auto status = check_gate_name(name);
    ASSERT_FALSE(status) << name;
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  }
}

// ---- rates

TEST(RateText, Reads) {
  const std::pair<std::string_view, Rate> cases[] = {
      {"60/min", {60, Millis{60'000}, 1}},       {"5/s", {5, Millis{1'000}, 1}},
      {"1000/h", {1'000, Millis{3'600'000}, 1}}, {"100/10s", {100, Millis{10'000}, 1}},
      {"1/1m30s", {1, Millis{90'000}, 1}},       {"1000000/31d", {1'000'000, std::chrono::days(31), 1}},
  };
  for (const auto& [text, rate] : cases) {
    const auto read = parse_rate(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(*read, rate) << text;
    EXPECT_EQ(parse_rate(to_string(*read)), read);
  }
  EXPECT_EQ(to_string(Rate{60, Millis{60'000}, 1}), "60/1m");
}

TEST(RateText, Refuses) {
  for (const std::string_view text : {"", "60", "60/", "/min", "0/s", "-1/s", "x/s", "6x/s", "1000001/s", "5/0s",
                                      "5/-s", "5/x", "1/32d", "99999999999999999999/s"}) {
    const auto read = parse_rate(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(RateText, ABurstComesBackInTime) {
  EXPECT_TRUE(check_rate({1, std::chrono::days(31), 1'000}));
  EXPECT_FALSE(check_rate({1, std::chrono::days(31), 1'000'000}));
}

// ---- holds

TEST(GateHolds, OnePerSourceInTheirOrder) {
  GateRecord gate;
  EXPECT_TRUE(is_default(gate));
  EXPECT_EQ(find_hold(gate, HoldSource::kOperator), nullptr);
  set_hold(gate, limited(HoldSource::kOperator, 3));
  set_hold(gate, limited(HoldSource::kPolicy, 9));
  set_hold(gate, limited(HoldSource::kOperator, 4));
  ASSERT_EQ(gate.holds.size(), 2U);
  EXPECT_EQ(gate.holds[0].source, HoldSource::kPolicy);
  EXPECT_EQ(find_hold(gate, HoldSource::kOperator)->permits, 4);
  EXPECT_FALSE(is_default(gate));
  drop_hold(gate, HoldSource::kOperator);
  drop_hold(gate, HoldSource::kPolicy);
  EXPECT_TRUE(is_default(gate));
}

TEST(GateHolds, ARateOrACountIsSomethingToKeep) {
  GateRecord rated;
  rated.rate = Rate{};
  EXPECT_FALSE(is_default(rated));
  GateRecord counting;
  counting.breaker.failures = 1;
  EXPECT_FALSE(is_default(counting));
}

TEST(GateLimits, TheLatestTimeAndTheFewestPermitsWin) {
  GateRecord gate;
  EXPECT_EQ(limits_of(gate), GateLimits{});
  EXPECT_FALSE(limits_of(gate).limits_anything());
  set_hold(gate, closed(HoldSource::kProvider, kNow));
  set_hold(gate, closed(HoldSource::kOperator, kNow + Millis{5}));
  EXPECT_EQ(limits_of(gate).closed_until, kNow + Millis{5});
  EXPECT_TRUE(limits_of(gate).limits_anything());

  gate = {};
  set_hold(gate, limited(HoldSource::kPolicy, 4));
  set_hold(gate, limited(HoldSource::kOperator, 2));
  EXPECT_EQ(limits_of(gate).permits, 2);
  EXPECT_TRUE(limits_of(gate).limits_anything());
  set_hold(gate, limited(HoldSource::kOperator, 6));
  EXPECT_EQ(limits_of(gate).permits, 4);

  gate = {};
  gate.rate = Rate{60, Millis{60'000}, 10};
  EXPECT_EQ(limits_of(gate).interval_us, 1'000'000);
  EXPECT_EQ(limits_of(gate).burst, 10);
  EXPECT_TRUE(limits_of(gate).limits_anything());
  gate.rate = Rate{1'000'000, Millis{1}, 1};
  EXPECT_EQ(limits_of(gate).interval_us, 1) << "never none";
}

TEST(GateLimits, TheProbeIsCountedFromTheEndOfTheBreak) {
  GateRecord gate;
  Hold probe = closed(HoldSource::kBreaker, kNow);
  probe.permits = 1;
  set_hold(gate, probe);
  EXPECT_EQ(limits_of(gate).counted_from, kNow);
  set_hold(gate, limited(HoldSource::kPolicy, 1));
  EXPECT_EQ(limits_of(gate).counted_from, Time{}) << "the policy's one permit is for all runs";
  set_hold(gate, limited(HoldSource::kPolicy, 5));
  EXPECT_EQ(limits_of(gate).counted_from, kNow);
  GateRecord odd;
  set_hold(odd, limited(HoldSource::kBreaker, 1));
  EXPECT_EQ(limits_of(odd).counted_from, Time{});
}

// ---- asking

TEST(AskGate, AnOpenGateHasRoom) {
  EXPECT_EQ(ask_gate({}, {}, 1, kNow).room, kRoomMax);
}

TEST(AskGate, Closed) {
  GateLimits limits{.closed_until = kNow + Millis{1}};
  GateVerdict verdict = ask_gate(limits, {}, 1, kNow);
  EXPECT_EQ(verdict.room, 0);
  EXPECT_EQ(verdict.look_again, kNow + Millis{1});
  EXPECT_EQ(ask_gate(limits, {}, 1, kNow + Millis{1}).room, kRoomMax);
  limits.closed_until = kUntilOpened;
  verdict = ask_gate(limits, {}, 1, kNow);
  EXPECT_EQ(verdict.room, 0);
  EXPECT_EQ(verdict.look_again, std::nullopt);
}

TEST(AskGate, Permits) {
  const GateLimits limits{.permits = 3};
  for (int in_use = 0; in_use <= 4; ++in_use) {
    const GateVerdict verdict = ask_gate(limits, {.in_use = in_use}, 1, kNow);
    EXPECT_EQ(verdict.room, std::max(0, 3 - in_use));
    EXPECT_EQ(verdict.look_again, std::nullopt);
  }
  EXPECT_EQ(use_gate(limits, {.in_use = 1}, 7, 2, kNow).in_use, 3);
  EXPECT_EQ(use_gate({}, {.in_use = 1}, 7, 2, kNow).in_use, 1) << "without permits nothing is counted";
}

TEST(AskGate, RateLetsABurstGoAndThenOneAtATime) {
  const GateLimits limits{.interval_us = 1'000'000, .burst = 3};
  GateUse use;
  EXPECT_EQ(ask_gate(limits, use, 1, kNow).room, 3);
  EXPECT_EQ(ask_gate(limits, use, 2, kNow).room, 1) << "it costs two";
  use = use_gate(limits, use, 1, 3, kNow);
  GateVerdict verdict = ask_gate(limits, use, 1, kNow);
  EXPECT_EQ(verdict.room, 0);
  EXPECT_EQ(verdict.look_again, kNow + Millis{1'000});
  EXPECT_EQ(ask_gate(limits, use, 2, kNow).look_again, kNow + Millis{2'000});
  EXPECT_EQ(ask_gate(limits, use, 1, kNow + Millis{999}).room, 0);
  EXPECT_EQ(ask_gate(limits, use, 1, kNow + Millis{1'000}).room, 1);
  EXPECT_EQ(ask_gate(limits, use, 1, kNow + Millis{60'000}).room, 3) << "never more than the burst";
}

TEST(AskGate, ARateRoundsUpSoThatNobodyIsEarly) {
  const GateLimits limits{.interval_us = 1'500, .burst = 1};
  const GateUse use = use_gate(limits, {}, 1, 1, kNow);
  EXPECT_EQ(ask_gate(limits, use, 1, kNow).look_again, kNow + Millis{2});
}

TEST(AskGate, AClockThatWasSetBackDoesNotCloseARateForLong) {
  const GateLimits limits{.interval_us = 1'000'000, .burst = 2};
  const GateUse use = use_gate(limits, {}, 1, 2, kNow + std::chrono::hours(24));
  EXPECT_EQ(ask_gate(limits, use, 1, kNow).look_again, kNow + Millis{1'000});
}

TEST(AskGate, PermitsAndRateTogether) {
  const GateLimits limits{.permits = 2, .interval_us = 1'000'000, .burst = 5};
  EXPECT_EQ(ask_gate(limits, {.in_use = 0}, 1, kNow).room, 2);
  EXPECT_EQ(ask_gate(limits, {.in_use = 0}, 4, kNow).room, 1);
  EXPECT_EQ(ask_gate(limits, {.in_use = 2}, 1, kNow).look_again, std::nullopt);
}

// ---- JSON

TEST(GateJson, RoundTrip) {
  GateRecord gate;
  set_hold(gate, closed(HoldSource::kOperator, kUntilOpened));
  set_hold(gate, limited(HoldSource::kPolicy, 3));
  gate.rate = Rate{60, Millis{60'000}, 10};
  gate.breaker = {.failures = 2, .first_at = kNow};
  const JsonText text = gate_to_json(gate);
  const auto read = gate_from_json(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, gate);
  const auto empty = gate_from_json(gate_to_json({}));
  ASSERT_TRUE(empty);
  EXPECT_EQ(*empty, GateRecord{});
}

TEST(GateJson, WhatIsMissingHasItsDefault) {
  const auto gate = gate_from_json(R"({"holds":[{"source":"operator"}]})");
  ASSERT_TRUE(gate);
  EXPECT_EQ(gate->holds, (std::vector<Hold>{{.source = HoldSource::kOperator}}));
}

TEST(GateJson, DamageIsSeen) {
  EXPECT_EQ(gate_from_json("{").error().code, ErrorCode::kInvalidJson);
  for (const std::string_view text : {
           R"({})",
           R"({"holds":1})",
           R"({"holds":[{"source":"weather"}]})",
           R"({"holds":[{}]})",
           R"({"holds":[],"rate":{"per_ms":1,"burst":1}})",
           R"({"holds":[],"rate":{"units":1,"burst":1}})",
           R"({"holds":[],"rate":{"units":1,"per_ms":1}})",
           R"({"holds":[],"rate":{"units":0,"per_ms":1,"burst":1}})",
       }) {
    const auto gate = gate_from_json(text);
    ASSERT_FALSE(gate) << text;
    EXPECT_EQ(gate.error().code, ErrorCode::kStoreDamaged);
  }
}

}  // namespace
}  // namespace drover
