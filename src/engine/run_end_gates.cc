#include "engine/run_end_gates.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/try.h"
#include "core/alert.h"
#include "core/breaker.h"
#include "engine/gate_status.h"

namespace drover {

namespace {

// For how long a provider's gate closes when the provider did not say.
constexpr Millis kProviderPause{60'000};

std::string type_gate(const Task& task) {
  return gate_name(GateKind::kType, task.type);
}

bool is_at_rest(const GateRecord& gate) {
  return gate.breaker == BreakerCount{} && find_hold(gate, HoldSource::kBreaker) == nullptr;
}

bool is_told(BreakerChange change) {
  return change == BreakerChange::kOpened || change == BreakerChange::kClosed || change == BreakerChange::kReopened;
}

// A policy may let any class of error close the provider's gate.
std::string why_closed(const TaskId& task, ErrorClass error_class) {
  if (error_class == ErrorClass::kRateLimited) return fmt::format("task {} was rate limited", task.to_string());
  return fmt::format("task {} ended with {}", task.to_string(), name_of(error_class));
}

bool is_closed_by_providers(const std::string& gate) {
  const auto name = parse_gate_name(gate);
  return name && info_of(name->kind).closer == HoldSource::kProvider;
}

}  // namespace

RunVerdict RunEndGates::verdict(const Task& task, const Settlement& end) const {
  const TypePolicy& type = policy_.type(task.type);
  // A run that was asked to stop says nothing of its type.
  if (task.cancel_requested_at || type.breaker.failures == 0) return RunVerdict::kNeither;
  return verdict_of(end, type);
}

std::optional<RunEndGates::Closing> RunEndGates::closing(const Task& task, const Settlement& end) const {
  const auto* failure = std::get_if<Failure>(&end.end);
  if (failure == nullptr) return std::nullopt;
  const ClassRule& rule = policy_.type(task.type).classes[std::to_underlying(failure->error_class)];
  const auto gate = std::ranges::find_if(task.gates, is_closed_by_providers);
  if (!rule.close_gate || gate == task.gates.end()) return std::nullopt;
  const Millis pause = std::clamp(failure->retry_after.value_or(kProviderPause), Millis{0}, kDurationMax);
  if (pause == Millis{0}) return std::nullopt;
  return Closing{*gate, Hold{.source = HoldSource::kProvider,
                             .closed_until = now_ + pause,
                             .permits = std::nullopt,
                             .why = why_closed(task.id, failure->error_class),
                             .by = task.worker_id.value_or(""),
                             .since = now_}};
}

void RunEndGates::announce(const Task& task, const Settlement& end) {
  const RunVerdict said = verdict(task, end);
  if (said != RunVerdict::kNeither) {
    Gate& gate = gates_[type_gate(task)];
    gate.moves = gate.moves || said == RunVerdict::kBad;
  }
  if (const auto closes = closing(task, end)) gates_[closes->gate].moves = true;
}

Status RunEndGates::read(Store& store, RecentReads* recent) {
  std::vector<std::string> names;
  for (auto& [name, gate] : gates_) {
    const auto revision = recent != nullptr && !gate.moves ? recent->resting(name) : std::nullopt;
    if (revision) {
      gate.read.revision = *revision;
    } else {
      names.push_back(name);
    }
  }
  if (names.empty()) return {};
  auto states = TRY(store.read_gates(names));
  for (std::size_t i = 0; i < names.size(); ++i) {
    Gate& gate = gates_[names[i]];
    gate.read = std::move(states[i].record);
    gate.next = gate.read;
    gate.moves = gate.moves || !is_at_rest(gate.read);
    if (recent == nullptr) continue;
    // One that this batch moves is not at rest afterwards.
    if (gate.moves) {
      recent->forget_resting(names[i]);
    } else {
      recent->remember_resting(names[i], gate.read.revision);
    }
  }
  return {};
}

bool RunEndGates::moves_gates(const Task& task, const Settlement& end) const {
  if (closing(task, end)) return true;
  return verdict(task, end) != RunVerdict::kNeither && gates_.at(type_gate(task)).moves;
}

std::vector<GateStep> RunEndGates::checks(const Task& task, const Settlement& end) const {
  if (verdict(task, end) == RunVerdict::kNeither) return {};
  const std::string name = type_gate(task);
  return {GateStep{.name = name, .expected_revision = gates_.at(name).read.revision}};
}

void RunEndGates::close(const Closing& closing) {
  Gate& gate = gates_.at(closing.gate);
  const Hold* hold = find_hold(gate.next, HoldSource::kProvider);
  // The latest time wins.
  if (hold != nullptr && hold->closed_until >= closing.hold.closed_until) return;
  set_hold(gate.next, closing.hold);
  gate.events.push_back(gate_event::closed(closing.gate, closing.hold));
}

void RunEndGates::tell(const Task& task, const Settlement& end) {
  if (const auto closes = closing(task, end)) close(*closes);
  const RunVerdict said = verdict(task, end);
  if (said == RunVerdict::kNeither) return;
  Gate& gate = gates_.at(type_gate(task));
  const BreakerPolicy& breaker = policy_.type(task.type).breaker;
  const BreakerChange change = feed_breaker(gate.next, breaker, said, task.started_at.value_or(now_), now_);
  if (!is_told(change)) return;
  gate.events.push_back(gate_event::breaker(gate.next, change));
  if (change == BreakerChange::kOpened) gate.events.push_back(alert_raised(gate_event::breaker_alert(gate.next)));
  if (change == BreakerChange::kClosed) gate.events.push_back(alert_cleared(gate_event::breaker_alert(gate.next)));
}

std::vector<GateStep> RunEndGates::take_steps() {
  std::vector<GateStep> steps;
  for (auto& [name, gate] : gates_) {
    if (!gate.moves) continue;
    GateStep step{.name = name, .expected_revision = gate.read.revision};
    if (gate.next != gate.read) step.next = std::move(gate.next);
    step.events = std::move(gate.events);
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace drover
