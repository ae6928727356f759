#include "core/provider_ramp.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

using namespace std::chrono_literals;

constexpr Time kStart{Millis{1'000'000}};

class ProviderRampTest : public ::testing::Test {
 protected:
  GateRecord gate{.name = "provider:acme"};
  Time now = kStart;

  RampChange refuse(std::optional<Millis> retry_after, Time started_at, std::int64_t running = 8,
                    ErrorClass error_class = ErrorClass::kRateLimited) {
    const Refused refused{
        .throttle = {error_class, retry_after}, .started_at = started_at, .running = running, .why = "why", .by = "me"};
    return cut_provider(gate, refused, now);
  }
  RampChange refuse(std::optional<Millis> retry_after) { return refuse(retry_after, now); }
  RampChange answer() { return widen_provider(gate, now, now); }
  [[nodiscard]] Millis closed_for() const { return *limits_of(gate).closed_until - now; }
  [[nodiscard]] int permits() const { return limits_of(gate).permits.value_or(-1); }
  // Goes on to where the gate opens.
  void reopen() { now = *limits_of(gate).closed_until; }
};

TEST_F(ProviderRampTest, ARefusalClosesForAsLongAsTheProviderSays) {
  EXPECT_EQ(refuse(30s), RampChange::kCut);
  EXPECT_EQ(closed_for(), 30s);
  EXPECT_EQ(permits(), 1);
  EXPECT_EQ(limits_of(gate).counted_from, now + 30s);
}

TEST_F(ProviderRampTest, WithoutATimeForFifteenSecondsDoublingToFiveMinutes) {
  std::vector<Millis> pauses;
  for (int i = 0; i < 7; ++i) {
    ASSERT_EQ(refuse(std::nullopt), RampChange::kCut);
    pauses.push_back(closed_for());
    reopen();
  }
  EXPECT_EQ(pauses, (std::vector<Millis>{15s, 30s, 1min, 2min, 4min, 5min, 5min}));
}

TEST_F(ProviderRampTest, TenQuietMinutesMakeItForget) {
  ASSERT_EQ(refuse(std::nullopt), RampChange::kCut);
  reopen();
  now += 10min;
  ASSERT_EQ(refuse(std::nullopt), RampChange::kCut);
  EXPECT_EQ(closed_for(), 15s);
}

TEST_F(ProviderRampTest, WhatIsSaidIsBelievedUpToADayUnlessItIsAQuota) {
  ASSERT_EQ(refuse(100h), RampChange::kCut);
  EXPECT_EQ(closed_for(), 24h);
  gate = {.name = gate.name};
  ASSERT_EQ(refuse(100h, now, 8, ErrorClass::kQuotaExhausted), RampChange::kCut);
  EXPECT_EQ(closed_for(), 100h);
}

TEST_F(ProviderRampTest, AtOnceIsASecond) {
  ASSERT_EQ(refuse(0s), RampChange::kCut);
  EXPECT_EQ(closed_for(), 1s);
}

TEST_F(ProviderRampTest, ARunFromBeforeTheCutCutsNothing) {
  const Time before = now;
  now += 1s;
  ASSERT_EQ(refuse(30s), RampChange::kCut);
  const GateRecord cut = gate;
  now += 1s;
  EXPECT_EQ(refuse(60s, before), RampChange::kNone);
  EXPECT_EQ(refuse(std::nullopt, cut.ramp.cut_at), RampChange::kNone);
  EXPECT_EQ(gate, cut);
}

TEST_F(ProviderRampTest, ALateQuotaKeepsItClosedUntilTheLatestReset) {
  const Time before = now;
  ASSERT_EQ(refuse(10min, now, 8, ErrorClass::kQuotaExhausted), RampChange::kCut);
  EXPECT_EQ(refuse(5min, before, 8, ErrorClass::kQuotaExhausted), RampChange::kNone);
  EXPECT_EQ(closed_for(), 10min);
  EXPECT_EQ(refuse(20min, before, 8, ErrorClass::kQuotaExhausted), RampChange::kExtended);
  EXPECT_EQ(closed_for(), 20min);
}

