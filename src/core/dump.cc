#include "core/dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/json.h"
#include "base/text.h"
#include "core/spec_check.h"

namespace drover {
namespace {

using json::Value;
using json::Writer;

// ---- one value, both ways

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
void write(Writer& out, LogStream stream) {
  out.number(static_cast<int>(stream));
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
  if (!read || *read < 0 || *read > std::numeric_limits<int>::max()) return false;
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
  if (!read || *read < 0) return false;
  duration = Millis(*read);
  return true;
}

// By a parser that answers with the value or nothing.
template <class T, class Parser>
bool read_by(const Value& value, T& target, Parser parser) {
  const std::string* text = value.as_string();
  if (text == nullptr) return false;
  const auto parsed = parser(*text);
  if (parsed) target = *parsed;
  return static_cast<bool>(parsed);
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
bool read(const Value& value, LogStream& stream) {
  const auto number = value.as_int();
  if (!number || *number < 0 || *number >= kLogStreamCount) return false;
  stream = static_cast<LogStream>(*number);
  return true;
}

const Value::Array* pair_of(const Value& value) {
  const Value::Array* items = value.as_array();
  return items != nullptr && items->size() == 2 ? items : nullptr;
}
bool read(const Value& value, TaskError& error) {
  const Value::Array* items = pair_of(value);
  return items != nullptr && read_by((*items)[0], error.error_class, parse_error_class) &&
         read((*items)[1], error.message);
}
bool read(const Value& value, Escalation& escalation) {
  const Value::Array* items = value.as_array();
  return items != nullptr && items->size() == 4 && read((*items)[0], escalation.to) &&
         read((*items)[1], escalation.by) && read((*items)[2], escalation.why) && read((*items)[3], escalation.at);
}
bool read(const Value& value, Progress& progress) {
  const Value::Array* items = pair_of(value);
  return items != nullptr && read((*items)[0], progress.percent) && read((*items)[1], progress.message);
}

// ---- members, both ways: what is unset or empty is left out

class Putter {
 public:
  explicit Putter(Writer& out) : out_(out) {}

  template <class T>
  void operator()(std::string_view key, const T& value) {
    write(out_.key(key), value);
  }
  template <class T>
  void operator()(std::string_view key, const std::optional<T>& value) {
    if (value) write(out_.key(key), *value);
  }
  template <class T>
  void operator()(std::string_view key, const std::vector<T>& items) {
    if (items.empty()) return;
    out_.key(key).begin_array();
    for (const T& item : items) write(out_, item);
    out_.end_array();
  }

 private:
  Writer& out_;
};

class Getter {
 public:
  explicit Getter(const Value& object) : object_(object) {}

  template <class T>
  void operator()(std::string_view key, T& target) {
    const Value* value = take(key);
    if (value == nullptr) return complain(key, "is missing");
    if (!read(*value, target)) complain(key, "is not what it should be");
  }
  template <class T>
  void operator()(std::string_view key, std::optional<T>& target) {
    const Value* value = take(key);
    if (value != nullptr && !read(*value, target.emplace())) complain(key, "is not what it should be");
  }
  template <class T>
  void operator()(std::string_view key, std::vector<T>& items) {
    const Value* value = take(key);
    if (value == nullptr) return;
    const Value::Array* array = value->as_array();
    if (array == nullptr) return complain(key, "is not a list");
    for (const Value& item : *array) {
      if (!read(item, items.emplace_back())) return complain(key, "is not what it should be");
    }
  }

  void complain(std::string_view key, std::string_view what) {
    if (problem_.empty()) problem_ = fmt::format("{} {}", key, what);
  }
  [[nodiscard]] Status finish() {
    const Value::Object* members = object_.as_object();
    if (members == nullptr) return fail(ErrorCode::kInvalidArgument, "expected an object");
    if (problem_.empty() && taken_ != members->size()) problem_ = "there is a member that this version does not know";
    if (problem_.empty()) return {};
    return fail(ErrorCode::kInvalidArgument, problem_);
  }

 private:
  const Value* take(std::string_view key) {
    const Value* value = object_.find(key);
    if (value != nullptr) ++taken_;
    return value;
  }

  const Value& object_;
  std::size_t taken_ = 0;
  std::string problem_;
};

// ---- the members of each kind, once for both ways

template <class Archive, class Record>
void visit_given(Archive& archive, Record& record) {
  auto& task = record.task;
  archive("id", task.id);
  archive("type", task.type);
  archive("queue", task.queue);
  archive("owner", task.owner);
  archive("priority", task.priority);
  archive("payload", task.payload);
  archive("prompt", task.prompt);
  archive("system_prompt", task.system_prompt);
  archive("model", task.model);
  archive("agent_id", task.agent_id);
  archive("source", task.source);
  archive("traceparent", task.traceparent);
  archive("fallback_result", task.fallback_result);
  archive("tags", task.tags);
  archive("depends_on", task.depends_on);
  archive("parent_id", task.parent_id);
  archive("request_id", task.request_id);
  archive("request_hash", record.request_hash);
  archive("dedupe_key", task.dedupe_key);
  archive("dedupe", task.dedupe);
  archive("gates", task.gates);
  archive("cost", task.cost);
  archive("created_at", task.created_at);
  archive("max_attempts", task.max_attempts);
  archive("max_stalls", task.max_stalls);
  archive("max_defers", task.max_defers);
  archive("retry", task.retry);
  archive("idle_timeout_ms", task.idle_timeout);
  archive("on_parent_failure", task.on_parent_failure);
  archive("at_most_once", task.at_most_once);
  archive("depth", record.depth);
  archive("deadline_span_ms", record.deadline_span);
}

template <class Archive, class Record>
void visit_moving(Archive& archive, Record& record) {
  auto& task = record.task;
  archive("state", task.state);
  archive("place", record.place);
  archive("run_at", task.run_at);
  archive("started_at", task.started_at);
  archive("finished_at", task.finished_at);
  archive("deadline_at", task.deadline_at);
  archive("run", task.run);
  archive("attempts", task.attempts);
  archive("stalls", task.stalls);
  archive("defers", task.defers);
  archive("generation", task.generation);
  archive("timeout_ms", task.timeout);
  archive("progress", task.progress);
  archive("worker_id", task.worker_id);
  archive("cancel_requested_at", task.cancel_requested_at);
  archive("cancel_reason", task.cancel_reason);
  archive("checkpoint", task.checkpoint);
  archive("result", task.result);
  archive("fallback", task.fallback);
  archive("error", task.error);
  archive("exit_code", task.exit_code);
  archive("escalation", task.escalation);
  archive("unmet_parents", record.unmet_parents);
  archive("dependents", record.dependents);
  archive("children", record.children);
  archive("ended_by", record.ended_by);
  archive("cascade_due", record.cascade_due);
}

template <class Archive, class Run>
void visit_run(Archive& archive, Run& run) {
  archive("run", run.run);
  archive("generation", run.generation);
  archive("worker_id", run.worker_id);
  archive("started_at", run.started_at);
  archive("ended_at", run.ended_at);
  archive("outcome", run.outcome);
  archive("error", run.error);
  archive("exit_code", run.exit_code);
  archive("note", run.note);
}

template <class Archive, class Record>
void visit_log(Archive& archive, Record& record) {
  archive("seq", record.seq);
  archive("run", record.run);
  archive("at", record.at);
  archive("stream", record.stream);
  archive("text", record.text);
}

template <class Archive, class Logged>
void visit_event(Archive& archive, Logged& event, std::optional<TaskId>& task) {
  archive("seq", event.seq);
  archive("at", event.at);
  archive("name", event.name);
  archive("task", task);
  archive("data", event.data);
  if (!task) return;
  archive("type", event.type);
  archive("queue", event.queue);
  archive("owner", event.owner);
  archive("state", event.state);
  archive("run", event.run);
  archive("generation", event.generation);
}

// ---- checks: names become keys and lanes, and JSON is taken for JSON

Status check_json(std::string_view field, const std::optional<JsonText>& text) {
  if (!text || json::compact(*text) == *text) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} is not compact JSON", field));
}

Status check_record(const TaskRecord& record) {
  const Task& task = record.task;
  std::vector<std::string> names{task.type, task.queue, task.owner};
  names.insert(names.end(), task.tags.begin(), task.tags.end());
  if (task.request_id) names.push_back(*task.request_id);
  if (task.dedupe_key) names.push_back(*task.dedupe_key);
  for (const std::string& name : names) {
    if (auto valid = check_name(name); !valid) return valid;
  }
  for (const std::string& gate : task.gates) {
    if (auto valid = check_gate_name(gate); !valid) return valid;
  }
  if (auto valid = check_bounds(task.priority, kPriorityBounds); !valid) return at_field("priority", valid.error());
  if (auto valid = check_bounds(task.cost, kCostBounds); !valid) return at_field("cost", valid.error());
  for (const auto& [field, text] : {std::pair{"payload", &task.payload},
                                    {"fallback_result", &task.fallback_result},
                                    {"checkpoint", &task.checkpoint},
                                    {"result", &task.result}}) {
    if (auto valid = check_json(field, *text); !valid) return valid;
  }
  if (task.worker_id && !is_name(*task.worker_id)) return fail(ErrorCode::kInvalidArgument, "worker_id is not a name");
  const bool runs = task.state == TaskState::kRunning;
  if (runs && (!task.started_at || !task.worker_id)) {
    return fail(ErrorCode::kInvalidArgument, "a running task has a worker and a time of its start");
  }
  if (is_terminal(task.state) != task.finished_at.has_value()) {
    return fail(ErrorCode::kInvalidArgument, "a task has finished_at when it has ended, and only then");
  }
  if (task.state == TaskState::kScheduled && !task.run_at) {
    return fail(ErrorCode::kInvalidArgument, "a scheduled task has run_at");
  }
  return {};
}

template <class T, class Visit>
Status read_list(const Value& object, std::string_view key, std::vector<T>& items, Visit visit) {
  const Value* list = object.find(key);
  const Value::Array* array = list != nullptr ? list->as_array() : nullptr;
  if (array == nullptr) return fail(ErrorCode::kInvalidArgument, fmt::format("{} is not a list", key));
  for (const Value& value : *array) {
    Getter getter(value);
    visit(getter, items.emplace_back());
    if (auto status = getter.finish(); !status) return at_field(key, status.error());
  }
  return {};
}

Status read_left_out(const Value& object, std::map<int, std::int64_t>& left_out) {
  const Value* list = object.find("left_out");
  const Value::Array* array = list != nullptr ? list->as_array() : nullptr;
  if (array == nullptr) return fail(ErrorCode::kInvalidArgument, "left_out is not a list");
  for (const Value& value : *array) {
    const Value::Array* items = pair_of(value);
    int run = 0;
    std::int64_t bytes = 0;
    if (items == nullptr || !read((*items)[0], run) || !read((*items)[1], bytes)) {
      return fail(ErrorCode::kInvalidArgument, "left_out is not what it should be");
    }
    left_out[run] = bytes;
  }
  return {};
}

}  // namespace

JsonText to_dump(const DumpedTask& task) {
  Writer out;
  Putter put(out);
  out.begin_object().key("record").begin_object();
  visit_given(put, task.record);
  visit_moving(put, task.record);
  out.end_object().key("runs").begin_array();
  for (const RunSummary& run : task.runs) {
    out.begin_object();
    visit_run(put, run);
    out.end_object();
  }
  out.end_array().key("log").begin_array();
  for (const LogRecord& record : task.log) {
    out.begin_object();
    visit_log(put, record);
    out.end_object();
  }
  out.end_array().key("left_out").begin_array();
  for (const auto& [run, bytes] : task.left_out) out.begin_array().number(run).number(bytes).end_array();
  out.end_array().end_object();
  return std::move(out).take();
}

JsonText to_dump(const Event& event) {
  Writer out;
  Putter put(out);
  std::optional<TaskId> task;
  if (!event.task.is_nil()) task = event.task;
  out.begin_object();
  visit_event(put, event, task);
  out.end_object();
  return std::move(out).take();
}

Result<DumpedTask> task_from_dump(const JsonText& dumped) {
  const auto value = json::parse(dumped);
  if (!value) return std::unexpected(value.error());
  const Value* record = value->find("record");
  if (record == nullptr) return fail(ErrorCode::kInvalidArgument, "record is missing");
  DumpedTask task;
  Getter get(*record);
  visit_given(get, task.record);
  visit_moving(get, task.record);
  Status status = get.finish();
  if (status) status = check_record(task.record);
  if (status) status = read_list(*value, "runs", task.runs, [](auto& a, RunSummary& run) { visit_run(a, run); });
  if (status) status = read_list(*value, "log", task.log, [](auto& a, LogRecord& piece) { visit_log(a, piece); });
  if (status) status = read_left_out(*value, task.left_out);
  if (!status) return std::unexpected(status.error());
  return task;
}

Result<Event> event_from_dump(const JsonText& dumped) {
  const auto value = json::parse(dumped);
  if (!value) return std::unexpected(value.error());
  Event event;
  std::optional<TaskId> task;
  Getter get(*value);
  visit_event(get, event, task);
  if (auto status = get.finish(); !status) return std::unexpected(status.error());
  if (task) event.task = *task;
  if (auto status = check_json("data", event.data); !status) return std::unexpected(status.error());
  const auto is_plain = [](std::string_view text) { return text.empty() || is_name(text); };
  if (!is_name(event.name) || !is_plain(event.type) || !is_plain(event.queue) || !is_plain(event.owner)) {
    return fail(ErrorCode::kInvalidArgument, "an event's name, type, queue or owner is not a name");
  }
  return event;
}

}  // namespace drover
