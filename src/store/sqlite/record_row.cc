#include "store/sqlite/record_row.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/json.h"
#include "core/task_fields.h"
#include "drover/task.h"
#include "store/sqlite/record_columns.h"

namespace drover::sqlite {
namespace {

constexpr std::size_t kRunFields = 14;

[[noreturn]] void throw_unreadable(std::string_view what, std::string_view value) {
  throw SqliteFailure(SQLITE_CORRUPT, "unreadable " + std::string(what) + ": " + std::string(value.substr(0, 100)));
}

// An enumeration is stored under its name.
template <class T>
T named(std::optional<T> parsed, std::string_view what, std::string_view text) {
  if (!parsed) throw_unreadable(what, text);
  return *parsed;
}

// ---- one field from its columns

void read(Statement& row, std::int64_t& out) {
  out = row.integer();
}
void read(Statement& row, int& out) {
  out = row.small();
}
void read(Statement& row, bool& out) {
  out = row.flag();
}
void read(Statement& row, std::string& out) {
  out = row.text();
}
void read(Statement& row, Time& out) {
  out = row.time();
}
void read(Statement& row, Millis& out) {
  out = row.millis();
}
void read(Statement& row, TaskId& out) {
  out = row.task_id();
}
void read(Statement& row, LeaseId& out) {
  out = row.lease_id();
}
void read(Statement& row, std::optional<int>& out) {
  out = row.maybe_small();
}
void read(Statement& row, std::optional<std::string>& out) {
  out = row.maybe_text();
}
void read(Statement& row, std::optional<Time>& out) {
  out = row.maybe_time();
}
void read(Statement& row, std::optional<Millis>& out) {
  out = row.maybe_millis();
}
void read(Statement& row, std::optional<TaskId>& out) {
  out = row.maybe_task_id();
}

void read(Statement& row, TaskState& out) {
  const std::int64_t state = row.integer();
  if (state < 0 || state >= kTaskStateCount) throw_unreadable("state", std::to_string(state));
  out = static_cast<TaskState>(state);
}

// Most tasks in a row have the same.
void read(Statement& row, RetryPolicy& out) {
  thread_local std::pair<std::string, RetryPolicy> last{to_string(RetryPolicy{}), {}};
  std::string text = row.text();
  if (text != last.first) {
    Result<RetryPolicy> policy = parse_retry_policy(text);
    if (!policy) throw_unreadable("retry policy", text);
    last = {std::move(text), *std::move(policy)};
  }
  out = last.second;
}

void read(Statement& row, OnParentFailure& out) {
  const std::string text = row.text();
  out = named(parse_on_parent_failure(text), "on_parent_failure", text);
}

void read(Statement& row, std::optional<DedupeMode>& out) {
  const std::optional<std::string> text = row.maybe_text();
  if (text) out = named(parse_dedupe_mode(*text), "dedupe mode", *text);
}

void read(Statement& row, std::optional<Progress>& out) {
  const std::optional<int> percent = row.maybe_small();
  std::optional<std::string> message = row.maybe_text();
  if (percent) out = Progress{*percent, std::move(message).value_or("")};
}

void read(Statement& row, std::optional<TaskError>& out) {
  const std::optional<std::string> error_class = row.maybe_text();
  std::optional<std::string> message = row.maybe_text();
  if (!error_class) return;
  out = TaskError{named(parse_error_class(*error_class), "error class", *error_class), std::move(message).value_or("")};
}

void read(Statement& row, std::optional<Escalation>& out) {
  const std::optional<std::string> packed = row.maybe_text();
  if (!packed) return;
  const Result<json::Value> value = json::parse(*packed);
  const auto text = [&](std::string_view name) {
    const json::Value* member = value ? value->find(name) : nullptr;
    const std::string* found = member != nullptr ? member->as_string() : nullptr;
    if (found == nullptr) throw_unreadable("escalation", *packed);
    return *found;
  };
  const auto at = parse_time(text("at"));
  if (!at) throw_unreadable("escalation", *packed);
  out = Escalation{.to = text("to"), .by = text("by"), .why = text("why"), .at = *at};
}

void read(Statement& row, std::optional<LostRun>& out) {
  const std::optional<std::string> packed = row.maybe_text();
  if (packed) out = named(parse_lost_run(*packed), "lost run", *packed);
}

void read(Statement& row, std::vector<std::string>& tags) {
  tags = unpack_names(row.maybe_text().value_or(""));
}

void read(Statement& row, std::vector<TaskId>& out) {
  out = unpack_ids(row.maybe_text().value_or(""));
}

template <class IsWanted>
void read_fields(Statement& row, TaskRecord& record, IsWanted /*is_wanted*/) {
  visit_task_fields([&](auto field) {
    if constexpr (!IsWanted{}(field)) {
      return;
    } else if constexpr (field.template is<&Task::gates>()) {
      field.of(record) = split_gates(row.text());
    } else {
      read(row, field.of(record));
    }
  });
}

}  // namespace

TaskRecord read_head(Statement& row) {
  TaskRecord record;
  static_cast<void>(row.integer());  // seq
  read_fields(row, record, kIsHead);
  return record;
}

TaskRecord read_all(Statement& row) {
  TaskRecord record = read_head(row);
  read_fields(row, record, kIsLarge);
  return record;
}

Indexed indexed_of(const TaskRecord& record) {
  const Task& task = record.task;
  return {.due_at = task.state == TaskState::kScheduled ? task.run_at : std::nullopt,
          .late_at = is_terminal(task.state) ? std::nullopt : task.deadline_at,
          .cascade_at = record.cascade_due ? task.finished_at : std::nullopt,
          .listed_state = is_listed(task.state) ? std::optional(static_cast<std::int64_t>(task.state)) : std::nullopt};
}

// Most tasks in a row have the same policy.
const std::string& text_of(const RetryPolicy& policy) {
  thread_local std::pair<RetryPolicy, std::string> last{{}, to_string(RetryPolicy{})};
  if (policy != last.first) last = {policy, to_string(policy)};
  return last.second;
}

bool is_listed(TaskState state) {
  return state != TaskState::kPending && state != TaskState::kRunning && state != TaskState::kCompleted;
}

std::int64_t body_bytes(const Task& task) {
  std::size_t bytes = 0;
  const auto add = [&](const auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, std::vector<TaskId>>) {
      bytes += value.size() * sizeof(TaskId::Bytes);
    } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
      if (!value.empty()) bytes += pack_names(value).value_or("").size();
    } else if (value) {
      bytes += value->size();
    }
  };
  visit_task_fields([&](auto field) {
    if constexpr (field.kIs.is_large()) add(field.of(task));
  });
  return static_cast<std::int64_t>(bytes);
}

