// Gates by hand and by policy, and what an operator sees of gates and queues.
#include <fmt/format.h>

#include <map>

#include "base/try.h"
#include "core/alert.h"
#include "core/gate_name.h"
#include "core/lane.h"
#include "core/spec_check.h"
#include "engine/engine.h"
#include "engine/gate_questions.h"
#include "engine/gate_status.h"
#include "engine/held.h"
#include "engine/hindrance.h"
#include "policy/document.h"
#include "policy/policy_gates.h"

namespace drover {

namespace {

Status check_order(const GateOrder& order, Time now) {
  TRY(check_gate_name(order.gate));
  TRY(check_verdict({.by = order.by, .why = order.why}));
  if (const auto* close = std::get_if<GateOrder::Close>(&order.what); close != nullptr && close->until <= now) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("a gate can be closed only until a time in the future, not until {}", format_time(close->until)));
  }
  const auto* limit = std::get_if<GateOrder::Limit>(&order.what);
  if (limit == nullptr || !limit->permits) return {};
  return check_bounds(*limit->permits, kPermitsBounds);
}

Hold operator_hold(const GateRecord& gate, const GateOrder& order, Time now) {
  const Hold* existing = find_hold(gate, HoldSource::kOperator);
  Hold hold = existing != nullptr ? *existing : Hold{};
  hold.source = HoldSource::kOperator;
  hold.why = order.why;
  hold.by = order.by;
  hold.since = now;
  return hold;
}

// Does what was ordered. Returns the event that tells of it.
EventDraft carry_out(GateRecord& gate, const GateOrder& order, Time now) {
  if (std::holds_alternative<GateOrder::Open>(order.what)) {
    for (const HoldSource source : {HoldSource::kOperator, HoldSource::kBreaker, HoldSource::kProvider}) {
      drop_hold(gate, source);
    }
    gate.breaker = {};
    return gate_event::opened(gate.name, order.why, order.by);
  }
  Hold hold = operator_hold(gate, order, now);
  if (const auto* close = std::get_if<GateOrder::Close>(&order.what)) {
    hold.closed_until = close->until;
    set_hold(gate, hold);
    return gate_event::closed(gate.name, hold);
  }
  hold.permits = std::get<GateOrder::Limit>(order.what).permits;
  EventDraft event = gate_event::limited(gate.name, hold.source, hold.permits, std::nullopt, hold.why, hold.by);
  if (hold.permits || hold.closed_until) {
    set_hold(gate, std::move(hold));
  } else {
    drop_hold(gate, HoldSource::kOperator);
  }
  return event;
}

// A breaker that is taken away by hand or by a policy needs nobody's look any more.
void clear_breaker_alert(const GateRecord& before, const GateRecord& after, std::vector<EventDraft>& events) {
  const bool gone =
      find_hold(before, HoldSource::kBreaker) != nullptr && find_hold(after, HoldSource::kBreaker) == nullptr;
  if (gone) events.push_back(alert_cleared(gate_event::breaker_alert(before)));
}

// The gate of the other owners must not move meanwhile: an owner's own gate has a copy of its limit.
std::vector<GateStep> order_steps(const GateState& gate, const GateState& other_owners, const GateOrder& order,
                                  const Policy& policy, Time now) {
  GateRecord next = gate.record;
  drop_expired_holds(next, now);
  EventDraft event = carry_out(next, order, now);
  obey_policy(next, policy, now);
  if (next == gate.record) return {};
  std::vector<EventDraft> events{std::move(event)};
  clear_breaker_alert(gate.record, next, events);
  std::vector<GateStep> steps;
  if (subject_of(order.gate, GateKind::kOwner)) {
    steps.push_back({std::string(kOtherOwnersGate), other_owners.record.revision, std::nullopt, {}});
  }
  steps.push_back({order.gate, gate.record.revision, std::move(next), std::move(events)});
  return steps;
}

// ---- policy

// The breaker of a type that has none any more does not keep its gate closed.
void obey_breaker(GateRecord& gate, const Policy& policy) {
  const auto type = subject_of(gate.name, GateKind::kType);
  if (!type || policy.type(*type).breaker.failures > 0) return;
  drop_hold(gate, HoldSource::kBreaker);
  gate.breaker = {};
}

std::optional<int> policy_permits(const GateRecord& gate) {
  const Hold* hold = find_hold(gate, HoldSource::kPolicy);
  return hold != nullptr ? hold->permits : std::nullopt;
}

std::optional<GateStep> policy_step(const GateRecord& gate, const Policy& policy, Time now) {
  GateRecord next = gate;
  obey_breaker(next, policy);
  obey_policy(next, policy, now);
  if (next == gate) return std::nullopt;
  GateStep step{.name = gate.name, .expected_revision = gate.revision, .next = next};
  clear_breaker_alert(gate, next, step.events);
  if (policy_permits(next) != policy_permits(gate) || next.rate != gate.rate) {
    step.events.push_back(gate_event::limited(gate.name, HoldSource::kPolicy, policy_permits(next), next.rate,
                                              "limit of the policy", "policy"));
  }
  return step;
}

