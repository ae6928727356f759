#include "core/budget.h"

#include <gtest/gtest.h>

#include "core/gate.h"
#include "core/question.h"

namespace drover {
namespace {

using namespace std::chrono_literals;

// Clocks that go one hour ahead at 01:00 UTC on 29 March 2026, and back on 25 October.
std::optional<std::chrono::seconds> summer_zone(std::string_view zone, Time at) {
  if (zone != "Europe/Berlin") return std::nullopt;
  const Time begin = std::chrono::sys_days(2026y / 3 / 29) + 1h;
  const Time end = std::chrono::sys_days(2026y / 10 / 25) + 1h;
  return at >= begin && at < end ? std::chrono::seconds(7'200) : std::chrono::seconds(3'600);
}

Time at(std::string_view text) {
  return parse_time(text).value_or(Time{});
}

struct PeriodCase {
  BudgetPer per;
  std::string zone;
  std::string now;
  std::string id;
  std::string ends_at;
};

class BudgetPeriods : public ::testing::TestWithParam<PeriodCase> {};

TEST_P(BudgetPeriods, BeginAndEndWithTheDaysOfTheirZone) {
  const PeriodCase& one = GetParam();
  const BudgetPeriod period = period_at(one.per, one.zone, at(one.now), summer_zone);
  EXPECT_EQ(period.id, one.id);
  EXPECT_EQ(period.ends_at, one.ends_at.empty() ? std::nullopt : std::optional(at(one.ends_at)));
}

INSTANTIATE_TEST_SUITE_P(
    Table, BudgetPeriods,
    ::testing::Values(
        PeriodCase{BudgetPer::kNone, "UTC", "2026-11-18T12:00:00Z", "all", ""},
        PeriodCase{BudgetPer::kDay, "UTC", "2026-11-18T12:00:00Z", "2026-11-18@UTC", "2026-11-19T00:00:00Z"},
        PeriodCase{BudgetPer::kDay, "UTC", "2026-11-18T00:00:00Z", "2026-11-18@UTC", "2026-11-19T00:00:00Z"},
        PeriodCase{BudgetPer::kDay, "UTC", "2026-11-18T23:59:59.999Z", "2026-11-18@UTC", "2026-11-19T00:00:00Z"},
        PeriodCase{BudgetPer::kMonth, "UTC", "2026-12-31T23:00:00Z", "2026-12@UTC", "2027-01-01T00:00:00Z"},
        PeriodCase{BudgetPer::kMonth, "UTC", "2028-02-01T00:00:00Z", "2028-02@UTC", "2028-03-01T00:00:00Z"},
        PeriodCase{BudgetPer::kMonth, "Europe/Berlin", "2026-10-31T23:30:00Z", "2026-11@Europe/Berlin",
                   "2026-11-30T23:00:00Z"},
        // A day of 23 hours, and one of 25.
        PeriodCase{BudgetPer::kDay, "Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29@Europe/Berlin",
                   "2026-03-29T22:00:00Z"},
        PeriodCase{BudgetPer::kDay, "Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25@Europe/Berlin",
                   "2026-10-25T23:00:00Z"},
        // Better the wrong midnight than no budget.
        PeriodCase{BudgetPer::kDay, "Mars/Olympus", "2026-11-18T12:00:00Z", "2026-11-18@Mars/Olympus",
                   "2026-11-19T00:00:00Z"}));

TEST(BudgetRules, AClaimTakesAsManyRunsAsFit) {
  EXPECT_EQ(runs_within(2'000'000, 500'000), 4);
  EXPECT_EQ(runs_within(1'999'999, 500'000), 3);
  EXPECT_EQ(runs_within(499'999, 500'000), 0);
  EXPECT_EQ(runs_within(0, 500'000), 0);
  EXPECT_EQ(runs_within(-1, 0), 0);
  EXPECT_GT(runs_within(1, 0), 1'000) << "nothing is set aside for these";
}

TEST(BudgetRules, WhatIsSetAsideIsWhatIsGrantedAndNotSpent) {
  const BudgetAmounts per_run{500, 0, 10, 0};
  EXPECT_EQ(held_back(per_run, {}), per_run);
  EXPECT_EQ(held_back(per_run, {.spent = {200, 7, 10, 0}}), (BudgetAmounts{300, 0, 0, 0}));
  EXPECT_EQ(held_back(per_run, {.spent = {700, 0, 0, 0}}), (BudgetAmounts{0, 0, 10, 0})) << "never less than nothing";
  EXPECT_EQ(held_back(per_run, {.spent = {700, 0, 0, 0}, .granted = {1'000, 0, 0, 0}}), (BudgetAmounts{300, 0, 10, 0}));
}

TEST(BudgetRules, SlicesAreWhole) {
  EXPECT_EQ(granted_for(0, 0, 500), 0);
  EXPECT_EQ(granted_for(499, 0, 500), 0);
  EXPECT_EQ(granted_for(500, 0, 500), 0) << "it used what was set aside, and no more";
  EXPECT_EQ(granted_for(501, 0, 500), 1'000);
  EXPECT_EQ(granted_for(1'000, 0, 500), 1'000);
  EXPECT_EQ(granted_for(999, 1'000, 500), 1'000);
  EXPECT_EQ(granted_for(2'300, 1'000, 500), 2'500);
  EXPECT_EQ(granted_for(2'300, 0, 0), 0);
}

AskedGate gate_with(std::int64_t limit, std::int64_t spent, std::int64_t aside) {
  AskedGate gate{.name = "owner:ann", .budgets = {GateBudget{}}, .limits = {{.limit = limit, .period = "all"}}};
  gate.use = {.spent = {spent}, .aside = {aside, 0, 0, 0}};
  return gate;
}

TEST(BudgetRules, ARunWithinItsSliceGoesOn) {
  const AskedGate gate = gate_with(2'000, 0, 500);
  const SpendVerdict verdict = judge_spend({}, {200, 0, 0, 0}, {500, 0, 0, 0}, std::span(&gate, 1));
  EXPECT_FALSE(verdict.breach);
  EXPECT_FALSE(verdict.change.takes_slice);
  EXPECT_EQ(spent_by(verdict.change)[0], 200);
  EXPECT_EQ(set_aside_by(verdict.change, {500, 0, 0, 0})[0], -200);
}

TEST(BudgetRules, OneThatHasUsedItUpTakesAnother) {
  const AskedGate gate = gate_with(2'000, 0, 500);
  const SpendVerdict verdict = judge_spend({}, {600, 0, 0, 0}, {500, 0, 0, 0}, std::span(&gate, 1));
  EXPECT_FALSE(verdict.breach);
  EXPECT_TRUE(verdict.change.takes_slice);
  EXPECT_EQ(verdict.change.after.granted[0], 1'000);
  BudgetUse use = gate.use;
  book(verdict.change, {500, 0, 0, 0}, gate.limits, use);
  EXPECT_EQ(use.spent[0], 600);
  EXPECT_EQ(use.aside[0], 400);
  EXPECT_TRUE(fits(verdict.change, {500, 0, 0, 0}, gate.limits, gate.use));
}

TEST(BudgetRules, OrStopsWhereOthersNeedTheRest) {
  // Another run holds 500 of the 1,000.
  const AskedGate gate = gate_with(1'000, 0, 1'000);
  const SpendVerdict verdict = judge_spend({}, {501, 0, 0, 0}, {500, 0, 0, 0}, std::span(&gate, 1));
  ASSERT_TRUE(verdict.breach);
  EXPECT_FALSE(verdict.change.takes_slice);
  EXPECT_EQ(verdict.change.after.granted[0], 0);
  EXPECT_EQ(verdict.change.after.spent[0], 501) << "it is booked all the same";
  // Told again, because the answer was lost: the same.
  AskedGate after = gate;
  book(verdict.change, {500, 0, 0, 0}, gate.limits, after.use);
  EXPECT_EQ(after.use.spent[0], 501);
  EXPECT_EQ(after.use.aside[0], 500);
  const SpendVerdict again = judge_spend(verdict.change.after, {501, 0, 0, 0}, {500, 0, 0, 0}, std::span(&after, 1));
  EXPECT_TRUE(again.breach);
  EXPECT_EQ(spent_by(again.change)[0], 0);
}

// Many programs make one request a run, which costs what was set aside for it: the last of them may end.
TEST(BudgetRules, ARunMayUseUpWhatWasSetAsideForIt) {
  const AskedGate gate = gate_with(1'000, 500, 500);
  const SpendVerdict verdict = judge_spend({}, {500, 0, 0, 0}, {500, 0, 0, 0}, std::span(&gate, 1));
  EXPECT_FALSE(verdict.breach);
  EXPECT_FALSE(verdict.change.takes_slice);
  EXPECT_TRUE(judge_spend({}, {501, 0, 0, 0}, {500, 0, 0, 0}, std::span(&gate, 1)).breach);
}

TEST(BudgetRules, ARunWithNothingSetAsideStopsWhenNothingIsLeft) {
  const AskedGate gate = gate_with(1'000, 500, 0);
  EXPECT_FALSE(judge_spend({}, {499, 0, 0, 0}, {}, std::span(&gate, 1)).breach);
  EXPECT_TRUE(judge_spend({}, {500, 0, 0, 0}, {}, std::span(&gate, 1)).breach);
}

TEST(BudgetRules, ABudgetThatWasLoweredStopsEverybody) {
  const AskedGate gate = gate_with(100, 300, 400);
  EXPECT_TRUE(judge_spend({.spent = {100, 0, 0, 0}}, {100, 0, 0, 0}, {500, 0, 0, 0}, std::span(&gate, 1)).breach);
}

TEST(BudgetRules, TheEndGivesBackWhatIsLeft) {
  const SpendChange change{.before = {.spent = {200, 0, 0, 0}}, .after = {.spent = {300, 0, 0, 0}}, .ends = true};
  const AskedGate gate = gate_with(2'000, 200, 300);
  BudgetUse use = gate.use;
  book(change, {500, 0, 0, 0}, gate.limits, use);
  EXPECT_EQ(use.spent[0], 300);
  EXPECT_EQ(use.aside[0], 0);
}

TEST(BudgetRules, AGateAsksItsBudgets) {
  const GateLimits limits{.budgets = {{.limit = 2'000, .period = "d", .resets_at = Time(Millis{9})}}};
  GateUse use{.budgets = {.spent = {300}, .aside = {200, 0, 0, 0}}};
  EXPECT_EQ(ask_gate(limits, use, 1, Time{}, {500, 0, 0, 0}).room, 3);
  use = use_gate(limits, use, 1, 3, Time{}, {500, 0, 0, 0});
  EXPECT_EQ(use.budgets.aside[0], 1'700);
  const GateVerdict verdict = ask_gate(limits, use, 1, Time{}, {500, 0, 0, 0});
  EXPECT_EQ(verdict.room, 0);
  EXPECT_EQ(verdict.look_again, Time(Millis{9}));
}

TEST(BudgetRules, ARaiseAndABreachLastAsLongAsThePeriod) {
  const std::vector<Budget> wanted{{.limit = 100, .per = BudgetPer::kDay}};
  const Time noon = at("2026-11-18T12:00:00Z");
  std::vector<GateBudget> kept = obeying({}, wanted, noon, summer_zone);
  ASSERT_EQ(kept.size(), 1U);
  kept[0].raised = 50;
  kept[0].breached = true;
  EXPECT_EQ(obeying(kept, wanted, noon + 1h, summer_zone), kept);
  const std::vector<GateBudget> tomorrow = obeying(kept, wanted, noon + 24h, summer_zone);
  EXPECT_EQ(tomorrow[0].raised, 0);
  EXPECT_FALSE(tomorrow[0].breached);
  EXPECT_EQ(tomorrow[0].period.id, "2026-11-19@UTC");
}

TEST(BudgetRules, AGateKeepsItsBudgetsInItsRecord) {
  GateRecord gate{.name = "all"};
  gate.budgets = {{.budget = {.unit = BudgetUnit::kTokens,
                              .limit = 5,
                              .per = BudgetPer::kMonth,
                              .zone = "Europe/Berlin",
                              .on_breach = OnBreach::kAsk},
                   .period = {.id = "2026-11@Europe/Berlin", .ends_at = Time(Millis{7})},
                   .raised = 3,
                   .breached = true}};
  gate.per_run = {1, 2, 3, 4};
  auto read = gate_from_json(gate_to_json(gate));
  ASSERT_TRUE(read);
  read->name = gate.name;
  EXPECT_EQ(*read, gate);
}

TEST(BudgetAmountText, IsReadInTheUnitOfTheBudget) {
  EXPECT_EQ(parse_amount(BudgetUnit::kUsd, "0.5"), 500'000);
  EXPECT_EQ(parse_amount(BudgetUnit::kTokens, "5M"), 5'000'000);
  EXPECT_EQ(parse_amount(BudgetUnit::kTurns, "80"), 80);
  EXPECT_EQ(parse_amount(BudgetUnit::kWall, "45m"), 2'700'000);
  for (const std::string_view bad : {"", "-1", "x", "5Q", "1e99", "9999999999999999999"}) {
    for (const BudgetUnit unit : kBudgetUnits) EXPECT_FALSE(parse_amount(unit, bad)) << bad;
  }
}

TEST(TaskBudget, IsReadAndWritten) {
  const auto budget = parse_task_budget(R"({"usd":3,"turns":80,"wall_ms":2700000})");
  ASSERT_TRUE(budget);
  EXPECT_EQ(task_budget_json(*budget), R"({"usd":3,"turns":80,"wall_ms":2700000})");
  for (const std::string_view bad : {"[]", "{\"usd\":0}", "{\"usd\":-1}", "{\"turns\":1.5}", "{\"euro\":1}", "{"}) {
    EXPECT_FALSE(parse_task_budget(bad)) << bad;
  }
  EXPECT_EQ(used_up(*budget, {2'999'999, 0, 79, 0}), std::nullopt);
  EXPECT_EQ(used_up(*budget, {3'000'000, 0, 0, 0}), BudgetUnit::kUsd);
}

TEST(TaskBudget, WhatIsLeftMayBeNothing) {
  const BudgetShares budget{3'000'000, std::nullopt, 80, std::nullopt};
  EXPECT_EQ(left_of(budget, {1'000'000, 5, 81, 5}), (BudgetShares{2'000'000, std::nullopt, 0, std::nullopt}));
  EXPECT_EQ(parse_budget_left(R"({"usd":0})"), (BudgetShares{0, std::nullopt, std::nullopt, std::nullopt}));
  EXPECT_FALSE(parse_budget_left(R"({"usd":-1})"));
  std::optional<std::int64_t> smallest;
  for (const std::int64_t amount : {5, 3, 4}) take_smaller(smallest, amount);
  EXPECT_EQ(smallest, 3);
}

TEST(TreeBudget, HasNoPeriod) {
  const auto budgets = tree_budgets({3'000'000, std::nullopt, 80, std::nullopt});
  ASSERT_EQ(budgets.size(), 2U);
  EXPECT_EQ(budgets[1].budget, (Budget{.unit = BudgetUnit::kTurns, .limit = 80}));
  EXPECT_EQ(budgets[1].period.id, "all");
  EXPECT_EQ(budgets[1].period.ends_at, std::nullopt);
}

// ---- near the end, and asking people

QuestionId question_id(std::uint8_t last) {
  TaskId::Bytes bytes{};
  bytes.back() = last;
  return QuestionId(bytes);
}

TEST(BudgetUsedUp, WhenNothingMoreCanStartInThePeriod) {
  const BudgetStatus budget{.budget = {.limit = 100}, .raised = 10, .spent = 80, .aside = 30};
  EXPECT_FALSE(is_used_up(budget, 30)) << "what is set aside may come back";
  EXPECT_TRUE(is_used_up(budget, 31));
  EXPECT_FALSE(is_used_up({.budget = {.limit = 1}}, 0));
  EXPECT_TRUE(is_used_up({.budget = {.limit = 1}, .spent = 1}, 0));
  EXPECT_EQ(percent_spent(budget), 72);
  EXPECT_EQ(percent_spent({}), 100) << "of nothing";
}

TEST(BudgetQuestion, SaysGateAmountAndReset) {
  BudgetStatus budget{.gate = "owner:ann",
                      .budget = {.limit = 2'000'000, .per = BudgetPer::kDay, .on_breach = OnBreach::kAsk},
                      .raised = 500'000,
                      .spent = 2'600'000,
                      .period = "2026-11-18",
                      .resets_at = at("2026-11-19T00:00:00Z")};
  const Question daily = budget_question(question_id(1), budget, at("2026-11-18T12:00:00Z"));
  EXPECT_EQ(daily.text,
            "owner:ann has spent 2.6 USD of its budget of 2.5 USD for 2026-11-18. Raise it by 2 USD until " +
                format_time(*budget.resets_at) + "? Otherwise its tasks wait until then.");
  EXPECT_EQ(daily.owner, "ann");
  EXPECT_EQ(daily.expires_at, budget.resets_at);
  budget = {.gate = "all", .budget = {.unit = BudgetUnit::kTurns, .limit = 0}, .spent = 3, .period = "all"};
  const Question ever = budget_question(question_id(2), budget, {});
  EXPECT_EQ(ever.text,
            "all has spent 3 turns of its budget of 0 turns. Raise it by 1 turn? Otherwise its tasks wait until "
            "somebody raises it.");
  EXPECT_EQ(ever.owner, "");
  EXPECT_EQ(ever.expires_at, std::nullopt);
  EXPECT_TRUE(is_raise(R"("raise")"));
  EXPECT_FALSE(is_raise(R"("stop")"));
}

TEST(BudgetQuestion, IsDroppedWithItsBudget) {
  GateBudget asking{.budget = {.limit = 5, .on_breach = OnBreach::kAsk}, .period = {.id = "all"}, .breached = true};
  asking.question = question_id(1);
  const std::vector<GateBudget> before{asking, {.budget = {.unit = BudgetUnit::kTurns}}};
  using Ids = std::vector<QuestionId>;
  EXPECT_EQ(dropped_questions(before, before), Ids{});
  EXPECT_EQ(dropped_questions(before, {}), Ids{question_id(1)});
  const auto after = [&](Budget wanted) { return dropped_questions(before, obeying(before, {&wanted, 1}, {}, {})); };
  EXPECT_EQ(after(asking.budget), Ids{});
  EXPECT_EQ(after({.limit = 6, .on_breach = OnBreach::kAsk}), Ids{question_id(1)}) << "another limit";
  EXPECT_EQ(after({.limit = 5, .on_breach = OnBreach::kPause}), Ids{question_id(1)}) << "it asks no more";
  GateRecord gate{.name = "all", .budgets = before};
  auto read = gate_from_json(gate_to_json(gate));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->budgets, before);
}

}  // namespace
}  // namespace drover
