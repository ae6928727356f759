// Budgets as operators see and raise them, and the beginning of their periods.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/text.h"
#include "base/try.h"
#include "core/gate_name.h"
#include "engine/engine.h"
#include "engine/gate_status.h"
#include "engine/run_spend.h"
#include "policy/budget_fields.h"
#include "policy/policy_gates.h"

namespace drover {
namespace {

EventDraft raised_event(const BudgetStatus& budget, const RaiseOrder& order) {
  json::Writer out;
  out.begin_object().key("gate").string(budget.gate).key("unit").string(name_of(budget.budget.unit));
  out.key("raised_by").number(order.by_amount).key("limit").number(budget.limit());
  out.key("period").string(budget.period).key("why").string(order.why).key("by").string(order.by).end_object();
  return {.name = "budget.raised", .data = std::move(out).take()};
}

Status check_raise(const RaiseOrder& order) {
  TRY(check_gate_name(order.gate));
  TRY(check_verdict({.by = order.by, .why = order.why}));
  if (order.by_amount >= 1 && order.by_amount <= kBudgetMax) return {};
  return fail(ErrorCode::kInvalidArgument,
              "a budget is raised by more than nothing, and by no more than can be counted");
}

// Which of the gate's budgets is meant.
Result<std::size_t> budget_meant(const GateRecord& gate, const RaiseOrder& order) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < gate.budgets.size(); ++i) {
    const Budget& budget = gate.budgets[i].budget;
    if (budget.unit == order.unit && (!order.per || budget.per == *order.per)) found.push_back(i);
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return fail(ErrorCode::kNotFound, fmt::format("gate {} has no budget in {}", order.gate, name_of(order.unit)));
  }
  return fail(ErrorCode::kInvalidArgument, fmt::format("gate {} has {} budgets in {}: say which, by day, month or none",
                                                       order.gate, found.size(), name_of(order.unit)));
}

// Owners that obey owner:* and have spent something have a budget each.
std::vector<std::string> gates_with_spend(std::span<const GateState> gates, std::span<const SpendEntry> spend) {
  std::vector<std::string> names;
  for (const GateState& state : gates) {
    if (!state.record.budgets.empty()) names.push_back(state.record.name);
  }
  for (const SpendEntry& entry : spend) {
    if (subject_of(entry.gate, GateKind::kOwner)) names.push_back(entry.gate);
  }
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  return names;
}

// The last time that the store is known to have lost something: that of the first event afterwards.
Result<std::optional<Time>> last_loss(Store& store) {
  const auto state = TRY(store.state());
  const Epoch* last = nullptr;
  for (const Epoch& epoch : state.extent.epochs) {
    if (epoch.cause == Epoch::Cause::kRegressed || epoch.cause == Epoch::Cause::kAccepted) last = &epoch;
  }
  if (last == nullptr) return std::nullopt;
  const auto events = TRY(store.events(last->after, 1));
  if (events.empty()) return TRY(store.now());
  return events.front().at;
}

}  // namespace

Status Engine::begin_periods(const std::shared_ptr<const Policy>& policy, Time now) {
  if (!policy->has_budgets) return {};
  {
    const std::lock_guard lock(periods_mutex_);
    if (periods_of_ == policy && now < periods_until_) return {};
  }
  TRY(align_gates());
  Time until = Time::max();
  for (const GateRecord& gate : policy_gates(*policy)) {
    for (const GateBudget& one : gate.budgets) {
      const auto period = period_at(one.budget.per, one.budget.zone, now, system_zones());
      if (period.ends_at) until = std::min(until, *period.ends_at);
    }
  }
  const std::lock_guard lock(periods_mutex_);
  periods_of_ = policy;
  periods_until_ = until;
  return {};
}

Result<std::vector<BudgetStatus>> Engine::budgets() {
  const auto gates = TRY(store_.gates());
  const auto spend = TRY(store_.spend());
  const std::optional<Time> loss = TRY(last_loss(store_));
  std::vector<std::string> names = gates_with_spend(gates, spend);
  names.emplace_back(kOtherOwnersGate);
  const auto states = TRY(store_.read_gates(names));
  std::vector<BudgetStatus> all;
  for (const GateState& state : std::span(states).first(states.size() - 1)) {
    const GateRecord gate = effective_gate(state.record, states.back().record);
    for (BudgetStatus& status : budget_statuses(state.record.name, gate, state.use.budgets)) {
      status.uncertain =
          loss && period_at(status.budget.per, status.budget.zone, *loss, system_zones()).ends_at == status.resets_at;
      all.push_back(std::move(status));
    }
  }
  return all;
}

Result<BudgetStatus> Engine::raise_budget(const RaiseOrder& order) {
  TRY(check_raise(order));
  const std::vector<std::string> names{order.gate, std::string(kOtherOwnersGate)};
  for (int attempt = 0; attempt < kDecideTriesMax; ++attempt) {
    const auto policy = TRY(this->policy());
    const Time now = TRY(store_.now());
    TRY(begin_periods(policy, now));
    const auto states = TRY(store_.read_gates(names));
    GateRecord next = effective_gate(states[0].record, states[1].record);
    next.name = order.gate;
    const std::size_t meant = TRY(budget_meant(next, order));
    GateBudget& budget = next.budgets[meant];
    if (budget.budget.limit + budget.raised > kBudgetMax - order.by_amount) {
      return drover::fail(ErrorCode::kInvalidArgument, "so much cannot be counted");
    }
    budget.raised += order.by_amount;
    budget.breached = false;
    const BudgetStatus status = budget_statuses(order.gate, next, states[0].use.budgets)[meant];
    StepGroup group;
    // The gate of the other owners must not move meanwhile: the owner's own has a copy of its budget.
    if (order.gate != kOtherOwnersGate && subject_of(order.gate, GateKind::kOwner)) {
      group.gates.push_back({std::string(kOtherOwnersGate), states[1].record.revision, std::nullopt, {}});
    }
    group.gates.push_back({order.gate, states[0].record.revision, std::move(next), {raised_event(status, order)}});
    const auto applied = TRY(store_.apply(std::span(&group, 1)));
    if (applied.front() == Applied::kDone) return status;
  }
  return too_much_contention("raise_budget");
}

}  // namespace drover