// What changes for this policy to hold: gates, and questions that are moot then.
struct PolicyChange {
  std::vector<GateStep> gates;
  std::vector<QuestionStep> questions;
};

Result<PolicyChange> policy_change(Store& store, std::span<const GateState> gates, const Policy& policy, Time now) {
  std::map<std::string, GateRecord> all;
  for (const GateRecord& gate : policy_gates(policy)) all[gate.name].name = gate.name;
  for (const GateState& state : gates) all[state.record.name] = state.record;
  PolicyChange change;
  std::vector<QuestionId> moot;
  for (const auto& [name, gate] : all) {
    auto step = policy_step(gate, policy, now);
    if (!step) continue;
    const auto dropped = dropped_questions(gate.budgets, *step);
    moot.insert(moot.end(), dropped.begin(), dropped.end());
    change.gates.push_back(*std::move(step));
  }
  change.questions = TRY(withdraw_all(store, moot, "its budget was changed, or its period has ended", now));
  return change;
}

bool is_worth_showing(const GateStatus& gate) {
  return !gate.holds.empty() || gate.rate || !gate.budgets.empty() || gate.waiting_lanes > 0;
}

// Waiting tasks that a gate refuses now, and those of them that no other gate refuses.
struct WaitingTasks {
  std::int64_t tasks = 0;
  std::int64_t only_here = 0;
};
using WaitingAtGates = std::map<std::string, WaitingTasks>;

WaitingAtGates waiting_at_gates(std::span<const WaitingLane> lanes, const std::map<std::string, GateState>& asked,
                                Time now) {
  WaitingAtGates waiting;
  for (const WaitingLane& lane : lanes) {
    std::vector<GateState> gates;
    for (const std::string& name : gates_of(lane.like)) gates.push_back(asked.at(name));
    const auto refused = refusals_of(lane.like, gates, asked.at(std::string(kOtherOwnersGate)).record, now);
    for (const auto& refusal : refused) {
      WaitingTasks& at_gate = waiting[refusal.gate.name];
      at_gate.tasks += lane.tasks;
      if (refused.size() == 1) at_gate.only_here += lane.tasks;
    }
  }
  return waiting;
}

// Whether tasks of the owner ask the gate.
bool concerns(const std::string& owner, const GateStatus& gate, const std::map<std::string, GateState>& asked) {
  return gate.name == gate_name(GateKind::kOwner, owner) ||
         (gate.name != kOtherOwnersGate && asked.contains(gate.name));
}

std::vector<GateStatus> statuses_of(std::span<const GateState> states, Time now) {
  GateRecord others{.name = std::string(kOtherOwnersGate)};
  for (const GateState& state : states) {
    if (state.record.name == kOtherOwnersGate) others = state.record;
  }
  std::vector<GateStatus> gates;
  for (const GateState& state : states) {
    GateStatus status = gate_status(state, effective_gate(state.record, others), now);
    if (is_worth_showing(status)) gates.push_back(std::move(status));
  }
  return gates;
}

}  // namespace

Weights weights_of(const Policy& policy) {
  Weights weights{.owners = {}, .others = policy.other_owners.weight};
  for (const auto& [name, owner] : policy.owners) {
    if (owner.weight != weights.others) weights.owners[name] = owner.weight;
  }
  return weights;
}

// Everybody's, with all that wait; or those that an owner's tasks wait at, with these.
Result<std::vector<GateStatus>> Engine::gates_of_fleet(const std::optional<std::string>& owner) {
  const auto now = TRY(store_.now());
  const auto states = TRY(store_.gates());
  std::vector<WaitingLane> lanes;
  if (!states.empty()) lanes = TRY(store_.lanes(kHeldLanesMax));
  if (owner) std::erase_if(lanes, [&](const WaitingLane& lane) { return lane.like.owner != *owner; });
  const auto asked = TRY(gates_of_lanes(store_, lanes));
  const WaitingAtGates waiting = waiting_at_gates(lanes, asked, now);
  std::vector<GateStatus> gates = statuses_of(states, now);
  if (owner) std::erase_if(gates, [&](const GateStatus& gate) { return !concerns(*owner, gate, asked); });
  for (GateStatus& gate : gates) {
    const auto found = waiting.find(gate.name);
    if (found == waiting.end()) continue;
    gate.waiting_tasks = found->second.tasks;
    gate.would_start = found->second.only_here;
  }
  return gates;
}

Result<std::vector<GateStatus>> Engine::gates() {
  return gates_of_fleet(std::nullopt);
}

