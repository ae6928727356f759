// Budgets of trees: a root and all its descendants share what the root was given.
#include <algorithm>

#include "conformance/budget_fixture.h"

namespace drover::test {
namespace {

class TreeBudgets : public BudgetTest {
 protected:
  void SetUp() override { apply_document(R"("owners":{})"); }

  TaskId root(const std::string& tree_budget) {
    return enqueue({.type = "work", .owner = "ann", .tree_budget = tree_budget});
  }
  TaskId spawn(const Lease& spawner, const std::string& type = "work") {
    const TaskSpec child{.type = type};
    return must(queue().spawn(spawner, std::span(&child, 1))).at(0).id;
  }
  static std::string gate_of(const TaskId& root) { return "tree:" + root.to_string(); }
};
ON_EVERY_STORE(TreeBudgets);

TEST_P(TreeBudgets, OfDepthFiveIsOneCap) {
  const TaskId id = root(R"({"usd":3})");
  std::vector<Lease> chain{start(id)};
  while (chain.size() < 5) chain.push_back(start(spawn(chain.back())));
  EXPECT_EQ(budget(gate_of(id)).aside, 5 * 500'000);
  spawn(chain.back());
  spawn(chain.front());
  enqueue({.type = "work", .owner = "ann"});
  EXPECT_EQ(claim(9).size(), 2U) << "one of the tree, and one that is not of it";
  EXPECT_FALSE(spend(chain[0], 400'000));
  const auto stop = spend(chain[4], 600'000);
  ASSERT_TRUE(stop) << "the others have set aside the rest";
  EXPECT_EQ(stop->gate, gate_of(id));
  EXPECT_EQ(stop->on_breach, OnBreach::kPause);
  EXPECT_EQ(budget(gate_of(id)).spent, 1'000'000);
}

TEST_P(TreeBudgets, WaitUntilSomebodyRaisesThem) {
  const TaskId id = root(R"({"usd":0.5,"tokens":1000000})");
  const Lease running = start(id);
  const TaskId child = spawn(running);
  const auto stop = spend(running, 500'001);
  ASSERT_TRUE(stop);
  obey(running, *stop, 500'001);
  pass(0ms);
  EXPECT_TRUE(claim(9).empty());
  EXPECT_EQ(explain(child).gate, gate_of(id));
  must(queue().raise_budget({.gate = gate_of(id), .by_amount = 1'500'000, .by = "op", .why = "go"}));
  EXPECT_EQ(claim(9).size(), 2U);
}

TEST_P(TreeBudgets, AreNotOfOtherTasks) {
  const Lease running = start(enqueue({.type = "work", .owner = "ann"}));
  const TaskId child = spawn(running);
  EXPECT_TRUE(
      std::ranges::none_of(get(child).gates, [](const std::string& gate) { return gate.starts_with("tree:"); }));
  for (const GateStatus& one : must(queue().gates())) EXPECT_FALSE(one.name.starts_with("tree:")) << one.name;
}

TEST_P(TreeBudgets, OnlyRootsHaveThem) {
  const Lease running = start(root(R"({"usd":3})"));
  const TaskSpec child{.type = "work", .tree_budget = R"({"usd":1})"};
  EXPECT_EQ(code_of(queue().spawn(running, std::span(&child, 1))), ErrorCode::kInvalidArgument);
  const TaskSpec bad{.type = "work", .tree_budget = R"({"euros":1})"};
  EXPECT_EQ(code_of(queue().enqueue(std::span(&bad, 1))), ErrorCode::kInvalidArgument);
}

TEST_P(TreeBudgets, HoldWithoutABudgetPerRun) {
  apply_config("{}");
  const TaskId id = root(R"({"turns":2})");
  const Lease running = start(id);
  spawn(running);
  EXPECT_FALSE(must(queue().report(running, {.usage = Usage{.turns = 1}})).stop);
  EXPECT_EQ(must(queue().report(running, {.usage = Usage{.turns = 2}})).stop.value_or(BudgetStop{}).gate, gate_of(id));
  EXPECT_TRUE(claim(9).empty());
}

TEST_P(TreeBudgets, SurviveAChangeOfThePolicyAndARestart) {
  const TaskId id = root(R"({"usd":1})");
  spend(start(id), 400'000);
  apply(R"({"usd":9,"per":"day"})");
  reopen();
  EXPECT_EQ(budget(gate_of(id)).spent, 400'000);
  EXPECT_EQ(budget(gate_of(id)).left(), 500'000);
  EXPECT_EQ(get(id).tree_budget, R"({"usd":1})");
}

TEST_P(TreeBudgets, GoWithTheirTrees) {
  sweep();
  const TaskId id = root(R"({"usd":3})");
  const Lease running = start(id);
  const TaskId child = spawn(running);
  complete(running);
  pass(24h * 8);
  pass(2min);
  EXPECT_FALSE(queue().get(id));
  EXPECT_EQ(budgets_of(gate_of(id)).size(), 1U) << "a task of the tree can still run";
  complete(start(child));
  pass(2min);
  EXPECT_TRUE(budgets_of(gate_of(id)).empty());
}

// ---- what a run may still spend, as its agent is told

TEST_P(TreeBudgets, AnAgentIsToldTheLeastOfWhatIsLeft) {
  apply(R"({"usd":2,"per":"day"})");
  enqueue({.type = "work", .owner = "ann", .budget = R"({"usd":1.2,"turns":80})", .tree_budget = R"({"usd":5})"});
  const Lease running = claim_one().lease;
  const auto left = [&](BudgetUnit unit) {
    return must(queue().standing_of(running)).budget_left[std::to_underlying(unit)];
  };
  EXPECT_EQ(left(BudgetUnit::kUsd), 1'200'000);
  EXPECT_EQ(left(BudgetUnit::kTurns), 80);
  EXPECT_EQ(left(BudgetUnit::kTokens), std::nullopt);
  spend(running, 300'000);
  EXPECT_EQ(left(BudgetUnit::kUsd), 900'000);
  EXPECT_EQ(left(BudgetUnit::kTurns), 79);
  enqueue_many(3);
  EXPECT_EQ(claim(3).size(), 3U);
  EXPECT_EQ(left(BudgetUnit::kUsd), 200'000)
      << "the owner has 2, of which 0.3 are spent and 1.5 are set aside for others";
  spend(running, 1'100'000);
  EXPECT_EQ(left(BudgetUnit::kUsd), 0);
}

TEST_P(TreeBudgets, WithoutABudgetAnAgentIsToldNothing) {
  const Lease running = start(enqueue({.type = "work", .owner = "ann"}));
  EXPECT_EQ(must(queue().standing_of(running)).budget_left, BudgetShares{});
}

// ---- alerts

TEST_P(TreeBudgets, AlertOnceWhenMostIsSpent) {
  apply(R"({"usd":2,"per":"day"})");
  const auto told = [&](Millis after) {
    pass(after);
    watch_health();
    std::vector<Alert> alerts = must(queue().alerts());
    std::erase_if(alerts, [](const Alert& alert) { return alert.kind != AlertKind::kBudget; });
    return alerts;
  };
  enqueue_many(9);
  const auto running = claim({{.queue = "work"}}, 2, 1h);
  spend(running[0].lease, 400'000);
  EXPECT_TRUE(told(20s).empty());
  finish(running[0].lease, 1'600'000);
  const auto near_end = told(20s);
  ASSERT_EQ(near_end.size(), 1U);
  EXPECT_EQ(near_end[0].severity, Severity::kWarning);
  EXPECT_TRUE(near_end[0].subject.starts_with("owner:ann usd ")) << near_end[0].subject;
  EXPECT_NE(near_end[0].detail.find("1.6 USD of 2 USD"), std::string::npos) << near_end[0].detail;
  told(20s);
  const auto count = [&] {
    return std::ranges::count_if(all_events(), [](const Event& event) {
      return event.name == "alert.raised" && event.data.find("\"budget\"") != std::string::npos;
    });
  };
  EXPECT_EQ(count(), 1);
  finish(running[1].lease, 500'000);
  EXPECT_EQ(told(20s).at(0).severity, Severity::kCritical);
  EXPECT_TRUE(told(24h).empty()) << "of the next day";
  EXPECT_EQ(count(), 2);
}

}  // namespace
}  // namespace drover::test
