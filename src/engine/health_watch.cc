// Looking after the fleet's health: the snapshot, and the sweeper that raises and clears alerts.
#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "base/try.h"
#include "core/alert.h"
#include "core/spec_check.h"
#include "engine/health.h"
#include "engine/sweepers.h"

namespace drover {

namespace {

constexpr Millis kLookEvery{15'000};
constexpr int kRunningMax = 200;
constexpr int kDeadLettersMax = 50;

// Why the first task of each queue has not started that has waited for long.
Status explain_waiting(Engine& engine, HealthSnapshot& snapshot) {
  for (const QueueCounts& queue : snapshot.queues) {
    if (!queue.first || snapshot.now - queue.first->since < snapshot.policy->health.idle.warning) continue;
    const auto explained = engine.explain(queue.first->id);
    if (!explained && explained.error().code == ErrorCode::kNotFound) continue;  // it is gone by now
    if (!explained) return std::unexpected(explained.error());
    snapshot.first_in_line[queue.name] = explained->reason;
  }
  return {};
}

bool is_same(const Alert& a, const Alert& b) {
  return a.kind == b.kind && a.subject == b.subject;
}

// Raised and cleared in the step that opens or closes the breaker.
bool is_told_by_step(AlertKind kind) {
  return kind == AlertKind::kBreakerOpen;
}

struct AlertChanges {
  std::vector<Alert> raised;
  std::vector<Alert> cleared;
};

// One that gets worse, or better, is raised anew.
AlertChanges changes_between(const std::vector<Alert>& before, const std::vector<Alert>& after) {
  AlertChanges changes;
  for (const Alert& alert : after) {
    const bool known = std::ranges::any_of(
        before, [&](const Alert& other) { return is_same(alert, other) && alert.severity == other.severity; });
    if (!known) changes.raised.push_back(alert);
  }
  for (const Alert& alert : before) {
    if (std::ranges::none_of(after, [&](const Alert& other) { return is_same(alert, other); }))
      changes.cleared.push_back(alert);
  }
  return changes;
}

std::vector<EventDraft> events_of(const AlertChanges& changes) {
  std::vector<EventDraft> events;
  for (const Alert& alert : changes.raised) {
    if (!is_told_by_step(alert.kind)) events.push_back(alert_raised(alert));
  }
  for (const Alert& alert : changes.cleared) {
    if (!is_told_by_step(alert.kind)) events.push_back(alert_cleared(alert));
  }
  return events;
}

void log_changes(const AlertChanges& changes) {
  for (const Alert& alert : changes.raised) {
    log_warn("alert", name_of(alert.kind),
             {{"severity", std::string(name_of(alert.severity))},
              {"subject", alert.subject},
              {"detail", alert.detail},
              {"fix", alert.fix}});
  }
  for (const Alert& alert : changes.cleared) {
    log_info("alert", "cleared", {{"kind", std::string(name_of(alert.kind))}, {"subject", alert.subject}});
  }
}

// Only the time of the look is another.
bool is_unchanged(const HealthMemory& before, HealthMemory after) {
  after.looked_at = before.looked_at;
  return before == after;
}

}  // namespace

Result<HealthSnapshot> Engine::look_at_health() {
  const auto document = TRY(store_.document(DocumentKind::kHealth));
  auto memory = TRY(parse_health_memory(document.text));
  auto policy = TRY(this->policy());
  auto now = TRY(store_.now());
  HealthSnapshot snapshot{.now = now, .policy = std::move(policy)};
  snapshot.memory = std::move(memory);
  snapshot.memory_version = document.version;
  snapshot.queues = TRY(store_.queues());
  snapshot.workers = TRY(store_.workers());
  auto gates = TRY(store_.gates());
  snapshot.gates = std::move(gates);
  snapshot.budgets = TRY(budgets());
  snapshot.held = TRY(find_held(store_, snapshot.gates, HeldBy::kShutGates, now));
  auto running = TRY(list({.states = {TaskState::kRunning}}, kRunningMax, std::nullopt));
  snapshot.running = std::move(running.tasks);
  auto failed = TRY(list({.states = {TaskState::kFailed}}, kDeadLettersMax, std::nullopt));
  snapshot.dead_letters = std::move(failed.tasks);
  TRY(explain_waiting(*this, snapshot));
  return snapshot;
}

Result<std::vector<Alert>> Engine::alerts() {
  const auto document = TRY(store_.document(DocumentKind::kHealth));
  auto memory = TRY(parse_health_memory(document.text));
  return std::move(memory.alerts);
}

Result<std::vector<PastAlert>> Engine::past_alerts(int limit) {
  TRY(check_bounds(limit, Bounds{1, static_cast<std::int64_t>(kPastAlertsMax)}));
  const auto document = TRY(store_.document(DocumentKind::kPastAlerts));
  auto alerts = TRY(parse_past_alerts(document.text));
  if (std::cmp_greater(alerts.size(), limit)) alerts.resize(static_cast<std::size_t>(limit));
  return alerts;
}

// Beside the document of those that hold: whoever reads either gets a small one. A crash in between loses the history
// of an alert; that it was cleared is an event in any case.
Status Engine::keep_past_alerts(std::span<const Alert> cleared, Time now) {
  if (cleared.empty()) return {};
  return change_document(DocumentKind::kPastAlerts, "keep_past_alerts", [&](const JsonText& text) -> Result<JsonText> {
    auto alerts = TRY(parse_past_alerts(text));
    for (const Alert& alert : cleared) alerts.insert(alerts.begin(), PastAlert{alert, now});
    if (alerts.size() > kPastAlertsMax) alerts.resize(kPastAlertsMax);
    return past_alerts_json(alerts);
  });
}

Result<Alert> Engine::snooze_alert(const SnoozeOrder& order) {
  TRY(check_verdict(order.verdict));
  TRY(check_bounds(order.duration.count(), Bounds{0, kSnoozeMax.count()}));
  const auto now = TRY(store_.now());
  Alert snoozed;
  TRY(change_document(DocumentKind::kHealth, "snooze_alert", [&](const JsonText& text) -> Result<JsonText> {
    auto memory = TRY(parse_health_memory(text));
    const auto found = std::ranges::find(memory.alerts, order.key, key_of);
    if (found == memory.alerts.end()) {
      return drover::fail(ErrorCode::kNotFound, fmt::format("there is no alert {}", quoted_excerpt(order.key)));
    }
    const bool sleeps = order.duration > Millis{0};
    found->snoozed_until = sleeps ? std::optional(now + order.duration) : std::nullopt;
    found->snoozed_by = sleeps ? order.verdict.by : "";
    found->snoozed_why = sleeps ? order.verdict.why : "";
    snoozed = *found;
    return to_json(memory);
  }));
  return snoozed;
}

// Of several processes that look at the same time one writes; the others have nothing to say.
Result<int> Sweepers::watch_health() {
  auto snapshot = TRY(engine_.look_at_health());
  const HealthMemory before = snapshot.memory;
  const Millis since = snapshot.now - snapshot.memory.looked_at;
  if (since >= Millis{0} && since < kLookEvery) return 0;
  if (snapshot.policy->has_budgets) TRY(engine_.ask_for_budgets());
  note_first_in_line(snapshot);
  const HealthMemory next = remember(snapshot, find_alerts(snapshot));
  if (is_unchanged(before, next)) return 0;
  const AlertChanges changes = changes_between(snapshot.memory.alerts, next.alerts);
  const auto written = TRY(
      engine_.store_.put_document(DocumentKind::kHealth, to_json(next), snapshot.memory_version, events_of(changes)));
  if (!written) return 0;
  log_changes(changes);
  TRY(engine_.keep_past_alerts(changes.cleared, snapshot.now));
  return static_cast<int>(changes.raised.size());
}

// Not at once: a command that ends soon leaves it to those that stay.
Status Sweepers::watch_health_if_due(Time now, SweepReport& report) {
  if (!last_health_look_ || now < *last_health_look_) last_health_look_ = now;
  if (now - *last_health_look_ < kLookEvery) return {};
  report.alerts = TRY(watch_health());
  last_health_look_ = now;
  return {};
}

}  // namespace drover
