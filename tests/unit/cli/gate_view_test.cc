#include "cli/gate_view.h"

#include <gtest/gtest.h>

#include "support/must.h"

namespace drover::cli {
namespace {

const Time kNow = test::must(parse_time("2026-11-15T20:00:00Z"));
constexpr Look kTerminal{.terminal = true, .color = false, .width = 100};
constexpr Look kPipe{.terminal = false, .color = false, .width = 80};

std::vector<GateStatus> gates() {
  GateStatus paused{.name = "queue:eng", .closed_until = kUntilOpened, .waiting_lanes = 3};
  paused.holds = {{.source = HoldSource::kOperator, .closed_until = kUntilOpened, .why = "deploy", .by = "ada@box"}};
  GateStatus broken{.name = "type:review", .closed_until = kNow + std::chrono::seconds(90), .permits = 1, .in_use = 0};
  broken.holds = {{.source = HoldSource::kBreaker,
                   .closed_until = kNow + std::chrono::seconds(90),
                   .permits = 1,
                   .why = "5 failures in a row",
                   .by = "breaker"}};
  GateStatus probing = broken;
  probing.name = "type:build";
  probing.closed_until.reset();
  GateStatus full{.name = "lock:site", .permits = 1, .in_use = 1};
  full.holds = {{.source = HoldSource::kPolicy, .permits = 1, .why = "limit of the policy", .by = "policy"}};
  GateStatus rated{.name = "provider:acme", .rate = Rate{60, Millis{60'000}, 10}};
  return {paused, broken, probing, full, rated};
}

TEST(GateView, Gates) {
  EXPECT_EQ(gate_table(gates(), kNow).render(kTerminal),
            "GATE           STATE         PERMITS  RATE            LANES  WHY\n"
            "queue:eng      closed                                 3      operator ada@box: deploy\n"
            "type:review    closed 1m30s  0/1                      0      breaker: 5 failures in a row\n"
            "type:build     probing       0/1                      0      breaker: 5 failures in a row\n"
            "lock:site      full          1/1                      0\n"
            "provider:acme  open                   60/1m burst 10  0\n");
  EXPECT_EQ(gate_table(gates(), kNow).render(kPipe),
            "queue:eng\tclosed\topened\t\t\t\t3\toperator ada@box: deploy\n"
            "type:review\tclosed\t2026-11-15T20:01:30.000Z\t1\t0\t\t0\tbreaker: 5 failures in a row\n"
            "type:build\tprobing\t\t1\t0\t\t0\tbreaker: 5 failures in a row\n"
            "lock:site\tfull\t\t1\t1\t\t0\t\n"
            "provider:acme\topen\t\t\t\t60/1m burst 10\t0\t\n");
}

TEST(GateView, Queues) {
  const std::vector<QueueStatus> queues{
      {.name = "eng", .waiting = 5, .scheduled = 1, .blocked = 2, .running = 3, .gate = gates()[0]},
      {.name = "ops", .waiting = 1}};
  EXPECT_EQ(queue_table(queues, kNow).render(kPipe),
            "eng\tpaused\t5\t3\t1\t2\t\t\toperator ada@box: deploy\n"
            "ops\topen\t1\t0\t0\t0\t\t\t\n");
}

TEST(GateView, QueuesThatAreHeld) {
  const Time since = kNow - std::chrono::minutes(2);
  const std::vector<QueueStatus> queues{
      {.name = "eng",
       .waiting = 5,
       .held = {{.gate = "all", .tasks = 5, .since = since, .shut = true, .why = "closed by ann"}}},
      {.name = "ops",
       .waiting = 1,
       .held = {{.gate = "lock:site", .tasks = 1, .since = since, .why = "1 of 1 permits in use"}}},
      {.name = "own",
       .waiting = 1,
       .gate = gates()[0],
       .held = {{.gate = "queue:eng", .tasks = 1, .since = since, .shut = true}}}};
  EXPECT_EQ(queue_table(queues, kNow).render(kPipe),
            "eng\theld\t5\t0\t0\t0\t\t\t5 tasks held by all for 2m: closed by ann\n"
            "ops\topen\t1\t0\t0\t0\t\t\t1 task held by lock:site for 2m: 1 of 1 permits in use\n"
            "own\tpaused\t1\t0\t0\t0\t\t\toperator ada@box: deploy\n");
}

TEST(GateView, WaitingTasksThatAreHeld) {
  Task task{.type = "review", .queue = "eng", .owner = "ann"};
  EXPECT_EQ(held_note(task, gates()), "held by queue:eng");
  task.queue = "ops";
  EXPECT_EQ(held_note(task, gates()), "held by type:review");
  task.type = "other";
  task.gates = {"lock:site"};
  EXPECT_EQ(held_note(task, gates()), "") << "only full";
  GateStatus others{.name = "owner:*", .permits = 0};
  EXPECT_EQ(held_note(task, std::vector{others}), "held by owner:*");
  EXPECT_EQ(held_note(task, std::vector{others, GateStatus{.name = "owner:ann"}}), "") << "it has a gate of its own";
  task.state = TaskState::kRunning;
  EXPECT_EQ(held_note(task, std::vector{others}), "");
}

TEST(GateView, Sentences) {
  EXPECT_EQ(gate_sentence(gates()[0]), "queue:eng is closed until opened (operator ada@box: deploy)");
  EXPECT_EQ(
      gate_sentence(gates()[1]),
      "type:review is closed until 2026-11-15T20:01:30.000Z, 0 of 1 permits in use (breaker: 5 failures in a row)");
  EXPECT_EQ(gate_sentence(gates()[3]), "lock:site is open, 1 of 1 permits in use");
  EXPECT_EQ(gate_sentence(gates()[4]), "provider:acme is open, 60/1m burst 10");
  EXPECT_EQ(gate_sentence({.name = "all"}), "all is open");
  EXPECT_EQ(gate_sentence({.name = "type:x", .permits = 0, .in_use = 0}), "type:x is without permits: nothing starts");
}

TEST(GateView, Explanations) {
  Explanation closed{.reason = Explanation::Reason::kGate, .text = "queue:eng is closed", .gate = "queue:eng"};
  closed.refusing = {gates()[0]};
  EXPECT_EQ(explanation_text(closed, kTerminal), "queue:eng is closed\n");
  EXPECT_EQ(explanation_text(closed, kPipe), "gate\tqueue:eng\t\tqueue:eng is closed\n");
  closed.refusing.push_back(gates()[3]);
  closed.at = kNow;
  EXPECT_EQ(explanation_text(closed, kTerminal),
            "queue:eng is closed\n"
            "  queue:eng is closed until opened (operator ada@box: deploy)\n"
            "  lock:site is open, 1 of 1 permits in use\n");
  EXPECT_EQ(explanation_text(closed, kPipe), "gate\tqueue:eng\t2026-11-15T20:00:00.000Z\tqueue:eng is closed\n");
  Explanation blocked{.reason = Explanation::Reason::kBlocked, .text = "it waits for 1 of 2 parents"};
  blocked.waits_for = {TaskId::parse("01920f5e-7a3c-7def-8123-456789abcdef").value()};
  EXPECT_EQ(explanation_text(blocked, kTerminal),
            "it waits for 1 of 2 parents\n  01920f5e-7a3c-7def-8123-456789abcdef\n");
}

}  // namespace
}  // namespace drover::cli
