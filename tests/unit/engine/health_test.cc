#include "engine/health.h"

#include <gtest/gtest.h>

#include "support/must.h"

namespace drover::test {
namespace {

constexpr Time kNow{Millis{1'000'000'000}};

HealthSnapshot quiet() {
  return {.now = kNow, .policy = std::make_shared<const Policy>()};
}

TEST(HealthTest, NothingIsWrongWhereNothingIs) {
  EXPECT_TRUE(find_alerts(quiet()).empty());
}

TEST(HealthTest, TheUsualNumberFollowsSlowly) {
  HealthSnapshot snapshot = quiet();
  QueueCounts queue{.name = "q"};
  queue.tasks[static_cast<std::size_t>(TaskState::kPending)] = 10;
  snapshot.queues = {queue};
  HealthMemory memory = remember(snapshot, {});
  EXPECT_EQ(memory.usual.at("q"), 1'000) << "the first look is all there is";
  snapshot.memory = memory;
  snapshot.queues[0].tasks[static_cast<std::size_t>(TaskState::kPending)] = 34;
  EXPECT_EQ(remember(snapshot, {}).usual.at("q"), 1'010);
  EXPECT_EQ(find_alerts(snapshot, AlertKind::kWaiting).at(0).severity, Severity::kWarning);
  snapshot.queues[0].tasks[static_cast<std::size_t>(TaskState::kPending)] = 50;
  EXPECT_EQ(find_alerts(snapshot, AlertKind::kWaiting).at(0).severity, Severity::kCritical);
  snapshot.queues[0].tasks[static_cast<std::size_t>(TaskState::kPending)] = 19;
  EXPECT_TRUE(find_alerts(snapshot, AlertKind::kWaiting).empty());
}

TEST(HealthTest, AStuckBreaker) {
  HealthSnapshot snapshot = quiet();
  GateState gate;
  gate.record.name = "type:t";
  set_hold(gate.record, {.source = HoldSource::kBreaker,
                         .closed_until = kNow - Millis{600'000},
                         .permits = 1,
                         .why = "5 failures",
                         .by = "breaker",
                         .since = kNow - Millis{660'000}});
  snapshot.gates = {gate};
  EXPECT_EQ(find_alerts(snapshot, AlertKind::kBreakerOpen).size(), 1U);
  EXPECT_TRUE(find_alerts(snapshot, AlertKind::kBreakerStuck).empty());
  snapshot.now += Millis{1};
  EXPECT_EQ(find_alerts(snapshot, AlertKind::kBreakerStuck).size(), 1U);
}

TEST(HealthTest, DeadLettersLeadToTheirReview) {
  HealthSnapshot snapshot = quiet();
  QueueCounts queue{.name = "eng"};
  queue.tasks[static_cast<std::size_t>(TaskState::kFailed)] = 2;
  snapshot.queues = {queue};
  const std::vector<Alert> found = find_alerts(snapshot, AlertKind::kDeadLetter);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].subject, "queue:eng");
  EXPECT_EQ(found[0].detail, "2 dead letters");
  EXPECT_EQ(found[0].fix, "drover dlq list --queue eng; then: drover dlq retry --queue eng");
}

TEST(HealthTest, AWorkerThatRunsVeryMany) {
  HealthSnapshot snapshot = quiet();
  snapshot.workers = {{.id = "w", .last_beat_at = kNow, .running = 49}};
  EXPECT_TRUE(find_alerts(snapshot).empty());
  snapshot.workers[0].running = 200;
  EXPECT_EQ(find_alerts(snapshot).at(0).severity, Severity::kCritical);
}

TEST(HealthMemoryTest, IsReadBackAsItWasWritten) {
  HealthMemory memory{.looked_at = kNow, .usual = {{"a", 5}, {"b", 0}}, .first = {}, .progress = {}, .alerts = {}};
  memory.first["a"] = {TaskId(TaskId::Bytes{1, 2, 3, 4, 5, 6, 0x70, 8, 0x80, 10}), kNow};
  memory.progress.push_back({.task = TaskId(TaskId::Bytes{1, 2, 3, 4, 5, 6, 0x70, 8, 0x80, 10}),
                             .run = 2,
                             .text = "50 \"half\"",
                             .since = kNow});
  memory.held["all"] = kNow;
  memory.alerts.push_back({.kind = AlertKind::kLag,
                           .severity = Severity::kCritical,
                           .subject = "queue:a",
                           .detail = "d",
                           .fix = "f",
                           .raised_at = kNow});
  EXPECT_EQ(must(parse_health_memory(to_json(memory))), memory);
  EXPECT_EQ(must(parse_health_memory("{}")), HealthMemory{});
}

TEST(HealthMemoryTest, WhatCannotBeReadIsDamaged) {
  for (const char* text :
       {"", "[]", R"({"looked_at":1})", R"({"looked_at":"x","usual":{},"progress":[],"alerts":[]})"}) {
    EXPECT_EQ(code_of(parse_health_memory(text)), ErrorCode::kStoreDamaged) << text;
  }
}

TEST(HealthMemoryTest, KindsOfANewerProgramAreLeftOut) {
  const auto memory = must(parse_health_memory(
      R"({"looked_at":1,"usual":{},"first":{},"progress":[],"alerts":[{"kind":"new","severity":"warning","subject":"s","detail":"d","fix":"f","raised_at":1}]})"));
  EXPECT_TRUE(memory.alerts.empty());
}

}  // namespace
}  // namespace drover::test
