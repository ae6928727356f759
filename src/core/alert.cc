#include "core/alert.h"

#include "base/json.h"
#include "core/names.h"

namespace drover {

namespace {

constexpr Names<kAlertKindCount> kKindNames{
    "breaker_open",       "breaker_stuck", "dead_letter",  "failure", "worker_lost",
    "not_served",         "held",          "idle_workers", "waiting", "lag",
    "running_per_worker", "no_progress",   "budget",
};
constexpr Names<2> kSeverityNames{"warning", "critical"};

json::Writer begin(const Alert& alert) {
  json::Writer out;
  out.begin_object()
      .key("key")
      .string(key_of(alert))
      .key("kind")
      .string(name_of(alert.kind))
      .key("severity")
      .string(name_of(alert.severity));
  out.key("subject").string(alert.subject).key("detail").string(alert.detail).key("fix").string(alert.fix);
  return out;
}

std::string end(json::Writer out) {
  out.end_object();
  return std::move(out).take();
}

}  // namespace

std::string_view name_of(AlertKind kind) {
  return name_in(kKindNames, kind);
}
std::optional<AlertKind> parse_alert_kind(std::string_view name) {
  return value_in<AlertKind>(kKindNames, name);
}
std::string_view name_of(Severity severity) {
  return name_in(kSeverityNames, severity);
}
std::optional<Severity> parse_severity(std::string_view name) {
  return value_in<Severity>(kSeverityNames, name);
}

std::string key_of(const Alert& alert) {
  return std::string(name_of(alert.kind)) + ":" + alert.subject;
}

std::string to_json(const Alert& alert) {
  json::Writer out = begin(alert);
  out.key("raised_at").string(format_time(alert.raised_at)).key("snoozed_until");
  alert.snoozed_until ? out.string(format_time(*alert.snoozed_until)) : out.null();
  out.key("snoozed_by");
  alert.snoozed_until ? out.string(alert.snoozed_by) : out.null();
  out.key("snoozed_why");
  alert.snoozed_until ? out.string(alert.snoozed_why) : out.null();
  return end(std::move(out));
}

std::string to_json(const PastAlert& past) {
  json::Writer out = begin(past.alert);
  out.key("raised_at").string(format_time(past.alert.raised_at));
  out.key("cleared_at").string(format_time(past.cleared_at));
  return end(std::move(out));
}

EventDraft alert_raised(const Alert& alert) {
  return {.name = "alert.raised", .data = end(begin(alert))};
}

EventDraft alert_cleared(const Alert& alert) {
  return {.name = "alert.cleared", .data = end(begin(alert))};
}

}  // namespace drover