Result<std::vector<GateStatus>> Engine::owner_gates(const std::string& owner) {
  if (auto valid = check_name(owner); !valid) return at_field("owner", valid.error());
  return gates_of_fleet(owner);
}

Result<GateStatus> Engine::set_gate(const GateOrder& order) {
  const std::vector<std::string> names{order.gate, std::string(kOtherOwnersGate)};
  for (int attempt = 0; attempt < kDecideTriesMax; ++attempt) {
    auto now = TRY(store_.now());
    TRY(check_order(order, now));
    auto states = TRY(store_.read_gates(names));
    // After the gates: a policy that comes in between moves them, so an older one is never written over it.
    auto policy = TRY(this->policy());
    StepGroup group{.steps = {}, .capacity = {}, .gates = order_steps(states.at(0), states.at(1), order, *policy, now)};
    if (!group.gates.empty()) {
      const auto moot = dropped_questions(states.at(0).record.budgets, group.gates.back());
      group.questions = TRY(withdraw_all(store_, moot, "its budget was changed, or its period has ended", now));
      auto applied = TRY(store_.apply(std::span(&group, 1)));
      if (applied.front() != Applied::kDone) continue;
      states = TRY(store_.read_gates(names));
    }
    return gate_status(states.at(0), effective_gate(states.at(0).record, states.at(1).record), now);
  }
  return too_much_contention("set_gate");
}

Result<std::vector<QueueStatus>> Engine::queues() {
  const auto now = TRY(store_.now());
  auto counts = TRY(store_.queues());
  const auto states = TRY(store_.gates());
  auto held = TRY(find_held(store_, states, HeldBy::kAnyGate, now));
  std::map<std::string, QueueStatus> queues;
  for (const QueueCounts& count : counts) {
    const auto of = [&](TaskState state) { return count.tasks[static_cast<std::size_t>(state)]; };
    queues[count.name] = {.name = count.name,
                          .waiting = of(TaskState::kPending) + of(TaskState::kStalled),
                          .scheduled = of(TaskState::kScheduled),
                          .blocked = of(TaskState::kBlocked),
                          .running = of(TaskState::kRunning),
                          .gate = std::nullopt};
  }
  for (HeldInQueue& one : held) {
    // One that came only now is not among the counts yet.
    if (const auto queue = queues.find(one.queue); queue != queues.end())
      queue->second.held.push_back(std::move(one.tasks));
  }
  for (GateStatus& gate : statuses_of(states, now)) {
    const auto name = subject_of(gate.name, GateKind::kQueue);
    if (!name || (gate.holds.empty() && !gate.rate)) continue;
    QueueStatus& queue = queues[std::string(*name)];
    queue.name = *name;
    queue.gate = std::move(gate);
  }
  std::vector<QueueStatus> answer;
  for (auto& [name, queue] : queues) {
    // What only holds finished tasks is history.
    const bool in_use = queue.waiting + queue.scheduled + queue.blocked + queue.running > 0;
    if (in_use || queue.gate) answer.push_back(std::move(queue));
  }
  return answer;
}

// ---- configuration

// Gates that came up while the policy changed may have missed it. By the policy that holds now: a newer one may have
// been stored meanwhile.
Status Engine::align_gates() {
  for (int attempt = 0; attempt < kDecideTriesMax; ++attempt) {
    auto gates = TRY(store_.gates());
    // After the gates: whoever is held up here does not take a gate back to a budget's period that is over.
    auto now = TRY(store_.now());
    auto policy = TRY(this->policy());
    auto change = TRY(policy_change(store_, gates, *policy, now));
    if (change.gates.empty()) return {};
    StepGroup group;
    group.gates = std::move(change.gates);
    group.questions = std::move(change.questions);
    TRY(store_.apply(std::span(&group, 1)));
  }
  return too_much_contention("apply_config");
}

Result<Config> Engine::apply_config(const JsonText& document, std::int64_t based_on_version) {
  const auto policy = TRY(parse_policy(document));
  return put_policy(document, policy, based_on_version);
}

Result<Config> Engine::put_policy(const JsonText& document, const Policy& policy, std::int64_t based_on_version) {
  for (int attempt = 0; attempt < kDecideTriesMax; ++attempt) {
    auto gates = TRY(store_.gates());
    auto now = TRY(store_.now());
    const auto change = TRY(policy_change(store_, gates, policy, now));
    const auto stored =
        TRY(store_.put_config(document, based_on_version, change.gates, weights_of(policy), change.questions));
    if (stored) {
      TRY(align_gates());
      return store_.config();
    }
    auto config = TRY(store_.config());
    if (config.version == based_on_version) continue;  // a gate moved
    return drover::fail(ErrorCode::kWrongState,
                        fmt::format("the configuration is no longer at version {}: someone else changed it; look at "
                                    "`drover config show` and apply again",
                                    based_on_version));
  }
  return too_much_contention("apply_config");
}

}  // namespace drover