TEST_F(ProviderRampTest, ALateQuotaBeginsTheRampAgain) {
  const Time before = now;
  ASSERT_EQ(refuse(10s, now, 8, ErrorClass::kQuotaExhausted), RampChange::kCut);
  reopen();
  ASSERT_EQ(answer(), RampChange::kWidened);
  EXPECT_EQ(refuse(20min, before, 8, ErrorClass::kQuotaExhausted), RampChange::kExtended);
  EXPECT_EQ(permits(), 1);
}

TEST_F(ProviderRampTest, AnswersDoubleUpToHalfOfWhatRanThenAddOne) {
  ASSERT_EQ(refuse(1s, now, 10), RampChange::kCut);
  reopen();
  std::vector<int> seen{permits()};
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(answer(), RampChange::kWidened);
    seen.push_back(permits());
  }
  EXPECT_EQ(seen, (std::vector<int>{1, 2, 4, 5, 6, 7}));
}

TEST_F(ProviderRampTest, AnAnswerToARunFromBeforeItOpenedSaysNothing) {
  ASSERT_EQ(refuse(30s), RampChange::kCut);
  EXPECT_EQ(widen_provider(gate, now, now + 1s), RampChange::kNone);
  EXPECT_EQ(widen_provider(gate, now + 29s, now + 31s), RampChange::kNone);
  EXPECT_EQ(widen_provider(gate, now + 30s, now + 31s), RampChange::kWidened);
}

TEST_F(ProviderRampTest, RecoversAtTheLimitOfThePolicyOrOfAnOperator) {
  set_hold(gate, {.source = HoldSource::kPolicy, .closed_until = std::nullopt, .permits = 8});
  set_hold(gate, {.source = HoldSource::kOperator, .closed_until = std::nullopt, .permits = 3});
  ASSERT_EQ(refuse(1s, now, 2), RampChange::kCut);
  reopen();
  EXPECT_EQ(answer(), RampChange::kWidened);
  EXPECT_EQ(answer(), RampChange::kRecovered);
  EXPECT_EQ(find_hold(gate, HoldSource::kProvider), nullptr);
  EXPECT_EQ(permits(), 3);
}

TEST_F(ProviderRampTest, RecoversAfterTenQuietMinutes) {
  ASSERT_EQ(refuse(1s), RampChange::kCut);
  reopen();
  now += 10min - 1ms;
  EXPECT_EQ(answer(), RampChange::kWidened);
  now += 1ms;
  EXPECT_EQ(answer(), RampChange::kRecovered);
  EXPECT_EQ(answer(), RampChange::kNone);
}

TEST_F(ProviderRampTest, AnOperatorsPauseOutlivesIt) {
  set_hold(gate, {.source = HoldSource::kOperator, .closed_until = kUntilOpened, .permits = std::nullopt});
  ASSERT_EQ(refuse(1s), RampChange::kCut);
  now += 1h;
  EXPECT_EQ(answer(), RampChange::kRecovered);
  EXPECT_EQ(limits_of(gate).closed_until, kUntilOpened);
}

TEST_F(ProviderRampTest, AnswersWithoutACutMoveNothing) {
  EXPECT_EQ(answer(), RampChange::kNone);
  EXPECT_EQ(gate, GateRecord{.name = "provider:acme"});
}

TEST_F(ProviderRampTest, IsKeptInTheRecord) {
  ASSERT_EQ(refuse(std::nullopt), RampChange::kCut);
  auto read = gate_from_json(gate_to_json(gate));
  ASSERT_TRUE(read);
  read->name = gate.name;
  EXPECT_EQ(*read, gate);
  EXPECT_FALSE(is_default(gate));
}

}  // namespace
}  // namespace drover
