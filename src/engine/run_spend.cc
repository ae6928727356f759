#include "engine/run_spend.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/planted_bug.h"
#include "base/try.h"
#include "core/gate_name.h"
#include "core/run_report.h"
#include "engine/gate_questions.h"
#include "engine/gate_status.h"

namespace drover {
std::vector<BudgetStatus> budget_statuses(std::string_view gate, const GateRecord& record, const BudgetUse& use) {
  std::vector<BudgetStatus> statuses;
  for (std::size_t i = 0; i < record.budgets.size(); ++i) {
    const GateBudget& one = record.budgets[i];
    statuses.push_back({.gate = std::string(gate),
                        .budget = one.budget,
                        .raised = one.raised,
                        .spent = i < use.spent.size() ? use.spent[i] : 0,
                        .aside = amount_in(use.aside, one.budget.unit),
                        .period = std::string(period_name(one.period.id)),
                        .resets_at = one.period.ends_at,
                        .breached = one.breached});
  }
  return statuses;
}

std::string why_used_up(const BudgetStatus& budget) {
  std::string text = spent_text(budget);
  if (budget.aside > 0) {
    text += fmt::format(", and {} is set aside for runs that go on", format_amount(budget.budget.unit, budget.aside));
  }
  text +=
      budget.resets_at ? fmt::format("; the next one begins at {}", format_time(*budget.resets_at)) : "; it ends there";
  return text + fmt::format(", unless somebody runs `drover budget raise {}`", budget.gate);
}

Result<std::vector<AskedGate>> RunSpend::read(const Task& task) {
  std::vector<AskedGate> asked;
  std::vector<std::string> names = policy_.budgeted_gates(task);
  if (names.empty()) return asked;
  names.emplace_back(kOtherOwnersGate);
  auto states = TRY(store_.read_gates(names));
  const GateRecord others = states.back().record;
  states.pop_back();
  for (GateState& state : states) {
    const GateRecord effective = effective_gate(state.record, others);
    GateLimits limits = limits_of(effective);
    if (limits.budgets.empty()) continue;  // the policy is newer than the gate
    state.use.budgets.spent.resize(limits.budgets.size());
    asked.push_back({.name = state.record.name,
                     .budgets = effective.budgets,
                     .limits = std::move(limits.budgets),
                     .use = std::move(state.use.budgets)});
    records_.push_back(effective);
    records_.back().name = state.record.name;
    records_.back().revision = state.record.revision;
  }
  return asked;
}

BudgetAmounts RunSpend::spent_by(const TaskRecord& told, const RunBudget& before, bool at_door) const {
  const Millis wall = told.task.started_at ? now_ - *told.task.started_at : Millis{0};
  BudgetAmounts spent = amounts_of(usage_of(told.run_usage), wall);
  const BudgetAmounts per_run = policy_.per_run(told.task.type);
  for (std::size_t i = 0; i < spent.size(); ++i) {
    // What a program says of itself may be anything: it cannot use up what others need.
    const bool is_believed = !at_door || per_run[i] == 0 || i == std::to_underlying(BudgetUnit::kWall);
    if (!is_believed) spent[i] = std::min(spent[i], per_run[i]);
    spent[i] = std::clamp(spent[i], before.spent[i], std::max(before.spent[i], kBudgetMax));
  }
  return spent;
}

void RunSpend::tell(const Breach& breach, const BudgetStatus& status, const Task& task, StepGroup& group) const {
  if (gates_[breach.gate].budgets[breach.budget].breached) return;
  const GateRecord& record = records_[breach.gate];
  const auto same = std::ranges::find(group.gates, record.name, &GateStep::name);
  GateStep& step = same != group.gates.end()
                       ? *same
                       : group.gates.emplace_back(GateStep{.name = record.name, .expected_revision = record.revision});
  if (step.next) {
    step.next->budgets = record.budgets;
  } else {
    step.next = record;
  }
  breach_budget(step, breach.budget, status, &task.id, rng_, now_, group);
}

Result<std::optional<BudgetStop>> RunSpend::judge(const TaskRecord& record, const TaskRecord& told, bool at_door,
                                                  StepGroup& group) {
  gates_ = TRY(read(record.task));
  if (gates_.empty() && !record.task.budget) return std::nullopt;
  const RunBudget before = run_budget_of(record.run_budget);
  const BudgetAmounts spent = spent_by(told, before, at_door);
  const SpendVerdict verdict = judge_spend(before, spent, policy_.per_run(record.task.type), gates_);
  if (verdict.change.after != before) {
    Step& step = group.steps.front();
    SpendChange& booked = step.spend.emplace(verdict.change);
    if (planted(PlantedBug::kReportBooksTotal)) booked.before.spent = {};
    step.next.run_budget = run_budget_json(verdict.change.after);
  }
  if (record.task.budget) {
    const auto budget = TRY(parse_task_budget(*record.task.budget));
    BudgetAmounts total = amounts_of(usage_of(told.task.usage), Millis{before.earlier_wall});
    amount_in(total, BudgetUnit::kWall) += amount_in(spent, BudgetUnit::kWall);
    if (const auto unit = used_up(budget, total)) {
      return BudgetStop{
          .gate = "",
          .unit = *unit,
          .on_breach = OnBreach::kFail,
          .why = fmt::format("the task has spent {} of its budget of {}", format_amount(*unit, amount_in(total, *unit)),
                             format_amount(*unit, budget[std::to_underlying(*unit)].value_or(0)))};
    }
  }
  if (!verdict.breach) return std::nullopt;
  const AskedGate& gate = gates_[verdict.breach->gate];
  BudgetUse use = gate.use;
  book(verdict.change, policy_.per_run(record.task.type), gate.limits, use);
  const BudgetStatus status = budget_statuses(gate.name, records_[verdict.breach->gate], use)[verdict.breach->budget];
  tell(*verdict.breach, status, record.task, group);
  return BudgetStop{.gate = gate.name,
                    .unit = status.budget.unit,
                    .on_breach = status.budget.on_breach,
                    .why = fmt::format("{} {}", gate.name, why_used_up(status))};
}

}  // namespace drover
