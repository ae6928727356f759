#include "engine/gate_status.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/json.h"
#include "engine/run_spend.h"

namespace drover {

namespace {

bool is_over(const Hold& hold, Time now) {
  return hold.closed_until && *hold.closed_until <= now && !hold.permits;
}

// Until opened by hand is null.
void write_until(json::Writer& out, const std::optional<Time>& until) {
  out.key("until");
  until && *until != kUntilOpened ? out.string(format_time(*until)) : out.null();
}

EventDraft draft(std::string_view name, json::Writer data) {
  data.end_object();
  return {.name = std::string(name), .data = std::move(data).take()};
}

json::Writer of_gate(std::string_view gate) {
  json::Writer out;
  out.begin_object().key("gate").string(gate);
  return out;
}

}  // namespace

GateRecord effective_gate(const GateRecord& gate, const GateRecord& other_owners) {
  GateRecord effective = gate;
  const auto name = parse_gate_name(gate.name);
  if (gate.revision != 0 || !name) return effective;
  if (name->kind == GateKind::kOwner) {
    effective.holds = other_owners.holds;
    effective.rate = other_owners.rate;
    effective.budgets = other_owners.budgets;
  } else if (const GateKindInfo& kind = info_of(name->kind); kind.permits) {
    set_hold(effective, Hold{.source = HoldSource::kPolicy,
                             .closed_until = std::nullopt,
                             .permits = kind.permits,
                             .why = std::string(kind.permits_why),
                             .by = "policy",
                             .since = Time{}});
  }
  return effective;
}

void drop_expired_holds(GateRecord& gate, Time now) {
  std::erase_if(gate.holds, [&](const Hold& hold) { return is_over(hold, now); });
}

GateStatus gate_status(const GateState& state, const GateRecord& record, Time now) {
  GateRecord live = record;
  drop_expired_holds(live, now);
  const GateLimits limits = limits_of(live);
  GateStatus status;
  status.name = state.record.name;
  status.holds = std::move(live.holds);
  status.rate = live.rate;
  if (limits.closed_until && *limits.closed_until > now) status.closed_until = limits.closed_until;
  status.permits = limits.permits;
  if (limits.permits) status.in_use = state.use.in_use;
  status.waiting_lanes = state.waiting_lanes;
  status.budgets = budget_statuses(state.record.name, record, state.use.budgets);
  return status;
}

namespace gate_event {

EventDraft closed(std::string_view gate, const Hold& hold) {
  json::Writer out = of_gate(gate);
  out.key("source").string(name_of(hold.source));
  write_until(out, hold.closed_until);
  out.key("why").string(hold.why).key("by").string(hold.by);
  return draft("gate.closed", std::move(out));
}

EventDraft opened(std::string_view gate, std::string_view why, std::string_view by) {
  json::Writer out = of_gate(gate);
  out.key("why").string(why).key("by").string(by);
  return draft("gate.opened", std::move(out));
}

EventDraft limited(std::string_view gate, HoldSource source, const std::optional<int>& permits,
                   const std::optional<Rate>& rate, std::string_view why, std::string_view by) {
  json::Writer out = of_gate(gate);
  out.key("source").string(name_of(source)).key("permits");
  permits ? out.number(*permits) : out.null();
  out.key("rate");
  rate ? out.string(to_string(*rate)) : out.null();
  out.key("why").string(why).key("by").string(by);
  return draft("gate.limited", std::move(out));
}

EventDraft breaker(const GateRecord& gate, BreakerChange change) {
  json::Writer out = of_gate(gate.name);
  const auto type = subject_of(gate.name, GateKind::kType);
  CHECK(type);
  out.key("type").string(*type);
  if (change == BreakerChange::kClosed) return draft("breaker.closed", std::move(out));
  const Hold* hold = find_hold(gate, HoldSource::kBreaker);
  CHECK(hold != nullptr);
  write_until(out, hold->closed_until);
  out.key("why").string(hold->why);
  if (change == BreakerChange::kReopened) return draft("breaker.reopened", std::move(out));
  CHECK(change == BreakerChange::kOpened);
  // Somebody should look.
  out.key("alert").boolean(true);
  return draft("breaker.opened", std::move(out));
}

EventDraft provider_slowdown(const GateRecord& gate) {
  json::Writer out = of_gate(gate.name);
  const Hold* hold = find_hold(gate, HoldSource::kProvider);
  CHECK(hold != nullptr);
  out.key("provider").string(subject_of(gate.name, GateKind::kProvider).value_or(gate.name));
  write_until(out, hold->closed_until);
  out.key("why").string(hold->why).key("by").string(hold->by);
  return draft("provider.slowdown", std::move(out));
}

EventDraft provider_recovered(const GateRecord& gate) {
  json::Writer out = of_gate(gate.name);
  out.key("provider").string(subject_of(gate.name, GateKind::kProvider).value_or(gate.name));
  return draft("provider.recovered", std::move(out));
}

Alert breaker_alert(const GateRecord& gate) {
  const Hold* hold = find_hold(gate, HoldSource::kBreaker);
  const std::string_view type = subject_of(gate.name, GateKind::kType).value_or(gate.name);
  return {.kind = AlertKind::kBreakerOpen,
          .severity = Severity::kCritical,
          .subject = gate.name,
          .detail = hold != nullptr ? hold->why : "",
          .fix = fmt::format("drover list --type {} --state failed; fix the cause, then: drover gate open {}", type,
                             gate.name)};
}

}  // namespace gate_event

}  // namespace drover
