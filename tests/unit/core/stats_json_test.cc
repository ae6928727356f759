#include "core/stats_json.h"

#include "records.h"

namespace drover {
namespace {

using namespace drover::testing;

TEST(StatsJson, NothingHappened) {
  EXPECT_EQ(
      to_json(Stats{.at = kCreated, .window = Millis{60'000}}),
      R"({"at":"2027-01-15T08:00:00.000Z","tasks":{"blocked":0,"scheduled":0,"pending":0,"running":0,)"
      R"("stalled":0,"completed":0,"failed":0,"cancelled":0},"window_ms":60000,)"
      R"("rates":{"enqueued":0,"started":0,"completed":0,"failed":0,"retried":0},)"
      R"("waits":{"p50_ms":null,"p95_ms":null},"runs":{"p50_ms":null,"p95_ms":null},"queues":[],)"
      R"("workers":{"working":0,"draining":0,"silent":0,"slots":0,"running":0,"workspace_bytes":0},)"
      R"("permits":{"in_use":0,"permits":0,"gates":0},)"
      R"("questions":{"open":0,"answered":0,"expired":0,"withdrawn":0,"tasks_waiting":0,"oldest_open_at":null},"alerts":[]})");
}

TEST(StatsJson, Totals) {
  const Stats stats{
      .at = kCreated,
      .tasks = {1, 2, 3, 4, 5, 6, 7, 8},
      .window = Millis{1'500},
      .rates = {.enqueued = 9, .started = 10, .completed = 11, .failed = 12, .retried = 13},
      .waits = {.p50 = Millis{14}, .p95 = Millis{15}},
      .runs = {.p50 = Millis{0}, .p95 = Millis{17}},
      .workers = {.working = 18, .draining = 19, .silent = 20, .slots = 21, .running = 22, .workspace_bytes = 26},
      .permits = {.in_use = 23, .permits = 24, .gates = 25},
      .questions = {.kept = {26, 27, 28, 29}, .tasks_waiting = 30, .oldest_open_at = Time{Millis{1'800'000'000'000}}}};
  EXPECT_EQ(to_json(stats),
            R"({"at":"2027-01-15T08:00:00.000Z","tasks":{"blocked":1,"scheduled":2,"pending":3,"running":4,)"
            R"("stalled":5,"completed":6,"failed":7,"cancelled":8},"window_ms":1500,)"
            R"("rates":{"enqueued":9,"started":10,"completed":11,"failed":12,"retried":13},)"
            R"("waits":{"p50_ms":14,"p95_ms":15},"runs":{"p50_ms":0,"p95_ms":17},"queues":[],)"
            R"("workers":{"working":18,"draining":19,"silent":20,"slots":21,"running":22,"workspace_bytes":26},)"
            R"("permits":{"in_use":23,"permits":24,"gates":25},)"
            R"("questions":{"open":26,"answered":27,"expired":28,"withdrawn":29,"tasks_waiting":30,)"
            R"("oldest_open_at":"2027-01-15T08:00:00.000Z"},"alerts":[]})");
}

std::string stats_part(const std::string& whole, std::string_view from, std::string_view to) {
  const std::size_t begin = whole.find(from);
  const std::size_t end = whole.find(to, begin);
  if (begin == std::string::npos || end == std::string::npos) return "none in " + whole;
  return whole.substr(begin, end - begin);
}

TEST(StatsJson, Queues) {
  Stats stats;
  stats.queues = {{.name = "eng",
                   .tasks = {1, 2, 3, 4, 5, 6, 7, 8},
                   .waiting_since = kCreated,
                   .workers = 9,
                   .free_slots = 10,
                   .rates = {.enqueued = 11, .started = 12, .completed = 13, .failed = 14, .retried = 15},
                   .waits = {.p50 = Millis{16}, .p95 = Millis{17}},
                   .runs = {.p50 = Millis{18}, .p95 = Millis{19}}},
                  {.name = "say \"ops\""}};
  EXPECT_EQ(stats_part(to_json(stats), R"("queues":)", R"(,"workers":{)"),
            R"("queues":[{"name":"eng","tasks":{"blocked":1,"scheduled":2,"pending":3,"running":4,"stalled":5,)"
            R"("completed":6,"failed":7,"cancelled":8},"waiting_since":"2027-01-15T08:00:00.000Z","workers":9,)"
            R"("free_slots":10,"rates":{"enqueued":11,"started":12,"completed":13,"failed":14,"retried":15},)"
            R"("waits":{"p50_ms":16,"p95_ms":17},"runs":{"p50_ms":18,"p95_ms":19}},)"
            R"({"name":"say \"ops\"","tasks":{"blocked":0,"scheduled":0,"pending":0,"running":0,"stalled":0,)"
            R"("completed":0,"failed":0,"cancelled":0},"waiting_since":null,"workers":0,"free_slots":0,)"
            R"("rates":{"enqueued":0,"started":0,"completed":0,"failed":0,"retried":0},)"
            R"("waits":{"p50_ms":null,"p95_ms":null},"runs":{"p50_ms":null,"p95_ms":null}}])");
}

TEST(StatsJson, Alerts) {
  Stats stats;
  stats.alerts = {{.kind = AlertKind::kNotServed,
                   .severity = Severity::kCritical,
                   .subject = "queue:eng",
                   .detail = "3 wait",
                   .fix = "drover work eng",
                   .raised_at = kCreated},
                  {.kind = AlertKind::kLag, .subject = "queue:ops", .raised_at = kCreated}};
  EXPECT_EQ(
      stats_part(to_json(stats), R"("alerts":)", "]}"),
      R"("alerts":[{"key":"not_served:queue:eng","kind":"not_served","severity":"critical","subject":"queue:eng","detail":"3 wait",)"
      R"("fix":"drover work eng","raised_at":"2027-01-15T08:00:00.000Z",)"
      R"("snoozed_until":null,"snoozed_by":null,"snoozed_why":null},)"
      R"({"key":"lag:queue:ops","kind":"lag","severity":"warning","subject":"queue:ops","detail":"","fix":"",)"
      R"("raised_at":"2027-01-15T08:00:00.000Z","snoozed_until":null,"snoozed_by":null,"snoozed_why":null})");
}

}  // namespace
}  // namespace drover
