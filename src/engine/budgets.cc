// Budgets as operators see and raise them, and the beginning of their periods.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "base/try.h"
#include "core/gate_name.h"
#include "core/lane.h"
#include "engine/engine.h"
#include "engine/gate_questions.h"
#include "engine/gate_status.h"
#include "engine/held.h"
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

// A gate with budgets, as it is enforced.
struct BudgetedGate {
  GateRecord effective;  // with the name of the gate
  std::int64_t revision = 0;
  BudgetUse use;
  std::vector<GateStep> checks;  // that it is still what it was read from
};

Result<BudgetedGate> read_budgeted(Store& store, const std::string& name) {
  const std::vector<std::string> names{name, std::string(kOtherOwnersGate)};
  const auto states = TRY(store.read_gates(names));
  BudgetedGate gate{.effective = effective_gate(states[0].record, states[1].record),
                    .revision = states[0].record.revision,
                    .use = states[0].use.budgets,
                    .checks = {}};
  gate.effective.name = name;
  // The gate of the other owners must not move meanwhile: the owner's own has a copy of its budget.
  if (name != kOtherOwnersGate && subject_of(name, GateKind::kOwner)) {
    gate.checks.push_back({std::string(kOtherOwnersGate), states[1].record.revision, std::nullopt, {}});
  }
  return gate;
}

struct Raised {
  std::vector<GateStep> steps;  // the last is that of the gate
  BudgetStatus status;
};

Result<Raised> raise(const BudgetedGate& gate, std::size_t meant, const RaiseOrder& order) {
  GateRecord next = gate.effective;
  GateBudget& budget = next.budgets[meant];
  if (budget.budget.limit + budget.raised > kBudgetMax - order.by_amount) {
    return fail(ErrorCode::kInvalidArgument, "so much cannot be counted");
  }
  budget.raised += order.by_amount;
  budget.breached = false;
  budget.question.reset();
  Raised raised{.steps = gate.checks, .status = budget_statuses(order.gate, next, gate.use)[meant]};
  raised.steps.push_back({order.gate, gate.revision, std::move(next), {raised_event(raised.status, order)}});
  return raised;
}

// The most that a run of any type may spend.
std::int64_t largest_run(const Policy& policy, BudgetUnit unit) {
  std::int64_t largest = 0;
  for (const auto& [type, unused] : policy.types) largest = std::max(largest, amount_in(policy.per_run(type), unit));
  return largest;
}

// The same of those that wait behind the gate.
std::int64_t largest_waiting(std::span<const WaitingLane> lanes, const BudgetStatus& budget, const Policy& policy) {
  std::int64_t largest = 0;
  for (const WaitingLane& lane : lanes) {
    const auto gates = gates_of(lane.like);
    if (std::ranges::find(gates, budget.gate) == gates.end()) continue;
    largest = std::max(largest, amount_in(policy.per_run(lane.like.type), budget.budget.unit));
  }
  return largest;
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
  for (int attempt = 0; attempt < kDecideTriesMax; ++attempt) {
    const auto policy = TRY(this->policy());
    const Time now = TRY(store_.now());
    TRY(begin_periods(policy, now));
    const auto gate = TRY(read_budgeted(store_, order.gate));
    const std::size_t meant = TRY(budget_meant(gate.effective, order));
    auto raised = TRY(raise(gate, meant, order));
    StepGroup group;
    group.gates = std::move(raised.steps);
    const auto moot = dropped_questions(gate.effective.budgets, group.gates.back());
    group.questions = TRY(withdraw_all(store_, moot, "the budget was raised", now));
    const auto applied = TRY(store_.apply(std::span(&group, 1)));
    if (applied.front() == Applied::kDone) return raised.status;
  }
  return too_much_contention("raise_budget");
}

// ---- asking people

Result<std::vector<GateStep>> Engine::raise_asked_for(const Question& question, Time now) {
  CHECK(question.gate.has_value());
  const std::string& name = *question.gate;
  TRY(begin_periods(TRY(policy()), now));
  const auto gate = TRY(read_budgeted(store_, name));
  const auto& budgets = gate.effective.budgets;
  const auto asked = std::ranges::find(budgets, std::optional(question.id), &GateBudget::question);
  if (asked == budgets.end()) {
    return drover::fail(ErrorCode::kWrongState, fmt::format("the budget of {} has changed since question {} was asked",
                                                            name, question.id.to_string()));
  }
  const RaiseOrder order{.gate = name,
                         .unit = asked->budget.unit,
                         .by_amount = drover::raise_asked_for(asked->budget),
                         .by = question.answered_by.value_or(""),
                         .why = fmt::format("answer to question {}", question.id.to_string())};
  auto raised = TRY(raise(gate, static_cast<std::size_t>(asked - budgets.begin()), order));
  return std::move(raised.steps);
}

// Reports find that a budget is used up while a run goes on. Here those are found behind which nothing more can start
// although no run was stopped: the last one used it up with its end, or what is left is less than a run needs.
Result<int> Engine::ask_for_budgets() {
  const auto policy = TRY(this->policy());
  std::vector<BudgetStatus> asking = TRY(budgets());
  std::erase_if(asking, [&](const BudgetStatus& budget) {
    return budget.breached || budget.budget.on_breach != OnBreach::kAsk ||
           !is_used_up(budget, largest_run(*policy, budget.budget.unit));
  });
  if (asking.empty()) return 0;
  const auto lanes = TRY(store_.lanes(kHeldLanesMax));
  int asked = 0;
  for (const BudgetStatus& budget : asking) {
    if (!is_used_up(budget, largest_waiting(lanes, budget, *policy))) continue;
    const bool is_told = TRY(ask_for_budget(budget));
    if (is_told) ++asked;
  }
  return asked;
}

// False: somebody else did, or it is not as it was.
Result<bool> Engine::ask_for_budget(const BudgetStatus& status) {
  const Time now = TRY(store_.now());
  const auto gate = TRY(read_budgeted(store_, status.gate));
  const auto statuses = budget_statuses(status.gate, gate.effective, gate.use);
  const auto same = std::ranges::find_if(statuses, [&](const BudgetStatus& one) {
    return one.budget == status.budget && one.period == status.period && one.limit() == status.limit();
  });
  if (same == statuses.end() || same->breached) return false;
  StepGroup group;
  group.gates = gate.checks;
  GateStep& step = group.gates.emplace_back(
      GateStep{.name = status.gate, .expected_revision = gate.revision, .next = gate.effective, .events = {}});
  breach_budget(step, static_cast<std::size_t>(same - statuses.begin()), *same, nullptr, rng_, now, group);
  return TRY(store_.apply(std::span(&group, 1))).front() == Applied::kDone;
}

}  // namespace drover