std::optional<JsonText> pack_escalation(const std::optional<Escalation>& escalation) {
  if (!escalation) return std::nullopt;
  json::Writer out;
  out.begin_object().key("to").string(escalation->to).key("by").string(escalation->by);
  out.key("why").string(escalation->why).key("at").string(format_time(escalation->at)).end_object();
  return std::move(out).take();
}

JsonText pack_run(const RunSummary& run) {
  json::Writer out;
  const auto text = [&](const std::optional<std::string_view>& value) { value ? out.string(*value) : out.null(); };
  out.begin_array().number(run.run).number(run.generation).string(run.worker_id);
  out.number(run.started_at.time_since_epoch().count());
  run.ended_at ? out.number(run.ended_at->time_since_epoch().count()) : out.null();
  out.string(run.outcome);
  text(run.error ? std::optional(name_of(run.error->error_class)) : std::nullopt);
  text(run.error ? std::optional<std::string_view>(run.error->message) : std::nullopt);
  run.exit_code ? out.number(*run.exit_code) : out.null();
  text(run.note);
  text(run.usage);
  text(run.change);
  text(run.evidence);
  run.settlement ? out.string(to_text(*run.settlement)) : out.null();
  out.end_array();
  return std::move(out).take();
}

RunSummary unpack_run(const JsonText& packed) {
  const Result<json::Value> value = json::parse(packed);
  const json::Value::Array* items = value ? value->as_array() : nullptr;
  if (items == nullptr || items->size() != kRunFields) throw_unreadable("run", packed);
  const auto number = [&](std::size_t at) { return (*items)[at].as_int(); };
  const auto text = [&](std::size_t at) {
    const std::string* found = (*items)[at].as_string();
    return found != nullptr ? std::optional(*found) : std::nullopt;
  };
  RunSummary run;
  run.run = static_cast<int>(number(0).value_or(0));
  run.generation = static_cast<int>(number(1).value_or(0));
  run.worker_id = text(2).value_or("");
  run.started_at = Time(Millis(number(3).value_or(0)));
  if (const auto ended_at = number(4)) run.ended_at = Time(Millis(*ended_at));
  run.outcome = text(5).value_or("");
  if (const auto error_class = text(6)) {
    run.error = TaskError{named(parse_error_class(*error_class), "error class", *error_class), text(7).value_or("")};
  }
  if (const auto exit_code = number(8)) run.exit_code = static_cast<int>(*exit_code);
  run.note = text(9);
  run.usage = text(10);
  run.change = text(11);
  run.evidence = text(12);
  if (const auto settlement = text(13)) {
    run.settlement = named(parse_run_settlement(*settlement), "settlement of a run", *settlement);
  }
  return run;
}

std::string join_gates(std::span<const std::string> gates) {
  return fmt::to_string(fmt::join(gates, ","));
}

std::vector<std::string> split_gates(std::string_view joined) {
  std::vector<std::string> gates;
  while (!joined.empty()) {
    const std::size_t comma = std::min(joined.find(','), joined.size());
    gates.emplace_back(joined.substr(0, comma));
    joined.remove_prefix(std::min(comma + 1, joined.size()));
  }
  return gates;
}

std::optional<std::string> pack_ids(std::span<const TaskId> ids) {
  if (ids.empty()) return std::nullopt;
  std::string packed;
  for (const TaskId& id : ids) packed.append(reinterpret_cast<const char*>(id.bytes().data()), id.bytes().size());
  return packed;
}

std::vector<TaskId> unpack_ids(std::string_view packed) {
  TaskId::Bytes bytes{};
  if (packed.size() % bytes.size() != 0) throw_unreadable("depends_on", std::to_string(packed.size()) + " bytes");
  std::vector<TaskId> ids;
  for (; !packed.empty(); packed.remove_prefix(bytes.size())) {
    std::memcpy(bytes.data(), packed.data(), bytes.size());
    ids.emplace_back(bytes);
  }
  return ids;
}

std::optional<std::string> pack_names(std::span<const std::string> names) {
  if (names.empty()) return std::nullopt;
  json::Writer writer;
  writer.begin_array();
  for (const std::string& name : names) writer.string(name);
  writer.end_array();
  return std::move(writer).take();
}

std::vector<std::string> unpack_names(std::string_view packed) {
  if (packed.empty()) return {};
  const Result<json::Value> value = json::parse(packed);
  const json::Value::Array* items = value ? value->as_array() : nullptr;
  if (items == nullptr) throw_unreadable("list of names", packed);
  std::vector<std::string> names;
  for (const json::Value& item : *items) {
    const std::string* name = item.as_string();
    if (name == nullptr) throw_unreadable("list of names", packed);
    names.push_back(*name);
  }
  return names;
}

}  // namespace drover::sqlite
