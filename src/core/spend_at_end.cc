#include "core/spend_at_end.h"

#include <fmt/format.h>

#include <utility>

#include "core/run_report.h"
#include "core/usage.h"

namespace drover {
namespace {

// All that the task has spent, with the run that ends now.
BudgetAmounts spent_by_task(const TaskRecord& record, Time now) {
  const Millis wall = record.task.started_at ? now - *record.task.started_at : Millis{0};
  return amounts_of(usage_of(record.task.usage), wall + Millis{run_budget_of(record.run_budget).earlier_wall});
}

// What a run has spent by its end, as budgets count it. Where nobody knows the price, it is what was set aside for it.
BudgetAmounts spent_by_run(const TaskRecord& record, Time now, const BudgetShares& per_run) {
  const Usage used = usage_of(record.run_usage);
  const Millis wall = record.task.started_at ? now - *record.task.started_at : Millis{0};
  BudgetAmounts spent = amounts_of(used, wall);
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

std::optional<SpendChange> spend_until(const TaskRecord& record, const DecisionContext& context,
                                       const BudgetShares& per_run) {
  if (record.task.state != TaskState::kRunning || (!context.budgeted && !record.run_budget)) return std::nullopt;
  SpendChange change{.before = run_budget_of(record.run_budget), .ends = true};
  change.after = change.before;
  change.after.spent = spent_by_run(record, context.now, per_run);
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
  step.spend = std::move(spend);
}

}  // namespace drover
