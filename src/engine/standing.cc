// How a run stands with its provider and its budgets, for its agent.
#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"
#include "core/gate_name.h"
#include "core/provider_ramp.h"
#include "core/run_report.h"
#include "engine/engine.h"
#include "engine/gate_status.h"
#include "engine/run_spend.h"

namespace drover {
namespace {

// What the run holds itself is its own to spend.
void take_gate(BudgetShares& left, const BudgetStatus& budget, const BudgetAmounts& held) {
  const BudgetUnit unit = budget.budget.unit;
  const std::int64_t amount = std::max<std::int64_t>(0, budget.left() + amount_in(held, unit));
  take_smaller(left[std::to_underlying(unit)], amount);
}

Result<BudgetShares> left_of_own(const TaskRecord& record, Time now) {
  if (!record.task.budget) return BudgetShares{};
  const auto budget = TRY(parse_task_budget(*record.task.budget));
  const Millis running = record.task.started_at ? now - *record.task.started_at : Millis{0};
  const Millis wall = running + Millis{run_budget_of(record.run_budget).earlier_wall};
  return left_of(budget, amounts_of(usage_of(record.task.usage), wall));
}

}  // namespace

Result<RunStanding> Engine::standing_of(const Lease& lease) {
  const auto read = TRY(store_.read(std::span(&lease.task, 1), Parts::kHead));
  const std::optional<TaskRecord>& record = read.front();
  if (!record) return no_such_task(lease.task);
  const Task& task = record->task;
  if (task.state != TaskState::kRunning || record->lease != lease.id) {
    return drover::fail(ErrorCode::kStaleLease, fmt::format("this lease of task {} has ended", lease.task.to_string()));
  }
  const auto policy = TRY(this->policy());
  const Time now = TRY(store_.now());
  TRY(begin_periods(policy, now));
  std::vector<std::string> names = policy->budgeted_gates(task);
  const auto provider = std::ranges::find_if(
      task.gates, [](const std::string& name) { return subject_of(name, GateKind::kProvider).has_value(); });
  if (provider != task.gates.end()) names.push_back(*provider);
  RunStanding standing{.provider = std::nullopt, .budget_left = TRY(left_of_own(*record, now))};
  if (names.empty()) return standing;
  names.emplace_back(kOtherOwnersGate);
  const auto states = TRY(store_.read_gates(names));
  const BudgetAmounts held = held_back(policy->per_run(task.type), run_budget_of(record->run_budget));
  for (const GateState& state : std::span(states).first(states.size() - 1)) {
    const GateRecord effective = effective_gate(state.record, states.back().record);
    for (const BudgetStatus& budget : budget_statuses(state.record.name, effective, state.use.budgets)) {
      take_gate(standing.budget_left, budget, held);
    }
    if (provider != task.gates.end() && state.record.name == *provider) {
      standing.provider = provider_state(gate_status(state, state.record, now));
    }
  }
  return standing;
}

}  // namespace drover
