// Budgets: pure rules. docs/internals/lanes-and-gates.md says how stores use them.
//
// What is spent is booked per gate, unit and period. What is set aside is a sum over the runs that go on: for each,
// what was granted to it and is not spent yet. The first grant is the type's `budget_per_run`, which the claim takes; a
// run that has used up what was granted takes another such slice, or is told to stop.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/usage.h"
#include "drover/budget.h"
#include "drover/question.h"
#include "drover/task.h"
#include "drover/time.h"

namespace drover {

// ---- periods

struct BudgetPeriod {
  std::string id{};               // "2026-11-18@Europe/Berlin", "2026-11@UTC", or "all"
  std::optional<Time> ends_at{};  // none: never

  bool operator==(const BudgetPeriod&) const = default;
};
// How far the clocks of a zone are ahead of UTC; nothing for a zone that is not known.
using ZoneOffset = std::function<std::optional<std::chrono::seconds>(std::string_view zone, Time at)>;
// A zone that is not known here counts as UTC: a budget with the wrong midnight is better than none.
[[nodiscard]] BudgetPeriod period_at(BudgetPer per, std::string_view zone, Time now, const ZoneOffset& offset);
// The id without its zone, for people.
[[nodiscard]] std::string_view period_name(std::string_view id);

// ---- gates

// A budget of a gate's record: what the policy says, and where its period stands.
struct GateBudget {
  Budget budget{};
  BudgetPeriod period{};
  std::int64_t raised = 0;
  bool breached = false;                    // told of in this period
  std::optional<QuestionId> question = {};  // that was asked then

  bool operator==(const GateBudget&) const = default;
};
// What the policy says takes the place of what the record has; what stands in the same period is kept.
[[nodiscard]] std::vector<GateBudget> obeying(std::span<const GateBudget> kept, std::span<const Budget> wanted,
                                              Time now, const ZoneOffset& offset);

// The questions of the one that the other has no more: they are withdrawn.
[[nodiscard]] std::vector<QuestionId> dropped_questions(std::span<const GateBudget> before,
                                                        std::span<const GateBudget> after);
// Of its limit.
[[nodiscard]] std::int64_t percent_spent(const BudgetStatus& budget);
// "has spent 2.1 USD of its budget of 2 USD for 2026-11-18"
[[nodiscard]] std::string spent_text(const BudgetStatus& budget);
// Whether a run that may spend `per_run` can start in this period no more, whatever the runs that go on give back.
[[nodiscard]] bool is_used_up(const BudgetStatus& budget, std::int64_t per_run);

// ---- asking people whether a budget is to be raised

inline constexpr std::string_view kRaiseOption = "raise";
inline constexpr std::string_view kStopOption = "stop";
// By how much they are asked to raise it: its own limit.
[[nodiscard]] std::int64_t raise_asked_for(const Budget& budget);
// Says gate, amount and reset. It is open until the period ends.
[[nodiscard]] Question budget_question(const QuestionId& id, const BudgetStatus& budget, Time now);
[[nodiscard]] bool is_raise(const JsonText& answer);

// The part that a store enforces.
struct BudgetLimit {
  BudgetUnit unit = BudgetUnit::kUsd;
  std::int64_t limit = 0;
  std::string period{};
  std::optional<Time> resets_at{};

  bool operator==(const BudgetLimit&) const = default;
};

// How many runs that may each spend `per_run` fit into what is left. A run that nothing is set aside for may start
// while anything is left.
[[nodiscard]] std::int64_t runs_within(std::int64_t left, std::int64_t per_run);

// ---- runs

// Where a running task stands with budgets; part of its record.
struct RunBudget {
  BudgetAmounts spent{};          // that was booked of this run
  BudgetAmounts granted{};        // in all, where that is more than the type's budget_per_run
  std::int64_t earlier_wall = 0;  // milliseconds that the earlier runs of its task took

