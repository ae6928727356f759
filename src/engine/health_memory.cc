// The document of the fleet's health, as the store keeps it.
#include <fmt/format.h>

#include "base/json.h"
#include "engine/health.h"

namespace drover {

namespace {

std::int64_t millis_of(Time time) {
  return time.time_since_epoch().count();
}

void write_progress(json::Writer& out, const SeenProgress& seen) {
  out.begin_object().key("task").string(seen.task.to_string()).key("run").number(seen.run);
  out.key("text").string(seen.text).key("since").number(millis_of(seen.since)).end_object();
}

void write_alert(json::Writer& out, const Alert& alert) {
  out.begin_object().key("kind").string(name_of(alert.kind)).key("severity").string(name_of(alert.severity));
  out.key("subject").string(alert.subject).key("detail").string(alert.detail).key("fix").string(alert.fix);
  out.key("raised_at").number(millis_of(alert.raised_at));
  if (alert.snoozed_until) {
    out.key("snoozed_until").number(millis_of(*alert.snoozed_until));
    out.key("snoozed_by").string(alert.snoozed_by).key("snoozed_why").string(alert.snoozed_why);
  }
  out.end_object();
}

std::unexpected<Error> unreadable() {
  return fail(ErrorCode::kStoreDamaged, "the document of the fleet's health cannot be read", "engine.health");
}

// The members of one object of the document; what is missing or of another kind makes it unreadable.
class Members {
 public:
  explicit Members(const json::Value& value) : value_(value) {}

  Members& text(std::string_view name, std::string& target) {
    const json::Value* member = value_.find(name);
    const std::string* text = member != nullptr ? member->as_string() : nullptr;
    text != nullptr ? void(target = *text) : void(good_ = false);
    return *this;
  }
  Members& time(std::string_view name, Time& target) {
    std::int64_t millis = 0;
    number(name, millis);
    target = Time(Millis(millis));
    return *this;
  }
  Members& number(std::string_view name, std::int64_t& target) {
    const json::Value* member = value_.find(name);
    const auto number = member != nullptr ? member->as_int() : std::nullopt;
    number ? void(target = *number) : void(good_ = false);
    return *this;
  }
  [[nodiscard]] bool good() const { return good_; }

