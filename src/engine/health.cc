#include "engine/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "core/budget.h"
#include "engine/gate_status.h"

namespace drover {

namespace {

using Alerts = std::vector<Alert>;

// A breaker that has not been decided for so many times as long as it stays open is stuck.
constexpr int kStuckTimes = 10;
// Fewer waiting tasks than this are never many.
constexpr std::int64_t kManyWaitingMin = 20;
// The weight of one look in the usual number, 1 to this: an hour of looks.
constexpr std::int64_t kUsualLooks = 240;
constexpr std::int64_t kHundredths = 100;

std::int64_t count(const QueueCounts& queue, TaskState state) {
  return queue.tasks[static_cast<std::size_t>(state)];
}
std::int64_t waiting(const QueueCounts& queue) {
  return count(queue, TaskState::kPending) + count(queue, TaskState::kStalled);
}
std::string waiting_text(const QueueCounts& queue) {
  return fmt::format("{} {} waiting", counted(waiting(queue), "task"), waiting(queue) == 1 ? "is" : "are");
}

template <class T, class N>
std::optional<Severity> severity_of(const Threshold<T>& threshold, N value) {
  if (value >= threshold.critical) return Severity::kCritical;
  if (value >= threshold.warning) return Severity::kWarning;
  return std::nullopt;
}

// To the second: nobody reads on.
std::string about(Millis duration) {
  return format_duration(std::chrono::floor<std::chrono::seconds>(duration));
}

// ---- one check each

void find_open_breakers(const HealthSnapshot& snapshot, Alerts& found) {
  for (const GateState& gate : snapshot.gates) {
    const Hold* hold = find_hold(gate.record, HoldSource::kBreaker);
    if (hold == nullptr || !subject_of(gate.record.name, GateKind::kType)) continue;
    Alert alert = gate_event::breaker_alert(gate.record);
    if (hold->closed_until && *hold->closed_until <= snapshot.now) alert.detail += "; one probe may run";
    found.push_back(std::move(alert));
  }
}

void find_stuck_breakers(const HealthSnapshot& snapshot, Alerts& found) {
  for (const GateState& gate : snapshot.gates) {
    const Hold* hold = find_hold(gate.record, HoldSource::kBreaker);
    const auto type = subject_of(gate.record.name, GateKind::kType);
    if (hold == nullptr || !hold->closed_until || !type) continue;
    const Millis open = snapshot.policy->type(*type).breaker.open;
    const Millis undecided = snapshot.now - *hold->closed_until;
    const bool too_long = *hold->closed_until - hold->since > open * kStuckTimes;
    if (undecided <= open * kStuckTimes && !too_long) continue;
    found.push_back({.kind = AlertKind::kBreakerStuck,
                     .severity = Severity::kCritical,
                     .subject = gate.record.name,
                     .detail = too_long ? fmt::format("closed until {}, far longer than its policy says ({})",
                                                      format_time(*hold->closed_until), format_duration(open))
                                        : fmt::format("no probe has decided for {}; its policy waits {}",
                                                      about(undecided), format_duration(open)),
                     .fix = fmt::format("start a worker that serves it, or: drover gate open {}", gate.record.name)});
  }
}

void find_dead_letters(const HealthSnapshot& snapshot, Alerts& found) {
  for (const QueueCounts& queue : snapshot.queues) {
    const std::int64_t failed = count(queue, TaskState::kFailed);
    if (failed == 0) continue;
    found.push_back(
        {.kind = AlertKind::kDeadLetter,
         .severity = Severity::kWarning,
         .subject = gate_name(GateKind::kQueue, queue.name),
         .detail = counted(failed, "dead letter"),
         .fix = fmt::format("drover dlq list --queue {}; then: drover dlq retry --queue {}", queue.name, queue.name)});
  }
}

void find_lost_workers(const HealthSnapshot& snapshot, Alerts& found) {
  for (const WorkerInfo& worker : snapshot.workers) {
    if (!is_silent(worker, snapshot.now)) continue;
    found.push_back({.kind = AlertKind::kWorkerLost,
                     .severity = worker.running > 0 ? Severity::kCritical : Severity::kWarning,
                     .subject = "worker:" + worker.id,
                     .detail = fmt::format("no heartbeat since {}; holds {}", format_time(worker.last_beat_at),
                                           counted(worker.running, "task")),
                     .fix = "check its machine; other workers get its tasks when their leases run out"});
  }
}

void find_queues_not_served(const HealthSnapshot& snapshot, Alerts& found) {
  for (const QueueCounts& queue : snapshot.queues) {
    if (waiting(queue) == 0) continue;
    const auto serves = [&](const WorkerInfo& worker) { return serves_queue(worker, queue.name, snapshot.now); };
    if (std::ranges::any_of(snapshot.workers, serves)) continue;
    found.push_back({.kind = AlertKind::kNotServed,
                     .severity = Severity::kWarning,
                     .subject = gate_name(GateKind::kQueue, queue.name),
                     .detail = fmt::format("{}; no worker serves this queue", waiting_text(queue)),
                     .fix = fmt::format("drover work --queue {} -- COMMAND", queue.name)});
  }
}

// Null unless that task was the first of the queue at the look before, too.
const SeenFirst* find_seen(const HealthMemory& memory, const std::string& queue, const TaskId& first) {
  const auto seen = memory.first.find(queue);
  return seen != memory.first.end() && seen->second.task == first ? &seen->second : nullptr;
}

Time first_since(const HealthSnapshot& snapshot, const std::string& queue, const FirstInLine& first) {
  const SeenFirst* seen = find_seen(snapshot.memory, queue, first.id);
  return seen != nullptr ? std::max(seen->since, first.since) : first.since;
}

// All that one gate holds, whatever the queue.
std::map<std::string, HeldTasks> held_by_gate(const HealthSnapshot& snapshot) {
  std::map<std::string, HeldTasks> gates;
  for (const HeldInQueue& held : snapshot.held) {
    HeldTasks& sum = gates.try_emplace(held.tasks.gate, HeldTasks{.since = Time::max()}).first->second;
    const std::int64_t tasks = sum.tasks + held.tasks.tasks;
    if (held.tasks.since < sum.since) sum = held.tasks;
    sum.tasks = tasks;
  }
  // A breaker whose probe fails is shut anew; what it holds has been held all the time.
  for (auto& [name, sum] : gates) {
    const auto seen = snapshot.memory.held.find(name);
    if (seen != snapshot.memory.held.end()) sum.since = std::min(sum.since, seen->second);
  }
  return gates;
}

std::string way_to_open(const std::string& gate, const std::string& why) {
  if (why.starts_with("no permits"))
    return fmt::format("drover gate limit {} N, or give it permits in the policy", gate);
  if (const auto queue = subject_of(gate, GateKind::kQueue)) return fmt::format("drover queue resume {}", *queue);
  return fmt::format("drover gate open {}", gate);
}

void find_held_tasks(const HealthSnapshot& snapshot, Alerts& found) {
  for (const auto& [gate, held] : held_by_gate(snapshot)) {
    const auto severity = severity_of(snapshot.policy->health.held, snapshot.now - held.since);
    if (!severity) continue;
    found.push_back({.kind = AlertKind::kHeld,
                     .severity = *severity,
                     .subject = gate,
                     .detail = fmt::format("holds {} task{} back, the first for {}: {}", held.tasks,
                                           held.tasks == 1 ? "" : "s", about(snapshot.now - held.since), held.why),
                     .fix = way_to_open(gate, held.why)});
  }
}

void find_idle_workers(const HealthSnapshot& snapshot, Alerts& found) {
  for (const QueueCounts& queue : snapshot.queues) {
    if (waiting(queue) == 0 || !queue.first) continue;
    const auto reason = snapshot.first_in_line.find(queue.name);
    if (reason == snapshot.first_in_line.end() || reason->second != Explanation::Reason::kInLine) continue;
    const Millis waits = snapshot.now - first_since(snapshot, queue.name, *queue.first);
    const auto severity = severity_of(snapshot.policy->health.idle, waits);
    if (!severity) continue;
    const auto idle = std::ranges::count_if(snapshot.workers, [&](const WorkerInfo& worker) {
      return serves_queue(worker, queue.name, snapshot.now) && worker.running < worker.capacity;
    });
    if (idle == 0) continue;
    found.push_back(
        {.kind = AlertKind::kIdleWorkers,
         .severity = *severity,
         .subject = gate_name(GateKind::kQueue, queue.name),
         .detail = fmt::format("{}, the first for {}, while {} of its workers {} idle", waiting_text(queue),
                               about(waits), idle, idle == 1 ? "is" : "are"),
         .fix = fmt::format("drover explain {}; drover worker list; look at the workers' logs, restart them",
                            queue.first->id.to_string())});
  }
}

void find_unusual_waiting(const HealthSnapshot& snapshot, Alerts& found) {
  for (const QueueCounts& queue : snapshot.queues) {
    const auto usual = snapshot.memory.usual.find(queue.name);
    if (usual == snapshot.memory.usual.end() || waiting(queue) < kManyWaitingMin) continue;
    const std::int64_t base = std::max(usual->second, kHundredths);
    const auto severity = severity_of(snapshot.policy->health.waiting, waiting(queue) * kHundredths / base);
    if (!severity) continue;
    found.push_back(
        {.kind = AlertKind::kWaiting,
         .severity = *severity,
         .subject = gate_name(GateKind::kQueue, queue.name),
         .detail = fmt::format("{}; {} are usual", waiting_text(queue), usual->second / kHundredths),
         .fix = fmt::format("drover queue list; more workers: drover work --queue {} -- COMMAND", queue.name)});
  }
}

void find_lag(const HealthSnapshot& snapshot, Alerts& found) {
  for (const QueueCounts& queue : snapshot.queues) {
    const auto severity = severity_of(snapshot.policy->health.lag, waiting(queue));
    if (!severity) continue;
    found.push_back(
        {.kind = AlertKind::kLag,
         .severity = *severity,
         .subject = gate_name(GateKind::kQueue, queue.name),
         .detail = waiting_text(queue),
         .fix = fmt::format("drover queue list; more workers: drover work --queue {} -- COMMAND", queue.name)});
  }
}

void find_loaded_workers(const HealthSnapshot& snapshot, Alerts& found) {
  for (const WorkerInfo& worker : snapshot.workers) {
    const auto severity = severity_of(snapshot.policy->health.running_per_worker, worker.running);
    if (!severity) continue;
    found.push_back({.kind = AlertKind::kRunningPerWorker,
                     .severity = *severity,
                     .subject = "worker:" + worker.id,
                     .detail = fmt::format("runs {} at once", counted(worker.running, "task")),
                     .fix = "start more workers with a smaller --concurrency"});
  }
}

std::string text_of(const std::optional<Progress>& progress) {
  return progress ? fmt::format("{} {}", progress->percent, progress->message) : "";
}

// Since when a running task has told nothing new.
Time quiet_since(const HealthSnapshot& snapshot, const Task& task) {
  const Time started = task.started_at.value_or(snapshot.now);
  if (!task.progress) return started;
  const auto seen = std::ranges::find_if(snapshot.memory.progress, [&](const SeenProgress& known) {
    return known.task == task.id && known.run == task.run && known.text == text_of(task.progress);
  });
  return seen == snapshot.memory.progress.end() ? snapshot.now : seen->since;
}

void find_quiet_tasks(const HealthSnapshot& snapshot, Alerts& found) {
  for (const Task& task : snapshot.running) {
    const Millis quiet = snapshot.now - quiet_since(snapshot, task);
    const auto severity = severity_of(snapshot.policy->health.no_progress, quiet);
    if (!severity) continue;
    const std::string id = task.id.to_string();
    found.push_back(
        {.kind = AlertKind::kNoProgress,
         .severity = *severity,
         .subject = "task:" + id,
         .detail = fmt::format("no progress for {}", format_duration(std::chrono::floor<std::chrono::minutes>(quiet))),
         .fix = fmt::format("drover logs {0}; to end it: drover cancel {0}", id)});
  }
}

// Of each budget and period one alert, whatever else the gate has.
void find_spent_budgets(const HealthSnapshot& snapshot, Alerts& found) {
  for (const BudgetStatus& budget : snapshot.budgets) {
    const auto severity = severity_of(snapshot.policy->health.budget, percent_spent(budget));
    if (!severity) continue;
    const BudgetUnit unit = budget.budget.unit;
    std::string detail = fmt::format("{} of {} are spent ({} %)", format_amount(unit, budget.spent),
                                     format_amount(unit, budget.limit()), percent_spent(budget));
    if (budget.breached) detail += "; a run was stopped for it, or cannot start";
    if (budget.resets_at) detail += fmt::format("; the next period begins at {}", format_time(*budget.resets_at));
    found.push_back({.kind = AlertKind::kBudget,
                     .severity = *severity,
                     .subject = fmt::format("{} {} {}", budget.gate, name_of(unit), budget.period),
                     .detail = std::move(detail),
                     .fix = fmt::format("drover budget list; to raise it: drover budget raise {}", budget.gate)});
  }
}

void find_alerting_failures(const HealthSnapshot& snapshot, Alerts& found) {
  for (const Task& task : snapshot.dead_letters) {
    if (!task.error) continue;
    const ClassTable& classes = snapshot.policy->type(task.type).classes;
    if (!classes[static_cast<std::size_t>(std::to_underlying(task.error->error_class))].alert) continue;
    const std::string id = task.id.to_string();
    found.push_back({.kind = AlertKind::kFailure,
                     .severity = Severity::kCritical,
                     .subject = "task:" + id,
                     .detail = fmt::format("{}: {}", name_of(task.error->error_class), task.error->message),
                     .fix = fmt::format("drover logs {0}; fix the cause, then: drover retry {0}", id)});
  }
}

// In the order of AlertKind.
constexpr std::array<void (*)(const HealthSnapshot&, Alerts&), kAlertKindCount> kChecks{
    find_open_breakers,     find_stuck_breakers, find_dead_letters,  find_alerting_failures, find_lost_workers,
    find_queues_not_served, find_held_tasks,     find_idle_workers,  find_unusual_waiting,   find_lag,
    find_loaded_workers,    find_quiet_tasks,    find_spent_budgets,
};

}  // namespace

bool is_silent(const WorkerInfo& worker, Time now) {
  return now - worker.last_beat_at > kWorkerSilence;
}

bool serves_queue(const WorkerInfo& worker, const std::string& queue, Time now) {
  return !worker.draining && !is_silent(worker, now) && std::ranges::any_of(worker.serves, [&](const Serve& serve) {
    return serve.queue == queue && serve.trouble.empty();
  });
}

std::vector<Alert> find_alerts(const HealthSnapshot& snapshot, AlertKind kind) {
  Alerts found;
  kChecks[static_cast<std::size_t>(std::to_underlying(kind))](snapshot, found);
  return found;
}

std::vector<Alert> find_alerts(const HealthSnapshot& snapshot) {
  Alerts found;
  for (const auto check : kChecks) check(snapshot, found);
  return found;
}

namespace {

// What was said of it before, if anything.
const Alert* find_same(const Alerts& alerts, const Alert& alert) {
  const auto same = std::ranges::find_if(
      alerts, [&](const Alert& other) { return other.kind == alert.kind && other.subject == alert.subject; });
  return same == alerts.end() ? nullptr : &*same;
}

std::map<std::string, std::int64_t> usual_after(const HealthSnapshot& snapshot) {
  std::map<std::string, std::int64_t> usual;
  for (const QueueCounts& queue : snapshot.queues) {
    const std::int64_t now = waiting(queue) * kHundredths;
    const auto before = snapshot.memory.usual.find(queue.name);
    usual[queue.name] =
        before == snapshot.memory.usual.end() ? now : before->second + (now - before->second) / kUsualLooks;
  }
  return usual;
}

}  // namespace

void note_first_in_line(HealthSnapshot& snapshot) {
  std::map<std::string, SeenFirst> first;
  for (const QueueCounts& queue : snapshot.queues) {
    if (!queue.first) continue;
    const SeenFirst* seen = find_seen(snapshot.memory, queue.name, queue.first->id);
    first[queue.name] = seen != nullptr ? *seen : SeenFirst{queue.first->id, snapshot.now};
  }
  snapshot.memory.first = std::move(first);
}

HealthMemory remember(const HealthSnapshot& snapshot, std::vector<Alert> alerts) {
  HealthMemory next;
  next.looked_at = snapshot.now;
  next.usual = usual_after(snapshot);
  next.first = snapshot.memory.first;
  next.alerts = std::move(alerts);
  for (const auto& [gate, held] : held_by_gate(snapshot)) next.held[gate] = held.since;
  for (const Task& task : snapshot.running) {
    if (!task.progress) continue;
    next.progress.push_back({task.id, task.run, text_of(task.progress), quiet_since(snapshot, task)});
  }
  for (Alert& alert : next.alerts) {
    const Alert* before = find_same(snapshot.memory.alerts, alert);
    alert.raised_at = snapshot.now;
    if (before == nullptr || before->severity != alert.severity) continue;
    alert.raised_at = before->raised_at;
    if (!before->snoozed_until || *before->snoozed_until <= snapshot.now) continue;
    alert.snoozed_until = before->snoozed_until;
    alert.snoozed_by = before->snoozed_by;
    alert.snoozed_why = before->snoozed_why;
  }
  return next;
}

}  // namespace drover
