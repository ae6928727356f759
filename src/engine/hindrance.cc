#include "engine/hindrance.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "core/gate.h"
#include "engine/gate_status.h"
#include "engine/run_spend.h"

namespace drover {

const BudgetStatus* used_up_budget(const GateStatus& gate, const BudgetAmounts& per_run) {
  const auto found = std::ranges::find_if(gate.budgets, [&](const BudgetStatus& budget) {
    return runs_within(budget.left(), amount_in(per_run, budget.budget.unit)) == 0;
  });
  return found != gate.budgets.end() ? &*found : nullptr;
}

namespace {

std::string by_whom(const Hold& hold) {
  std::string text;
  if (!hold.by.empty()) text += " by " + hold.by;
  if (!hold.why.empty()) text += fmt::format(" ({})", hold.why);
  return text;
}

const Hold* closing_hold(const GateStatus& gate) {
  const auto found = std::ranges::find_if(
      gate.holds, [&](const Hold& hold) { return hold.closed_until && hold.closed_until == gate.closed_until; });
  return found != gate.holds.end() ? &*found : nullptr;
}

std::string closed_text(const GateStatus& gate, Time until) {
  const Hold* hold = closing_hold(gate);
  const std::string who = hold != nullptr ? by_whom(*hold) : "";
  if (until == kUntilOpened) return fmt::format("is closed{}, until `drover gate open {}`", who, gate.name);
  const bool by_provider = hold != nullptr && hold->source == HoldSource::kProvider;
  return fmt::format("is closed{}, until {}{}", who, format_time(until),
                     by_provider ? ", and then lets one task start at a time until the provider answers" : "");
}

// Whose permits count.
bool is_ramping(const GateStatus& gate) {
  const auto found = std::ranges::find(gate.holds, HoldSource::kProvider, &Hold::source);
  return found != gate.holds.end() && found->permits && found->permits == gate.permits;
}

std::string short_text(const BudgetStatus& budget, const BudgetAmounts& per_run, std::string_view type) {
  const BudgetUnit unit = budget.budget.unit;
  const std::int64_t needed = amount_in(per_run, unit);
  if (needed == 0) return why_used_up(budget);
  return fmt::format("{}; a run of type {} starts with {} left", why_used_up(budget), type,
                     format_amount(unit, needed));
}

Refusal refusal_of(GateStatus gate, const GateVerdict& verdict, const Task& task, const BudgetAmounts& per_run) {
  const std::int64_t cost = task.cost;
  Refusal refusal{.gate = std::move(gate), .at = verdict.look_again, .why = {}};
  const GateStatus& status = refusal.gate;
  const std::int64_t in_use = status.in_use.value_or(0);
  if (status.closed_until) {
    refusal.why = closed_text(status, *status.closed_until);
  } else if (status.permits == 0) {
    refusal.why = fmt::format(
        "has no permits: nothing starts until `drover gate limit {0} N`, or `drover gate limit "
        "{0} none`, or the policy gives it some",
        status.name);
  } else if (status.permits && in_use >= *status.permits) {
    refusal.why = fmt::format("has {} of {} in use; {}", in_use, counted(*status.permits, "permit"),
                              is_ramping(status) ? "every run that the provider answers lets more start"
                                                 : "one that ends lets the next start");
  } else if (status.rate && cost > status.rate->burst) {
    refusal.at = std::nullopt;
    refusal.why = fmt::format("lets at most {} go at once, and this task costs {}: raise its burst, or cancel the task",
                              counted(status.rate->burst, "unit"), cost);
  } else if (status.rate) {
    refusal.why = fmt::format("lets {} go; the next for this task is at {}", to_string(*status.rate),
                              verdict.look_again ? format_time(*verdict.look_again) : "no known time");
  }
  const BudgetStatus* budget = refusal.gate.budgets.empty() ? nullptr : used_up_budget(refusal.gate, per_run);
  const bool is_full = status.closed_until || (status.permits && in_use >= *status.permits);
  if (budget != nullptr && !is_full) refusal.why = short_text(*budget, per_run, task.type);
  return refusal;
}

}  // namespace

std::vector<Refusal> refusals_of(const Task& task, std::span<const GateState> gates, const GateRecord& others,
                                 Time now) {
  std::vector<Refusal> found;
  BudgetAmounts per_run{};
  for (const GateState& state : gates) {
    if (subject_of(state.record.name, GateKind::kType)) per_run = state.record.per_run;
  }
  for (const GateState& state : gates) {
    const GateRecord gate = effective_gate(state.record, others);
    const GateLimits limits = limits_of(gate);
    GateUse use = state.use;
    use.budgets.spent.resize(limits.budgets.size());
    const GateVerdict verdict = ask_gate(limits, use, task.cost, now, per_run);
    if (verdict.room == 0) found.push_back(refusal_of(gate_status(state, gate, now), verdict, task, per_run));
  }
  return found;
}

Serving who_serves(std::span<const WorkerInfo> workers, const Task& task, Time now) {
  Serving serving;
  for (const WorkerInfo& worker : workers) {
    if (worker.draining || now - worker.last_beat_at > kWorkerSilence) continue;
    const auto found = std::ranges::find_if(worker.serves, [&](const Serve& serve) {
      return serve.queue == task.queue && (!serve.type || *serve.type == task.type);
    });
    if (found == worker.serves.end()) continue;
    if (found->trouble.empty()) {
      ++serving.workers;
    } else {
      serving.trouble = fmt::format("{} would, but {}", worker.id, found->trouble);
    }
  }
  return serving;
}

std::string why_not_served(const Task& task, const Serving& serving) {
  if (!serving.trouble.empty()) {
    return fmt::format("no worker can run tasks of type {} in queue {}: {}", task.type, task.queue, serving.trouble);
  }
  return fmt::format("no live worker serves queue {}: start one with `drover work --queue {}`", task.queue, task.queue);
}

std::string why_nothing_is_claimed(const Loss& loss) {
  return fmt::format(
      "nothing is claimed: the store went backwards, acknowledged and gone: {}; restore what is gone, or go on without "
      "it: `drover store accept-regression`",
      to_string(loss));
}

}  // namespace drover