 private:
  const json::Value& value_;
  bool good_ = true;
};

std::optional<SeenProgress> read_progress(const json::Value& value) {
  SeenProgress seen;
  std::string id;
  std::int64_t run = 0;
  if (!Members(value).text("task", id).number("run", run).text("text", seen.text).time("since", seen.since).good()) {
    return std::nullopt;
  }
  const auto task = TaskId::parse(id);
  if (!task) return std::nullopt;
  seen.task = *task;
  seen.run = static_cast<int>(run);
  return seen;
}

std::optional<Alert> read_alert(const json::Value& value) {
  Alert alert;
  std::string kind;
  std::string severity;
  Members members(value);
  members.text("kind", kind).text("severity", severity).text("subject", alert.subject).text("detail", alert.detail);
  if (!members.text("fix", alert.fix).time("raised_at", alert.raised_at).good()) return std::nullopt;
  const auto known_kind = parse_alert_kind(kind);
  const auto known_severity = parse_severity(severity);
  if (!known_kind || !known_severity) return std::nullopt;
  alert.kind = *known_kind;
  alert.severity = *known_severity;
  if (value.find("snoozed_until") == nullptr) return alert;
  members.time("snoozed_until", alert.snoozed_until.emplace());
  members.text("snoozed_by", alert.snoozed_by).text("snoozed_why", alert.snoozed_why);
  return members.good() ? std::optional(alert) : std::nullopt;
}

std::optional<PastAlert> read_past_alert(const json::Value& value) {
  const json::Value* inner = value.find("alert");
  auto alert = inner != nullptr ? read_alert(*inner) : std::nullopt;
  Time cleared_at{};
  if (!alert || !Members(value).time("cleared_at", cleared_at).good()) return std::nullopt;
  return PastAlert{*std::move(alert), cleared_at};
}

template <class T, class Read>
bool read_list(const json::Value& document, std::string_view name, std::vector<T>& target, Read read) {
  const json::Value* member = document.find(name);
  const json::Value::Array* items = member != nullptr ? member->as_array() : nullptr;
  if (items == nullptr) return false;
  for (const json::Value& item : *items) {
    // A newer program may have written of kinds that this one does not know.
    if (auto one = read(item)) target.push_back(*std::move(one));
  }
  return true;
}

bool read_first(const json::Value& document, std::map<std::string, SeenFirst>& target) {
  const json::Value* member = document.find("first");
  const json::Value::Object* queues = member != nullptr ? member->as_object() : nullptr;
  if (queues == nullptr) return false;
  for (const auto& [queue, value] : *queues) {
    std::string id;
    Time since{};
    if (!Members(value).text("task", id).time("since", since).good()) return false;
    if (const auto task = TaskId::parse(id)) target[queue] = {*task, since};
  }
  return true;
}

// Documents of older versions have none.
bool read_held(const json::Value& document, std::map<std::string, Time>& target) {
  const json::Value* member = document.find("held");
  if (member == nullptr) return true;
  const json::Value::Object* gates = member->as_object();
  if (gates == nullptr) return false;
  for (const auto& [gate, since] : *gates) target[gate] = Time(Millis(since.as_int().value_or(0)));
  return true;
}

bool read_usual(const json::Value& document, std::map<std::string, std::int64_t>& target) {
  const json::Value* member = document.find("usual");
  const json::Value::Object* queues = member != nullptr ? member->as_object() : nullptr;
  if (queues == nullptr) return false;
  for (const auto& [queue, value] : *queues) target[queue] = value.as_int().value_or(0);
  return true;
}

}  // namespace

JsonText to_json(const HealthMemory& memory) {
  json::Writer out;
  out.begin_object().key("looked_at").number(millis_of(memory.looked_at)).key("usual").begin_object();
  for (const auto& [queue, usual] : memory.usual) out.key(queue).number(usual);
  out.end_object().key("first").begin_object();
  for (const auto& [queue, seen] : memory.first) {
    out.key(queue).begin_object().key("task").string(seen.task.to_string());
    out.key("since").number(millis_of(seen.since)).end_object();
  }
  out.end_object().key("held").begin_object();
  for (const auto& [gate, since] : memory.held) out.key(gate).number(millis_of(since));
  out.end_object().key("progress").begin_array();
  for (const SeenProgress& seen : memory.progress) write_progress(out, seen);
  out.end_array().key("alerts").begin_array();
  for (const Alert& alert : memory.alerts) write_alert(out, alert);
  out.end_array().end_object();
  return std::move(out).take();
}

JsonText past_alerts_json(const std::vector<PastAlert>& alerts) {
  json::Writer out;
  out.begin_object().key("alerts").begin_array();
  for (const PastAlert& past : alerts) {
    out.begin_object().key("alert");
    write_alert(out, past.alert);
    out.key("cleared_at").number(millis_of(past.cleared_at)).end_object();
  }
  out.end_array().end_object();
  return std::move(out).take();
}

Result<std::vector<PastAlert>> parse_past_alerts(std::string_view document) {
  std::vector<PastAlert> alerts;
  if (document == "{}") return alerts;
  const auto value = json::parse(document);
  if (!value || !read_list(*value, "alerts", alerts, read_past_alert)) return unreadable();
  return alerts;
}

Result<HealthMemory> parse_health_memory(std::string_view document) {
  const auto value = json::parse(document, json::kDepthMax, json::kAnyKeys);  // a member for each queue
  if (!value) return unreadable();
  HealthMemory memory;
  if (document == "{}") return memory;
  if (!Members(*value).time("looked_at", memory.looked_at).good() || !read_usual(*value, memory.usual))
    return unreadable();
  if (!read_first(*value, memory.first) || !read_held(*value, memory.held)) return unreadable();
  if (!read_list(*value, "progress", memory.progress, read_progress)) return unreadable();
  if (!read_list(*value, "alerts", memory.alerts, read_alert)) return unreadable();
  return memory;
}

}  // namespace drover
