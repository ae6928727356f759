#include "core/gate_json.h"

#include "records.h"

namespace drover {
namespace {

using namespace drover::testing;

TEST(GateStatusJson, Golden) {
  GateStatus gate{.name = "queue:eng"};
  EXPECT_EQ(to_json(gate), R"({"name":"queue:eng","closed_until":null,"permits":null,"in_use":null,"rate":null,)"
                           R"("burst":null,"waiting_lanes":0,"waiting_tasks":0,"would_start":0,"holds":[]})");
  gate.holds = {{.source = HoldSource::kPolicy, .permits = 3, .why = "limit", .by = "policy", .since = kCreated},
                {.source = HoldSource::kOperator,
                 .closed_until = kUntilOpened,
                 .why = "deploy",
                 .by = "ada@box",
                 .since = kCreated}};
  gate.rate = Rate{60, Millis{60'000}, 10};
  gate.closed_until = kUntilOpened;
  gate.permits = 3;
  gate.in_use = 2;
  gate.waiting_lanes = 7;
  EXPECT_EQ(
      to_json(gate),
      R"({"name":"queue:eng","closed_until":"opened","permits":3,"in_use":2,"rate":"60/1m","burst":10,)"
      R"("waiting_lanes":7,"waiting_tasks":0,"would_start":0,"holds":[{"source":"policy","closed_until":null,"permits":3,"why":"limit",)"
      R"("by":"policy","since":"2027-01-15T08:00:00.000Z"},{"source":"operator","closed_until":"opened",)"
      R"("permits":null,"why":"deploy","by":"ada@box","since":"2027-01-15T08:00:00.000Z"}]})");
}

TEST(QueueStatusJson, Golden) {
  QueueStatus queue{.name = "eng", .waiting = 1, .scheduled = 2, .blocked = 3, .running = 4};
  EXPECT_EQ(to_json(queue),
            R"({"name":"eng","waiting":1,"running":4,"scheduled":2,"blocked":3,"gate":null,"held":[]})");
  queue.held = {{.gate = "all", .tasks = 1, .since = kCreated, .shut = true, .why = "closed"}};
  EXPECT_NE(to_json(queue).find(
                R"("held":[{"gate":"all","tasks":1,"since":"2027-01-15T08:00:00.000Z","shut":true,"why":"closed"}])"),
            std::string::npos);
  queue.gate = GateStatus{.name = "queue:eng", .closed_until = kCreated};
  EXPECT_NE(to_json(queue).find(R"("gate":{"name":"queue:eng","closed_until":"2027-01-15T08:00:00.000Z",)"),
            std::string::npos);
}

TEST(ExplanationJson, Golden) {
  EXPECT_EQ(
      to_json(Explanation{.reason = Explanation::Reason::kInLine, .text = "t", .ahead = 4}),
      R"({"reason":"in_line","text":"t","gate":null,"at":null,"ahead":4,"waits_for":[],"refusing":[],"chain":[]})");
  const Explanation closed{.reason = Explanation::Reason::kGate,
                           .text = "t",
                           .gate = "all",
                           .refusing = {GateStatus{.name = "all"}},
                           .at = kCreated,
                           .waits_for = {task_id(1)}};
  EXPECT_EQ(
      to_json(closed),
      R"({"reason":"gate","text":"t","gate":"all","at":"2027-01-15T08:00:00.000Z","ahead":null,)"
      R"("waits_for":["00000000-0000-0000-0000-000000000001"],"refusing":[{"name":"all","closed_until":null,)"
      R"("permits":null,"in_use":null,"rate":null,"burst":null,"waiting_lanes":0,"waiting_tasks":0,"would_start":0,"holds":[]}],"chain":[]})");
}

}  // namespace
}  // namespace drover
