#include "core/dump.h"

#include <fmt/format.h>

#include <type_traits>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "base/try.h"
#include "core/compact_json.h"
#include "core/spec_check.h"
#include "core/task_fields.h"
#include "core/usage.h"

namespace drover {
namespace {

using json::Value;
using json::Writer;

// ---- one value, both ways

using compact::read;
using compact::write;

void write(Writer& out, LogStream stream) {
  out.number(static_cast<int>(stream));
}
bool read(const Value& value, LogStream& stream) {
  const auto number = value.as_int();
  if (!number || *number < 0 || *number >= kLogStreamCount) return false;
  stream = static_cast<LogStream>(*number);
  return true;
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

// Numbers and durations are not negative; but an exit code may be anything, and a deadline may have passed when it was
// set.
template <class T>
bool is_in_range(std::string_view key, const T& value) {
  if constexpr (std::is_same_v<T, int> || std::is_same_v<T, Millis>) {
    return value >= T{} || key == "exit_code" || key == "deadline_ms";
  } else {
    return true;
  }
}

class Getter {
 public:
  explicit Getter(const Value& object) : object_(object) {}

  template <class T>
  void operator()(std::string_view key, T& target) {
    const Value* value = take(key);
    if (value == nullptr) return complain(key, "is missing");
    if (!read(*value, target) || !is_in_range(key, target)) complain(key, "has an invalid value");
  }
  template <class T>
  void operator()(std::string_view key, std::optional<T>& target) {
    const Value* value = take(key);
    if (value == nullptr) return;
    if (!read(*value, target.emplace()) || !is_in_range(key, *target)) complain(key, "has an invalid value");
  }
  template <class T>
  void operator()(std::string_view key, std::vector<T>& items) {
    const Value* value = take(key);
    if (value == nullptr) return;
    const Value::Array* array = value->as_array();
    if (array == nullptr) return complain(key, "is not a list");
    for (const Value& item : *array) {
      if (!read(item, items.emplace_back())) return complain(key, "has an invalid value");
    }
  }

  void complain(std::string_view key, std::string_view what) {
    if (problem_.empty()) problem_ = fmt::format("{} {}", key, what);
  }
  [[nodiscard]] Status finish() {
    const Value::Object* members = object_.as_object();
    if (members == nullptr) return fail(ErrorCode::kInvalidArgument, "expected an object");
    if (problem_.empty() && taken_ != members->size()) problem_ = "it has a member that this version does not know";
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
void visit_record(Archive& archive, Record& record) {
  visit_task_fields([&](auto field) {
    if constexpr (field.kIs.dumped) archive(field.name(), field.of(record));
  });
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
  archive("usage", run.usage);
  archive("change", run.change);
  archive("evidence", run.evidence);
  archive("settled", run.settlement);
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

template <class Archive, class Entry>
void visit_ledger(Archive& archive, Entry& entry, AmountNumbers& numbers) {
  archive("day", entry.key.day);
  archive("owner", entry.key.owner);
  archive("type", entry.key.type);
  archive("runner", entry.key.runner);
  archive("model", entry.key.model);
  archive("class", entry.key.error_class);
  for (std::size_t i = 0; i < numbers.size(); ++i) archive(kAmountFields[i].name, numbers[i]);
}

// ---- checks: names become keys and lanes, and JSON is taken for JSON

Status check_json(const JsonText& text) {
  if (json::compact(text) == text) return {};
  return fail(ErrorCode::kInvalidArgument, "expected compact JSON");
}

template <class T, class Check>
Status check_each(const T& items, Check check) {
  for (const auto& item : items) {
    TRY(check(item));
  }
  return {};
}

Status check_usage_text(const JsonText& text) {
  Usage usage;
  return read_json(text, usage);
}

template <class Field, class T>
Status check_value(Field field, const T& value) {
  if constexpr (field.kIs.kind == FieldKind::kName) return check_name(value);
  if constexpr (field.template is<&Task::usage, &TaskRecord::run_usage, &TaskRecord::ended_usage>()) {
    TRY(check_usage_text(value));
  }
  if constexpr (field.kIs.kind == FieldKind::kJson) return check_json(value);
  if constexpr (field.template is<&Task::tags>()) return check_each(value, check_name);
  if constexpr (field.template is<&Task::gates>()) return check_each(value, check_gate_name);
  if constexpr (field.kIs.bounds.max > 0) return check_bounds(value, field.kIs.bounds);
  return {};
}
template <class Field, class T>
Status check_value(Field field, const std::optional<T>& value) {
  return value ? check_value(field, *value) : Status();
}

Status check_record(const TaskRecord& record) {
  Status status;
  visit_task_fields([&](auto field) {
    if (!status) return;
    status = check_value(field, field.of(record));
    if (!status) status = at_field(field.name(), status.error());
  });
  if (!status) return status;
  const Task& task = record.task;
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
    const Value::Array* items = value.as_array();
    int run = 0;
    std::int64_t bytes = 0;
    if (items == nullptr || items->size() != 2 || !read((*items)[0], run) || run < 0 || !read((*items)[1], bytes)) {
      return fail(ErrorCode::kInvalidArgument, "left_out has an invalid value");
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
  visit_record(put, task.record);
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

JsonText to_dump(const LedgerEntry& entry) {
  Writer out;
  Putter put(out);
  AmountNumbers numbers = numbers_of(entry.amounts);
  out.begin_object();
  visit_ledger(put, entry, numbers);
  out.end_object();
  return std::move(out).take();
}

Result<LedgerEntry> ledger_from_dump(const JsonText& dumped) {
  const auto value = json::parse(dumped);
  if (!value) return std::unexpected(value.error());
  LedgerEntry entry;
  AmountNumbers numbers{};
  Getter get(*value);
  visit_ledger(get, entry, numbers);
  if (auto status = get.finish(); !status) return std::unexpected(status.error());
  if (!is_day(entry.key.day)) return fail(ErrorCode::kInvalidArgument, "day is not a day");
  entry.amounts = amounts_of(numbers);
  return entry;
}

JsonText to_dump(const SpendEntry& entry) {
  Writer out;
  out.begin_object().key("gate").string(entry.gate).key("unit").string(name_of(entry.unit));
  out.key("period").string(entry.period).key("amount").number(entry.amount).end_object();
  return std::move(out).take();
}

Result<SpendEntry> spend_from_dump(const JsonText& dumped) {
  const auto value = TRY(json::parse(dumped));
  SpendEntry entry;
  std::string unit;
  Getter get(value);
  get("gate", entry.gate);
  get("unit", unit);
  get("period", entry.period);
  get("amount", entry.amount);
  TRY(get.finish());
  TRY(check_gate_name(entry.gate));
  const auto known = parse_budget_unit(unit);
  const bool is_period = !entry.period.empty() && entry.period.find_first_of("|: ") == std::string::npos;
  if (!known || !is_period || entry.amount < 0) {
    return fail(ErrorCode::kInvalidArgument, "unit, period or amount is not what it should be");
  }
  entry.unit = *known;
  return entry;
}

JsonText to_dump(const DumpedPolicy& policy) {
  Writer out;
  out.begin_object().key("version").number(policy.version.version);
  out.key("applied_at").number(policy.version.applied_at.time_since_epoch().count());
  out.key("document").string(policy.document).end_object();
  return std::move(out).take();
}

Result<DumpedPolicy> policy_from_dump(const JsonText& dumped) {
  DumpedPolicy policy;
  std::int64_t applied_at = 0;
  json::Reader in(dumped);
  in.need("version", policy.version.version).need("applied_at", applied_at).need("document", policy.document);
  TRY(in.finish_strictly());
  policy.version.applied_at = Time(Millis(applied_at));
  if (policy.version.version <= 0) return fail(ErrorCode::kInvalidArgument, "version: expected a positive number");
  if (auto status = check_json(policy.document); !status) return at_field("document", status.error());
  return policy;
}

Result<DumpedTask> task_from_dump(const JsonText& dumped) {
  const auto value = TRY(json::parse(dumped));
  const Value* record = value.find("record");
  if (record == nullptr) return fail(ErrorCode::kInvalidArgument, "record is missing");
  DumpedTask task;
  Getter get(*record);
  visit_record(get, task.record);
  Status status = get.finish();
  if (status) status = check_record(task.record);
  if (status) status = read_list(value, "runs", task.runs, [](auto& a, RunSummary& run) { visit_run(a, run); });
  for (const RunSummary& run : task.runs) {
    if (status && run.usage) status = check_usage_text(*run.usage);
  }
  if (status) status = read_list(value, "log", task.log, [](auto& a, LogRecord& piece) { visit_log(a, piece); });
  if (status) status = read_left_out(value, task.left_out);
  if (!status) return std::unexpected(status.error());
  return task;
}

Result<Event> event_from_dump(const JsonText& dumped) {
  const auto value = TRY(json::parse(dumped));
  Event event;
  std::optional<TaskId> task;
  Getter get(value);
  visit_event(get, event, task);
  TRY(get.finish());
  if (task) event.task = *task;
  if (auto status = check_json(event.data); !status) return at_field("data", status.error());
  const auto is_plain = [](std::string_view text) { return text.empty() || is_name(text); };
  if (!is_name(event.name) || !is_plain(event.type) || !is_plain(event.queue) || !is_plain(event.owner)) {
    return fail(ErrorCode::kInvalidArgument, "an event's name, type, queue or owner is not a name");
  }
  return event;
}

}  // namespace drover