  bool operator==(const RunBudget&) const = default;
  [[nodiscard]] bool is_empty() const { return *this == RunBudget{}; }
};
// {"spent": [usd, tokens, turns, wall], "granted": [the same], "earlier_wall_ms"}
[[nodiscard]] std::string run_budget_json(const RunBudget& run);
[[nodiscard]] RunBudget run_budget_of(const std::optional<JsonText>& json);

[[nodiscard]] BudgetAmounts amounts_of(const Usage& usage, Millis wall);
// What is still set aside for a run.
[[nodiscard]] BudgetAmounts held_back(const BudgetAmounts& per_run, const RunBudget& run);

// How a run's standing moves with a step. A store books the difference in every gate of the task that has a budget.
struct SpendChange {
  RunBudget before{};
  RunBudget after{};
  bool ends = false;         // the run does: nothing is set aside for it any more
  bool takes_slice = false;  // only if every gate has that much left; else the step conflicts

  bool operator==(const SpendChange&) const = default;
};
// What the gates of the task must add.
[[nodiscard]] BudgetAmounts spent_by(const SpendChange& change);
[[nodiscard]] BudgetAmounts set_aside_by(const SpendChange& change, const BudgetAmounts& per_run);

// What is used of a gate's budgets.
struct BudgetUse {
  std::vector<std::int64_t> spent{};  // of each BudgetLimit, in its period
  BudgetAmounts aside{};

  [[nodiscard]] std::int64_t left(std::span<const BudgetLimit> limits, std::size_t i) const {
    return limits[i].limit - spent[i] - amount_in(aside, limits[i].unit);
  }
  bool operator==(const BudgetUse&) const = default;
};
// Whether the change leaves no gate's budget overdrawn in a unit of which it takes a slice.
[[nodiscard]] bool fits(const SpendChange& change, const BudgetAmounts& per_run, std::span<const BudgetLimit> limits,
                        const BudgetUse& use);
// Adds it.
void book(const SpendChange& change, const BudgetAmounts& per_run, std::span<const BudgetLimit> limits, BudgetUse& use);

// What was granted, so that `spent` is within it: whole slices.
[[nodiscard]] std::int64_t granted_for(std::int64_t spent, std::int64_t granted, std::int64_t per_run);

// ---- a run reports

// A gate of the task with a budget, as the store has it.
struct AskedGate {
  std::string name{};
  std::vector<GateBudget> budgets{};
  std::vector<BudgetLimit> limits{};
  BudgetUse use{};
};
struct Breach {
  std::size_t gate = 0;    // which of those asked
  std::size_t budget = 0;  // which of its budgets
};
struct SpendVerdict {
  SpendChange change{};
  std::optional<Breach> breach{};
};
// What follows from a report of a run that has spent so much by now: another slice where it needs one and all gates
// have it, or a breach.
[[nodiscard]] SpendVerdict judge_spend(const RunBudget& before, const BudgetAmounts& spent,
                                       const BudgetAmounts& per_run, std::span<const AskedGate> gates);
// The unit in which a task's own budget is used up.
[[nodiscard]] std::optional<BudgetUnit> used_up(const BudgetShares& budget, const BudgetAmounts& spent);

// ---- a task's own budget

// {"usd": 3, "tokens": 500000, "turns": 80, "wall_ms": 2700000}; kInvalidArgument names the member.
[[nodiscard]] Result<BudgetShares> parse_task_budget(std::string_view json);
[[nodiscard]] std::string task_budget_json(const BudgetShares& budget);
// The same of what is left: it may be nothing.
[[nodiscard]] Result<BudgetShares> parse_budget_left(std::string_view json);
// What a task's own budget leaves, by unit.
[[nodiscard]] BudgetShares left_of(const BudgetShares& budget, const BudgetAmounts& spent);
// The smaller of two that are said.
void take_smaller(std::optional<std::int64_t>& smallest, std::int64_t amount);
// The budgets of the gate tree:ROOT.
[[nodiscard]] std::vector<GateBudget> tree_budgets(const BudgetShares& shares);

// Spend as it is kept and dumped. The period "" is what is set aside.
struct SpendEntry {
  std::string gate{};
  BudgetUnit unit = BudgetUnit::kUsd;
  std::string period{};
  std::int64_t amount = 0;

  auto operator<=>(const SpendEntry&) const = default;
};

}  // namespace drover
