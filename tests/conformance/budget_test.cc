// Budgets of gates: a claim sets aside what its runs may spend, reports book what they have spent, and a run for which
// nothing is left is told to stop. After every case fsck proves that what is set aside is that of the runs that go on.
#include <fmt/format.h>

#include "conformance/budget_fixture.h"

namespace drover::test {
namespace {

class Budgets : public BudgetTest {};
ON_EVERY_STORE(Budgets);

TEST_P(Budgets, AClaimTakesWhatFits) {
  enqueue_many(10);
  EXPECT_EQ(claim(10).size(), 4U);
  EXPECT_TRUE(claim(1).empty());
  EXPECT_EQ(budget().aside, 2'000'000);
  EXPECT_EQ(budget().left(), 0);
}

TEST_P(Budgets, OfEachOwnerApart) {
  enqueue_many(10);
  enqueue_all(std::vector<TaskSpec>(10, TaskSpec{.type = "work", .owner = "bob"}));
  EXPECT_EQ(claim(20).size(), 8U);
  EXPECT_EQ(budget("owner:ann").aside, 2'000'000);
  EXPECT_EQ(budget("owner:bob").aside, 2'000'000);
}

TEST_P(Budgets, WhatARunDoesNotSpendComesBack) {
  enqueue_many(10);
  auto running = claim(10);
  ASSERT_EQ(running.size(), 4U);
  EXPECT_EQ(finish(running[0].lease, 100'000), TaskState::kCompleted);
  EXPECT_EQ(budget().spent, 100'000);
  EXPECT_EQ(budget().aside, 1'500'000);
  EXPECT_TRUE(claim(1).empty()) << "0.4 dollars are left, and a run may spend 0.5";
  EXPECT_EQ(complete(running[1].lease), TaskState::kCompleted);
  EXPECT_EQ(claim(10).size(), 1U);
  EXPECT_EQ(release(running[2].lease), TaskState::kPending);
  lose(running[3].lease);
  EXPECT_EQ(budget().aside, 0);
  EXPECT_EQ(budget().spent, 100'000);
}

TEST_P(Budgets, NothingIsSetAsideAtRest) {
  enqueue_many(12);
  for (int round = 0; round < 20; ++round) {
    auto running = claim(10);
    for (const ClaimedTask& one : running) {
      spend(one.lease, 50'000);
      finish(one.lease, 70'000);
    }
  }
  EXPECT_EQ(budget().aside, 0);
  EXPECT_EQ(budget().spent, 12 * 70'000);
}

TEST_P(Budgets, AReportIsBookedOnce) {
  enqueue_many(1);
  const Lease lease = claim_one().lease;
  for (int again = 0; again < 3; ++again) EXPECT_FALSE(spend(lease, 200'000));
  EXPECT_FALSE(spend(lease, 100'000)) << "late, and smaller";
  EXPECT_EQ(budget().spent, 200'000);
  EXPECT_EQ(budget().aside, 300'000);
}

TEST_P(Budgets, ARunTakesAnotherSliceWhileThereIsOne) {
  enqueue_many(10);
  auto running = claim(2);
  ASSERT_EQ(running.size(), 2U);
  EXPECT_FALSE(spend(running[0].lease, 600'000));
  EXPECT_EQ(budget().aside, 400'000 + 500'000);
  EXPECT_FALSE(spend(running[0].lease, 1'200'000));
  EXPECT_EQ(budget().aside, 300'000 + 500'000);
  // 0.5 is the other one's.
  EXPECT_FALSE(spend(running[0].lease, 1'500'000)) << "it may use up its own";
  const auto stop = spend(running[0].lease, 1'500'001);
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->gate, "owner:ann");
  EXPECT_EQ(stop->on_breach, OnBreach::kPause);
  EXPECT_TRUE(spend(running[0].lease, 1'500'001)) << "the answer was lost, and comes again";
  EXPECT_FALSE(spend(running[1].lease, 400'000)) << "it is within its own";
  EXPECT_EQ(count_events("budget.breached"), 1);
}

TEST_P(Budgets, APausedTaskWaitsForTheNextDay) {
  enqueue_many(1);
  const ClaimedTask first = claim_one();
  const auto stop = spend(first.lease, 2'000'001);
  ASSERT_TRUE(stop);
  EXPECT_EQ(obey(first.lease, *stop, 2'100'000), TaskState::kScheduled);
  pass(0ms);
  EXPECT_EQ(get(first.task.id).attempts, 0);
  EXPECT_EQ(get(first.task.id).defers, 0);
  EXPECT_TRUE(claim(1).empty());
  const Explanation why = explain(first.task.id);
  EXPECT_EQ(why.gate, "owner:ann");
  EXPECT_NE(why.text.find("2.1 USD of its budget of 2 USD"), std::string::npos) << why.text;
  EXPECT_EQ(why.at, budget().resets_at);
  pass(24h);
  EXPECT_EQ(claim_one().task.id, first.task.id);
  EXPECT_EQ(budget().spent, 0) << "of another day";
}

TEST_P(Budgets, ARaiseLetsItGoOnAtOnce) {
  enqueue_many(1);
  const ClaimedTask first = claim_one();
  obey(first.lease, spend(first.lease, 2'000'001).value_or(BudgetStop{}), 2'000'001);
  pass(0ms);
  EXPECT_TRUE(claim(1).empty());
  const auto raised = must(queue().raise_budget({.gate = "owner:ann", .by_amount = 600'000, .by = "op", .why = "go"}));
  EXPECT_EQ(raised.limit(), 2'600'000);
  EXPECT_EQ(claim_one().task.id, first.task.id);
  EXPECT_EQ(count_events("budget.raised"), 1);
  pass(24h);
  EXPECT_EQ(claim_one().task.id, first.task.id) << "its lease was lost";
  EXPECT_EQ(budget().limit(), 2'000'000) << "until the period ends";
}

TEST_P(Budgets, OnlyABudgetThatIsThereIsRaised) {
  EXPECT_EQ(code_of(queue().raise_budget({.gate = "all", .by_amount = 1})), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(queue().raise_budget({.gate = "owner:ann", .unit = BudgetUnit::kTurns, .by_amount = 1})),
            ErrorCode::kNotFound);
  EXPECT_EQ(code_of(queue().raise_budget({.gate = "owner:ann", .by_amount = 0})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(queue().raise_budget({.gate = "nonsense", .by_amount = 1})), ErrorCode::kInvalidArgument);
}

TEST_P(Budgets, OneThatSaysFailFailsTheTask) {
  apply(R"({"usd":2,"on_breach":"fail"})");
  enqueue_many(1);
  const ClaimedTask one = claim_one();
  const auto stop = spend(one.lease, 3'000'000);
  ASSERT_TRUE(stop);
  EXPECT_EQ(obey(one.lease, *stop, 3'000'000), TaskState::kFailed);
  EXPECT_EQ(class_of(get(one.task.id).error), ErrorClass::kBudgetExceeded);
}

TEST_P(Budgets, AddedUnderAFullQueueItStartsNothingMore) {
  apply_document(R"("owners":{})");
  enqueue_many(10);
  auto running = claim(4);
  ASSERT_EQ(running.size(), 4U);
  apply(R"({"usd":2})");
  EXPECT_EQ(budget().aside, 2'000'000) << "for what runs already";
  EXPECT_TRUE(claim(10).empty());
  apply(R"({"usd":1})");
  EXPECT_TRUE(claim(10).empty());
  EXPECT_TRUE(spend(running[0].lease, 1'000'000));
  for (const ClaimedTask& one : running) complete(one.lease);
  EXPECT_EQ(budget().aside, 0);
  apply_document(R"("owners":{})");
  EXPECT_EQ(claim(10).size(), 6U);
}

TEST_P(Budgets, WhatARunMaySpendCanChangeWhileItRuns) {
  enqueue_many(4);
  auto running = claim(2);
  apply_config(
      R"({"types":{"work":{"budget_per_run":{"usd":1}}},"owners":{"default":{"budgets":[{"usd":2,"per":"day"}]}}})");
  EXPECT_EQ(budget().aside, 2'000'000);
  EXPECT_TRUE(claim(1).empty());
  for (const ClaimedTask& one : running) finish(one.lease, 250'000);
  EXPECT_EQ(budget().aside, 0);
  EXPECT_EQ(claim(2).size(), 1U);
}

TEST_P(Budgets, EveryGateOfATaskCounts) {
  apply_document(R"("gates":{"all":{"budgets":[{"usd":10,"per":"month"}]},"provider:acme":{"budgets":[{"usd":1}]},
                             "tag:night":{"budgets":[{"tokens":250}]}})");
  enqueue_all({{.type = "work", .owner = "ann"}, {.type = "work", .owner = "bob"}, {.type = "work", .owner = "cid"}});
  enqueue_all(std::vector<TaskSpec>(4, TaskSpec{.type = "big", .tags = {"night"}}));
  enqueue({.type = "free"});
  EXPECT_EQ(claim(20).size(), 2U + 2U + 1U);
  EXPECT_EQ(budget("all").aside, 2 * 500'000 + 2 * 1'500'000);
  EXPECT_EQ(budget("provider:acme").left(), 0);
  EXPECT_EQ(budget("tag:night").aside, 200);
}

TEST_P(Budgets, ADayAndAMonthOfOneUnitShareWhatIsSetAside) {
  apply(R"({"usd":1,"per":"day"},{"usd":1.6,"per":"month"})");
  enqueue_many(9);
  auto running = claim(9);
  ASSERT_EQ(running.size(), 2U);
  for (const ClaimedTask& one : running) finish(one.lease, 500'000);
  EXPECT_TRUE(claim(9).empty());
  pass(24h);
  EXPECT_EQ(claim(9).size(), 1U) << "the month has 0.6 left";
}

TEST_P(Budgets, ARunOverMidnightIsBookedWhereItSpends) {
  enqueue_many(1);
  const Lease lease = claim({{.queue = "work"}}, 1, 24h).at(0).lease;
  spend(lease, 300'000);
  pass(12h);
  EXPECT_EQ(renew(lease, 24h), LeaseState::kHeld);
  pass(12h);
  EXPECT_EQ(budget().spent, 0);
  spend(lease, 400'000);
  EXPECT_EQ(budget().spent, 100'000);
  EXPECT_EQ(budget().aside, 100'000);
  const auto rows = must(queue().usage({.by = {UsageDimension::kOwner}}));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].amounts.reported_cost, 400'000);
}

// In Berlin the last Sunday of October has 25 hours.
TEST_P(Budgets, ADayIsAsLongAsItsZoneSays) {
  apply(R"({"usd":2,"per":"day","zone":"Europe/Berlin"})");
  const Time midnight = std::chrono::sys_days(std::chrono::year(2031) / 10 / 25) + 22h;
  pass(midnight - 1min - now());
  enqueue_many(1);
  const Lease lease = claim({{.queue = "work"}}, 1, 24h).at(0).lease;
  spend(lease, 300'000);
  pass(2min);
  EXPECT_EQ(budget().spent, 0);
  EXPECT_EQ(budget().resets_at, midnight + 25h);
  spend(lease, 400'000);
  pass(12h);
  EXPECT_EQ(renew(lease, 24h), LeaseState::kHeld);
  pass(12h);
  EXPECT_EQ(budget().spent, 100'000);
  pass(1h);
  EXPECT_EQ(budget().spent, 0);
  complete(lease);
}

TEST_P(Budgets, ExplainNamesGateAmountAndReset) {
  const std::string per_day = R"({"budgets":[{"usd":0.5,"per":"day"}]})";
  for (const std::string gate : {"all", "type:work", "provider:acme", "tag:night", "owner:ann"}) {
    const bool is_owner = gate.starts_with("owner:");
    apply_document(is_owner ? fmt::format(R"("owners":{{"ann":{}}})", per_day)
                            : fmt::format(R"("gates":{{"{}":{}}})", gate, per_day));
    enqueue_all(std::vector<TaskSpec>(2, TaskSpec{.type = "work", .owner = "ann", .tags = {"night"}}));
    const Lease running = claim_one().lease;
    spend(running, 600'000);
    const TaskId waits = all_tasks({.states = {TaskState::kPending}}).at(0).id;
    const Explanation why = explain(waits);
    EXPECT_EQ(why.gate, gate);
    EXPECT_EQ(why.at, budget(gate).resets_at) << gate;
    for (const std::string& said :
         {std::string("0.6 USD of its budget of 0.5 USD"), format_time(why.at.value_or(Time{}))}) {
      EXPECT_NE(why.text.find(said), std::string::npos) << gate << ": " << why.text;
    }
    const StuckReport stuck = must(queue().stuck(std::nullopt));
    ASSERT_EQ(stuck.groups.size(), 1U);
    EXPECT_EQ(stuck.groups[0].gate, gate);
    EXPECT_NE(stuck.groups[0].text.find("0.5 USD"), std::string::npos) << stuck.groups[0].text;
    const QueueStatus held = must(queue().queues()).at(0);
    ASSERT_EQ(held.held.size(), 1U) << gate;
    EXPECT_NE(held.held[0].why.find("0.5 USD"), std::string::npos) << held.held[0].why;
    cancel(waits);
    complete(running);
  }
}

TEST_P(Budgets, WhatAProgramSaysAtItsDoorStopsNobodyElse) {
  enqueue_many(3);
  auto running = claim(3);
  const auto answer = must(queue().report(running[0].lease, {.usage = cost(1'000'000'000), .at_door = true}));
  EXPECT_EQ(budget().spent, 500'000);
  EXPECT_FALSE(answer.stop) << "there is another slice";
  EXPECT_FALSE(spend(running[1].lease, 100'000));
  EXPECT_FALSE(spend(running[2].lease, 100'000));
}

TEST_P(Budgets, NorDoesTheEndOfSuchARun) {
  enqueue_many(3);
  auto running = claim(3);
  must(queue().report(running[0].lease, {.usage = cost(1'000'000'000), .at_door = true}));
  must(queue().report(running[1].lease, {.usage = cost(1'000'000'000), .at_door = true}));
  EXPECT_EQ(complete(running[0].lease), TaskState::kCompleted);
  lose(running[1].lease);
  EXPECT_EQ(budget().spent, 1'000'000) << "what was set aside for each";
  EXPECT_EQ(claim(3).size(), 2U);
}

TEST_P(Budgets, AnUnknownPriceCountsAsWhatWasSetAside) {
  enqueue_many(1);
  const Lease lease = claim_one().lease;
  settle({.lease = lease, .end = Completion{}, .report = {.usage = Usage{.tokens = {.output = 7}, .turns = 1}}});
  EXPECT_EQ(budget().spent, 500'000);
}

TEST_P(Budgets, SurviveARestart) {
  enqueue_many(4);
  auto running = claim(2);
  spend(running[0].lease, 600'000);
  reopen();
  EXPECT_EQ(budget().spent, 600'000);
  EXPECT_EQ(budget().aside, 900'000);
  finish(running[0].lease, 700'000);
  EXPECT_EQ(budget().spent, 700'000);
  EXPECT_EQ(budget().aside, 500'000);
}

TEST_P(Budgets, AreRefusedWhereARunHasNoAmount) {
  const auto refused = queue().apply_config(R"({"types":{"work":{}},"gates":{"all":{"budgets":[{"usd":1}]}}})",
                                            must(queue().config()).version);
  ASSERT_EQ(code_of(refused), ErrorCode::kInvalidConfig);
  EXPECT_NE(refused.error().message.find("budget_per_run.usd"), std::string::npos) << refused.error().message;
}

TEST_P(Budgets, OfATaskEndItWhenTheyAreUsedUp) {
  apply_document(R"("owners":{})");
  const TaskId id = enqueue({.type = "work", .owner = "ann", .budget = R"({"usd":1})"});
  const Lease first = start(id);
  EXPECT_FALSE(spend(first, 600'000));
  EXPECT_EQ(fail(first), TaskState::kScheduled) << "there is some left";
  pass(24h);
  const Lease second = start(id);
  const auto stop = spend(second, 400'000);
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->gate, "");
  EXPECT_EQ(fail(second), TaskState::kFailed);
  EXPECT_EQ(class_of(get(id).error), ErrorClass::kBudgetExceeded);
}

TEST_P(Budgets, OfATaskAreChecked) {
  for (const std::string bad : {"[]", "{\"usd\":-1}", "{\"euros\":1}"}) {
    const TaskSpec spec{.type = "work", .budget = bad};
    EXPECT_EQ(code_of(queue().enqueue(std::span(&spec, 1))), ErrorCode::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace drover::test
