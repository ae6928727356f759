#include "core/compact_json.h"

#include <limits>

namespace drover::compact {
namespace {

using json::Value;
using json::Writer;

// By a parser that answers with the value or nothing.
template <class T, class Parser>
bool read_by(const Value& value, T& target, Parser parser) {
  const std::string* text = value.as_string();
  if (text == nullptr) return false;
  auto parsed = parser(*text);
  if (!parsed) return false;
  target = *std::move(parsed);
  return true;
}

const Value::Array* items_of(const Value& value, std::size_t count) {
  const Value::Array* items = value.as_array();
  return items != nullptr && items->size() == count ? items : nullptr;
}

}  // namespace

void write(Writer& out, const std::string& text) {
  out.string(text);
}
void write(Writer& out, std::int64_t number) {
  out.number(number);
}
void write(Writer& out, int number) {
  out.number(number);
}
void write(Writer& out, bool value) {
  out.boolean(value);
}
void write(Writer& out, Time time) {
  out.number(time.time_since_epoch().count());
}
void write(Writer& out, Millis duration) {
  out.number(duration.count());
}
void write(Writer& out, const TaskId& id) {
  out.string(id.to_string());
}
void write(Writer& out, TaskState state) {
  out.string(name_of(state));
}
void write(Writer& out, OnParentFailure policy) {
  out.string(name_of(policy));
}
void write(Writer& out, DedupeMode mode) {
  out.string(name_of(mode));
}
void write(Writer& out, const RetryPolicy& policy) {
  out.string(to_string(policy));
}
void write(Writer& out, const TaskError& error) {
  out.begin_array().string(name_of(error.error_class)).string(error.message).end_array();
}
void write(Writer& out, const Escalation& escalation) {
  out.begin_array().string(escalation.to).string(escalation.by).string(escalation.why);
  write(out, escalation.at);
  out.end_array();
}
void write(Writer& out, const Progress& progress) {
  out.begin_array().number(progress.percent).string(progress.message).end_array();
}
void write(Writer& out, const LostRun& lost) {
  out.string(to_text(lost));
}
void write(Writer& out, const RunSettlement& settlement) {
  out.string(to_text(settlement));
}

bool read(const Value& value, std::string& text) {
  if (value.as_string() == nullptr) return false;
  text = *value.as_string();
  return true;
}
bool read(const Value& value, std::int64_t& number) {
  const auto read = value.as_int();
  if (read) number = *read;
  return read.has_value();
}
bool read(const Value& value, int& number) {
  const auto read = value.as_int();
  if (!read || *read < std::numeric_limits<int>::min() || *read > std::numeric_limits<int>::max()) return false;
  number = static_cast<int>(*read);
  return true;
}
bool read(const Value& value, bool& flag) {
  if (value.as_bool() == nullptr) return false;
  flag = *value.as_bool();
  return true;
}
bool read(const Value& value, Time& time) {
  const auto read = value.as_int();
  if (read) time = Time(Millis(*read));
  return read.has_value();
}
bool read(const Value& value, Millis& duration) {
  const auto read = value.as_int();
  if (read) duration = Millis(*read);
  return read.has_value();
}
bool read(const Value& value, TaskId& id) {
  return read_by(value, id, TaskId::parse);
}
bool read(const Value& value, TaskState& state) {
  return read_by(value, state, parse_task_state);
}
bool read(const Value& value, OnParentFailure& policy) {
  return read_by(value, policy, parse_on_parent_failure);
}
bool read(const Value& value, DedupeMode& mode) {
  return read_by(value, mode, parse_dedupe_mode);
}
bool read(const Value& value, RetryPolicy& policy) {
  return read_by(value, policy, parse_retry_policy);
}
bool read(const Value& value, TaskError& error) {
  const Value::Array* items = items_of(value, 2);
  return items != nullptr && read_by((*items)[0], error.error_class, parse_error_class) &&
         read((*items)[1], error.message);
}
bool read(const Value& value, Escalation& escalation) {
  const Value::Array* items = items_of(value, 4);
  return items != nullptr && read((*items)[0], escalation.to) && read((*items)[1], escalation.by) &&
         read((*items)[2], escalation.why) && read((*items)[3], escalation.at);
}
bool read(const Value& value, Progress& progress) {
  const Value::Array* items = items_of(value, 2);
  return items != nullptr && read((*items)[0], progress.percent) && read((*items)[1], progress.message);
}
bool read(const Value& value, LostRun& lost) {
  return read_by(value, lost, parse_lost_run);
}
bool read(const Value& value, RunSettlement& settlement) {
  return read_by(value, settlement, parse_run_settlement);
}

}  // namespace drover::compact
