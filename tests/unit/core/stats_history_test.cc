#include "core/stats_history.h"

#include <gtest/gtest.h>

#include "support/must.h"

namespace drover::test {
namespace {

constexpr Millis kMinute{60'000};
constexpr Millis kHour{3'600'000};
constexpr Time kStart{kHour * 480'000};

Event event_at(std::int64_t seq, Time at, std::string name, JsonText data = "{}") {
  Event event{.seq = seq, .at = at, .name = std::move(name), .data = std::move(data)};
  event.task = TaskId::parse("0197b7d4-5c61-7cd5-8000-0123456789ab").value_or(TaskId());
  return event;
}

TEST(StatsHistory, CountsEventsByMinuteAndHour) {
  HistoryDocument history;
  history.fold(event_at(1, kStart, "task.enqueued"));
  history.fold(event_at(2, kStart, "task.claimed"));
  history.fold(event_at(3, kStart + kMinute, "task.completed", R"({"usage":{"tokens":7,"cost_usd":0.25}})"));
  const StatsHistory minutes = history.view(HistoryStep::kMinute, 60, kStart + kMinute);
  ASSERT_EQ(minutes.buckets.size(), 2U);
  EXPECT_EQ(minutes.buckets[0].enqueued, 1);
  EXPECT_EQ(minutes.buckets[0].started, 1);
  EXPECT_EQ(minutes.buckets[0].cost_micro_usd, std::nullopt) << "nothing was reported";
  EXPECT_EQ(minutes.buckets[1].completed, 1);
  EXPECT_EQ(minutes.buckets[1].cost_micro_usd, 250'000);
  EXPECT_EQ(minutes.buckets[1].tokens, 7);
  EXPECT_EQ(minutes.until, kStart + 2 * kMinute);
  EXPECT_EQ(minutes.from, kStart - 58 * kMinute);
  const StatsHistory hours = history.view(HistoryStep::kHour, 1, kStart + kMinute);
  ASSERT_EQ(hours.buckets.size(), 1U);
  EXPECT_EQ(hours.buckets[0].enqueued, 1);
  EXPECT_EQ(hours.buckets[0].completed, 1);
}

TEST(StatsHistory, AnEventCountsOnce) {
  HistoryDocument history;
  for (int i = 0; i < 2; ++i) history.fold(event_at(5, kStart, "task.failed"));
  EXPECT_EQ(history.view(HistoryStep::kMinute, 1, kStart).buckets.at(0).failed, 1);
  EXPECT_EQ(history.folded(), 5);
  history.go_back_to(3);
  EXPECT_EQ(history.folded(), 3);
  history.go_back_to(9);
  EXPECT_EQ(history.folded(), 3) << "what was counted is not counted again";
}

TEST(StatsHistory, DurationsAreRightToAFifth) {
  for (const std::int64_t millis : {1LL, 5LL, 100LL, 1'234LL, 60'000LL, 86'400'000LL}) {
    DurationCounts counts;
    counts.add(Millis(millis));
    const auto found = static_cast<double>(counts.quantile(95).value_or(Millis(0)).count());
    EXPECT_NEAR(found, static_cast<double>(millis), 0.2 * static_cast<double>(millis) + 0.5) << millis;
  }
  DurationCounts many;
  for (int i = 1; i <= 100; ++i) many.add(Millis(i * 100));
  EXPECT_NEAR(static_cast<double>(many.quantile(50).value_or(Millis(0)).count()), 5'000, 1'000);
  EXPECT_NEAR(static_cast<double>(many.quantile(95).value_or(Millis(0)).count()), 9'500, 1'900);
  EXPECT_EQ(DurationCounts().quantile(50), std::nullopt);
}

TEST(StatsHistory, OldMinutesBecomeHoursAndOldHoursGo) {
  HistoryDocument history;
  std::int64_t seq = 0;
  for (int hour = 0; hour < 40 * 24; ++hour) history.fold(event_at(++seq, kStart + hour * kHour, "task.enqueued"));
  const Time now = kStart + (40 * 24 - 1) * kHour;
  history.trim(now);
  EXPECT_LE(history.view(HistoryStep::kMinute, kHistoryMinutes, now).buckets.size(), 25U);
  EXPECT_EQ(history.view(HistoryStep::kHour, kHistoryHours, now).buckets.size(),
            static_cast<std::size_t>(kHistoryHours));
  const HistoryDocument again = must(HistoryDocument::parse(history.to_json()));
  EXPECT_EQ(again, history);
}

TEST(StatsHistory, AFullDocumentStaysWithinItsSize) {
  HistoryDocument history;
  std::int64_t seq = 0;
  const int all_minutes = kHistoryHours * 60;
  for (int minute = 0; minute < all_minutes; minute += minute < all_minutes - 2 * kHistoryMinutes ? 60 : 1) {
    const Time at = kStart + minute * kMinute;
    history.fold(event_at(++seq, at, "task.enqueued"));
    for (int size = 0; size < 40; ++size) history.add_wait({at, Millis(1LL << (size % 31))});
  }
  history.trim(kStart + (all_minutes - 1) * kMinute);
  EXPECT_LT(history.to_json().size(), 4U << 20U);
}

TEST(StatsHistory, WhatCannotBeReadIsSaid) {
  for (const char* text : {"[]", "{\"folded\":-1}", "{\"folded\":1}", "{\"folded\":1,\"minutes\":[[1]],\"hours\":[]}",
                           "{\"folded\":1,\"minutes\":[[1,0,0,0,0,0,0,0,0,0,[999,1],[]]],\"hours\":[]}"}) {
    const auto history = HistoryDocument::parse(text);
    ASSERT_FALSE(history) << text;
    EXPECT_EQ(history.error().code, ErrorCode::kStoreDamaged);
  }
  EXPECT_EQ(must(HistoryDocument::parse("{}")), HistoryDocument());
}

}  // namespace
}  // namespace drover::test
