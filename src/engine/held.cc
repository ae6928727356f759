#include "engine/held.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/try.h"
#include "core/gate_name.h"
#include "core/lane.h"
#include "engine/gate_status.h"
#include "engine/hindrance.h"
#include "engine/run_spend.h"

namespace drover {

namespace {

constexpr std::size_t kGatesAtOnce = 1'000;

bool shuts(const Hold& hold) {
  return hold.closed_until || hold.permits == 0 || hold.source == HoldSource::kBreaker;
}

// Since when the gate has been shut.
Time shut_since(const GateStatus& gate) {
  Time since = Time::max();
  for (const Hold& hold : gate.holds) {
    if (shuts(hold)) since = std::min(since, hold.since);
  }
  return since;
}

std::string why_shut(const GateStatus& gate) {
  const auto hold = std::ranges::find_if(gate.holds, shuts);
  std::string text = gate.closed_until ? "closed" : gate.permits == 0 ? "no permits" : "waits for a probe";
  if (hold == gate.holds.end()) return text;
  if (!hold->by.empty()) text += " by " + hold->by;
  if (!hold->why.empty()) text += fmt::format(" ({})", hold->why);
  if (gate.closed_until && *gate.closed_until != kUntilOpened) text += " until " + format_time(*gate.closed_until);
  return text;
}

std::string why_refused(const GateStatus& gate, const BudgetAmounts& per_run) {
  if (gate.permits && gate.in_use.value_or(0) >= *gate.permits) {
    return fmt::format("{} of {} permits in use", gate.in_use.value_or(0), *gate.permits);
  }
  if (const BudgetStatus* budget = used_up_budget(gate, per_run)) return why_used_up(*budget);
  return gate.rate ? fmt::format("lets {} go", to_string(*gate.rate)) : "";
}

class HeldSearch {
 public:
  HeldSearch(std::span<const GateState> gates, HeldBy by, Time now) : by_(by), now_(now) {
    for (const GateState& gate : gates) states_[gate.record.name] = &gate;
    if (const auto others = states_.find(kOtherOwnersGate); others != states_.end()) others_ = others->second->record;
  }

  // Whether some gate may hold a lane back. A lane that a full gate refused is parked there.
  [[nodiscard]] bool may_find() const {
    return std::ranges::any_of(states_, [&](const auto& named) {
      const auto& [name, state] = named;
      return (by_ == HeldBy::kAnyGate && state->waiting_lanes > 0) || is_shut(status_of(*state));
    });
  }

  void add(const WaitingLane& lane) {
    std::optional<HeldTasks> held = held_by(lane.like);
    if (!held) return;
    held->since = std::max(held->since, lane.first.since);
    HeldTasks& sum = held_[{lane.like.queue, held->gate}];
    const std::int64_t tasks = sum.tasks + lane.tasks;
    if (sum.tasks == 0 || held->since < sum.since) sum = *std::move(held);
    sum.tasks = tasks;
  }

  [[nodiscard]] std::vector<HeldInQueue> take() && {
    std::vector<HeldInQueue> all;
    for (auto& [where, tasks] : held_) all.push_back({.queue = where.first, .tasks = std::move(tasks)});
    return all;
  }

 private:
  [[nodiscard]] GateStatus status_of(const GateState& state) const {
    return gate_status(state, effective_gate(state.record, others_), now_);
  }

  // The first shut gate says more than one before it that is only full.
  [[nodiscard]] std::optional<HeldTasks> held_by(const Task& like) const {
    std::optional<HeldTasks> refused;
    for (const std::string& name : gates_of(like)) {
      if (is_session_gate(name)) continue;  // shown to those who ask for sessions
      const auto found = states_.find(name);
      const GateState state = found != states_.end() ? *found->second : GateState{.record = {.name = name}};
      const GateStatus status = status_of(state);
      if (is_shut(status)) {
        return HeldTasks{.gate = name, .since = shut_since(status), .shut = true, .why = why_shut(status)};
      }
      if (refused || by_ == HeldBy::kShutGates) continue;
      const GateLimits limits = limits_of(effective_gate(state.record, others_));
      GateUse use = state.use;
      use.budgets.spent.resize(limits.budgets.size());
      if (ask_gate(limits, use, like.cost, now_, per_run_of(like)).room == 0) {
        refused = HeldTasks{.gate = name, .since = Time::min(), .why = why_refused(status, per_run_of(like))};
      }
    }
    return refused;
  }

  [[nodiscard]] BudgetAmounts per_run_of(const Task& like) const {
    const auto found = states_.find(gate_name(GateKind::kType, like.type));
    return found != states_.end() ? found->second->record.per_run : BudgetAmounts{};
  }

  HeldBy by_;
  Time now_;
  std::map<std::string, const GateState*, std::less<>> states_;
  GateRecord others_{.name = std::string(kOtherOwnersGate)};
  std::map<std::pair<std::string, std::string>, HeldTasks> held_;  // by queue and gate
};

}  // namespace

Result<std::map<std::string, GateState>> gates_of_lanes(Store& store, std::span<const WaitingLane> lanes) {
  std::set<std::string> asked{std::string(kOtherOwnersGate)};
  for (const WaitingLane& lane : lanes) {
    for (std::string& name : gates_of(lane.like)) asked.insert(std::move(name));
  }
  const std::vector<std::string> names(asked.begin(), asked.end());
  std::map<std::string, GateState> gates;
  for (std::size_t from = 0; from < names.size(); from += kGatesAtOnce) {
    const auto some = std::span(names).subspan(from, std::min(kGatesAtOnce, names.size() - from));
    std::vector<GateState> read = TRY(store.read_gates(some));
    for (std::size_t i = 0; i < some.size(); ++i) gates.emplace(some[i], std::move(read[i]));
  }
  return gates;
}

Result<std::vector<HeldInQueue>> find_held(Store& store, std::span<const GateState> gates, HeldBy by, Time now) {
  HeldSearch search(gates, by, now);
  if (!search.may_find()) return std::vector<HeldInQueue>();
  const auto lanes = TRY(store.lanes(kHeldLanesMax));
  for (const WaitingLane& lane : lanes) search.add(lane);
  return std::move(search).take();
}

}  // namespace drover
