#include "engine/run_gates.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/planted_bug.h"
#include "base/text.h"
#include "base/try.h"
#include "core/alert.h"
#include "core/breaker.h"
#include "core/provider_ramp.h"
#include "core/session_record.h"
#include "engine/gate_status.h"

namespace drover {

namespace {

std::string type_gate(const Task& task) {
  return gate_name(GateKind::kType, task.type);
}

bool is_at_rest(const GateRecord& gate) {
  return gate.breaker == BreakerCount{} && find_hold(gate, HoldSource::kBreaker) == nullptr &&
         find_hold(gate, HoldSource::kProvider) == nullptr;
}

bool is_told(BreakerChange change) {
  return change == BreakerChange::kOpened || change == BreakerChange::kClosed || change == BreakerChange::kReopened;
}

std::string why_closed(const TaskId& task, ErrorClass error_class) {
  if (error_class == ErrorClass::kRateLimited) return fmt::format("task {} was rate limited", task.to_string());
  return fmt::format("task {} met {}", task.to_string(), name_of(error_class));
}

bool is_closed_by_providers(const std::string& gate) {
  const auto name = parse_gate_name(gate);
  return name && info_of(name->kind).closer == HoldSource::kProvider;
}

// Each run counts once, however often it says so.
bool is_first_answer(const TaskRecord& record, const ProviderSignal& signal) {
  return signal.answered && (record.answered_run != record.task.run || planted(PlantedBug::kAnswersWidenAgain));
}

// The gate that a signal concerns; none if it says nothing new, or the task has no provider.
const std::string* provider_gate(const TaskRecord& record, const ProviderSignal& signal) {
  if (!signal.throttle && !is_first_answer(record, signal)) return nullptr;
  const auto gate = std::ranges::find_if(record.task.gates, is_closed_by_providers);
  return gate != record.task.gates.end() ? &*gate : nullptr;
}

// A cut is rare, so what runs is counted then and not all the time. It is a measure, not a limit: what starts or ends
// meanwhile does no harm.
Result<std::int64_t> count_running(Store& store, const std::string& gate) {
  TaskFilter running{.states = {TaskState::kRunning}};
  std::optional<std::string> cursor;
  std::int64_t count = 0;
  do {
    auto page = TRY(store.list(running, kPageMax, cursor, Parts::kHead));
    count += std::ranges::count_if(page.records, [&](const TaskRecord& record) {
      return std::ranges::find(record.task.gates, gate) != record.task.gates.end();
    });
    cursor = std::move(page.cursor);
  } while (cursor);
  return count;
}

}  // namespace

RunVerdict RunGates::verdict(const Task& task, const Settlement& end) const {
  const TypePolicy& type = policy_.type(task.type);
  // A run that was asked to stop says nothing of its type.
  if (task.cancel_requested_at || type.breaker.failures == 0) return RunVerdict::kNeither;
  return verdict_of(end, type);
}

ProviderSignal RunGates::signal(const TaskRecord& record, const Settlement& end) const {
  ProviderSignal said = end.report.provider.value_or(ProviderSignal{});
  if (const auto* failure = std::get_if<Failure>(&end.end)) {
    const ClassRule& rule = policy_.type(record.task.type).classes[std::to_underlying(failure->error_class)];
    if (rule.close_gate && !failure->by_exit_code) said.throttle = {failure->error_class, failure->retry_after};
  } else if (std::holds_alternative<Completion>(end.end) || std::holds_alternative<Suspend>(end.end)) {
    said.answered = true;
  }
  return said;
}

std::vector<std::string> RunGates::gates_of(const TaskRecord& record, const Settlement& end) const {
  std::vector<std::string> names;
  if (verdict(record.task, end) != RunVerdict::kNeither) names.push_back(type_gate(record.task));
  if (const std::string* provider = provider_gate(record, signal(record, end))) names.push_back(*provider);
  if (const auto session = session_gate_of(record.task)) names.push_back(*session);
  return names;
}

void RunGates::announce(const TaskRecord& record, const Settlement& end) {
  const RunVerdict said = verdict(record.task, end);
  if (said != RunVerdict::kNeither) {
    Gate& gate = gates_[type_gate(record.task)];
    gate.moves = gate.moves || said == RunVerdict::kBad;
  }
  if (const auto session = session_gate_of(record.task)) {
    gates_[*session].moves = true;
    bootstrap_keys_.try_emplace(record.task.id);
  }
  announce(record, signal(record, end));
}

void RunGates::announce(const TaskRecord& record, const ProviderSignal& signal) {
  const std::string* name = provider_gate(record, signal);
  if (name == nullptr) return;
  Gate& gate = gates_[*name];
  gate.is_refusing = gate.is_refusing || signal.throttle.has_value();
  gate.moves = gate.moves || gate.is_refusing;
}

Status RunGates::read(Store& store, RecentReads* recent) {
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
  TRY(read_bootstrap_keys(store));
  auto states = TRY(store.read_gates(names));
  for (std::size_t i = 0; i < names.size(); ++i) {
    Gate& gate = gates_[names[i]];
    gate.read = std::move(states[i].record);
    gate.next = gate.read;
    gate.moves = gate.moves || !is_at_rest(gate.read);
    if (gate.is_refusing) gate.running = TRY(count_running(store, names[i]));
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

// They are part of the body, which no settlement reads otherwise.
Status RunGates::read_bootstrap_keys(Store& store) {
  std::vector<TaskId> ids;
  for (const auto& [id, key] : bootstrap_keys_) ids.push_back(id);
  if (ids.empty()) return {};
  const auto read = TRY(store.read(ids, Parts::kAll));
  for (const std::optional<TaskRecord>& record : read) {
    const auto bootstrap = record ? bootstrap_of(record->task) : std::nullopt;
    if (bootstrap) bootstrap_keys_[record->task.id] = bootstrap->key;
  }
  return {};
}

bool RunGates::moves_gates(const TaskRecord& record, const Settlement& end) const {
  return std::ranges::any_of(gates_of(record, end), [&](const std::string& name) { return gates_.at(name).moves; });
}

std::vector<GateStep> RunGates::checks(const TaskRecord& record, const Settlement& end) const {
  std::vector<GateStep> steps;
  for (const std::string& name : gates_of(record, end)) {
    steps.push_back({.name = name, .expected_revision = gates_.at(name).read.revision});
  }
  return steps;
}

void RunGates::tell(const TaskRecord& record, const Settlement& end) {
  tell(record, signal(record, end));
  feed_breaker_of(record, end);
}

void RunGates::tell(const TaskRecord& record, const ProviderSignal& signal) {
  const std::string* name = provider_gate(record, signal);
  if (name == nullptr) return;
  Gate& gate = gates_.at(*name);
  const Time started_at = record.task.started_at.value_or(now_);
  if (signal.throttle) {
    const Refused refused{.throttle = *signal.throttle,
                          .started_at = started_at,
                          .running = gate.running,
                          .why = why_closed(record.task.id, signal.throttle->error_class),
                          .by = record.task.worker_id.value_or("")};
    if (cut_provider(gate.next, refused, now_) != RampChange::kNone) {
      gate.events.push_back(gate_event::closed(*name, *find_hold(gate.next, HoldSource::kProvider)));
      gate.events.push_back(gate_event::provider_slowdown(gate.next));
    }
  }
  if (!is_first_answer(record, signal)) return;
  if (widen_provider(gate.next, started_at, now_) == RampChange::kRecovered) {
    gate.events.push_back(gate_event::provider_recovered(gate.next));
  }
}

Status RunGates::tell_session(const TaskRecord& before, TaskState after, const Settlement& end) {
  const auto session = session_gate_of(before.task);
  const auto name = session ? parse_session_gate(*session) : std::nullopt;
  if (!name) return {};
  Gate& gate = gates_.at(*session);
  auto record = TRY(session_of(gate.next, now_));
  const SessionRun run{
      .before = before.task, .after = after, .end = end, .bootstrap_key = bootstrap_keys_[before.task.id]};
  gate.next.session = session_record_json(after_run(std::move(record), policy_.session(name->name), run, now_));
  return {};
}

void RunGates::feed_breaker_of(const TaskRecord& record, const Settlement& end) {
  const Task& task = record.task;
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

std::vector<GateStep> RunGates::take_steps() {
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
