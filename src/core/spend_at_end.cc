#include "core/spend_at_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/planted_bug.h"
#include "core/run_report.h"
#include "core/usage.h"

namespace drover {
namespace {

// All that the task has spent, with the run that ends now.
BudgetAmounts spent_by_task(const TaskRecord& record, Time now) {
  const Millis wall = record.task.started_at ? now - *record.task.started_at : Millis{0};
  return amounts_of(usage_of(record.task.usage), wall + Millis{run_budget_of(record.run_budget).earlier_wall});
}

// What a run has spent by its end, as budgets count it. Without a last word that is what its reports have booked: of
// what a program says at its door that may be less than all. Where nobody knows the price, it is what was set aside.
BudgetAmounts spent_by_run(const TaskRecord& record, const BudgetAmounts& booked, bool is_last_word, Time now,
                           const BudgetShares& per_run) {
  constexpr auto kWall = std::to_underlying(BudgetUnit::kWall);
  const Usage used = usage_of(record.run_usage);
  const Millis wall = record.task.started_at ? now - *record.task.started_at : Millis{0};
  BudgetAmounts spent = amounts_of(used, wall);
  if (!is_last_word && record.run_budget) {
    for (std::size_t i = 0; i < kWall; ++i) spent[i] = booked[i];
  }
  spent[kWall] = std::max(spent[kWall], booked[kWall]);  // though the clock be set back
  if (!used.cost && token_count(used.tokens) > 0) {
    amount_in(spent, BudgetUnit::kUsd) = per_run[std::to_underlying(BudgetUnit::kUsd)].value_or(0);
  }
  return spent;
}

}  // namespace

std::optional<TaskError> end_by_budget(const TaskRecord& record, Time now) {
  const Task& task = record.task;
  if (!task.budget) return std::nullopt;
  const auto budget = parse_task_budget(*task.budget);
  const BudgetAmounts spent = spent_by_task(record, now);
  const auto unit = budget ? used_up(*budget, spent) : std::nullopt;
  if (!unit) return std::nullopt;
  return TaskError{
      ErrorClass::kBudgetExceeded,
      fmt::format("its runs have spent {} of its budget of {}", format_amount(*unit, amount_in(spent, *unit)),
                  format_amount(*unit, (*budget)[std::to_underlying(*unit)].value_or(0)))};
}

std::optional<SpendChange> spend_until(const TaskRecord& record, const RunReport* last, const DecisionContext& context,
                                       const BudgetShares& per_run) {
  if (record.task.state != TaskState::kRunning || (!context.budgeted && !record.run_budget)) return std::nullopt;
  SpendChange change{.before = run_budget_of(record.run_budget), .ends = true};
  change.after = change.before;
  const bool is_last_word = last != nullptr && last->usage;
  change.after.spent = spent_by_run(record, change.before.spent, is_last_word, context.now, per_run);
  if (planted(PlantedBug::kEndBooksAgain)) change.before.spent = {};
  return change;
}

void close_spend(Step& step, std::optional<SpendChange> spend) {
  if (!spend || !step.run_end) return;
  TaskRecord& next = step.next;
  next.run_budget.reset();
  if (next.task.budget) {
    const RunBudget rest{.earlier_wall = spend->before.earlier_wall + amount_in(spend->after.spent, BudgetUnit::kWall)};
    next.run_budget = run_budget_json(rest);
  }
  if (planted(PlantedBug::kLossKeepsAside) && step.run_end->outcome == "stalled") spend->ends = false;
  step.spend = std::move(spend);
}

}  // namespace drover
