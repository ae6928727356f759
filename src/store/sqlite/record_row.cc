#include "store/sqlite/record_row.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "base/json.h"
#include "drover/task.h"

namespace drover::sqlite {
namespace {

[[noreturn]] void throw_unreadable(std::string_view what, std::string_view value) {
  throw SqliteFailure(SQLITE_CORRUPT, "unreadable " + std::string(what) + ": " + std::string(value.substr(0, 100)));
}

// An enumeration is stored under its name.
template <class T>
T named(std::optional<T> parsed, std::string_view what, std::string_view text) {
  if (!parsed) throw_unreadable(what, text);
  return *parsed;
}

TaskState read_state(Statement& row) {
  const std::int64_t state = row.integer();
  if (state < 0 || state >= kTaskStateCount) throw_unreadable("state", std::to_string(state));
  return static_cast<TaskState>(state);
}

RetryPolicy read_retry(Statement& row) {
  const std::string text = row.text();
  Result<RetryPolicy> policy = parse_retry_policy(text);
  if (!policy) throw_unreadable("retry policy", text);
  return *std::move(policy);
}

OnParentFailure read_on_parent_failure(Statement& row) {
  const std::string text = row.text();
  return named(parse_on_parent_failure(text), "on_parent_failure", text);
}

std::optional<DedupeMode> read_dedupe(Statement& row) {
  const std::optional<std::string> text = row.maybe_text();
  if (!text) return std::nullopt;
  return named(parse_dedupe_mode(*text), "dedupe mode", *text);
}

std::optional<Progress> read_progress(Statement& row) {
  const std::optional<int> percent = row.maybe_small();
  std::optional<std::string> message = row.maybe_text();
  if (!percent) return std::nullopt;
  return Progress{*percent, std::move(message).value_or("")};
}

void read_fixed(Statement& row, TaskRecord& record) {
  Task& task = record.task;
  static_cast<void>(row.integer());  // seq
  task.id = row.task_id();
  task.type = row.text();
  task.queue = row.text();
  task.owner = row.text();
  task.parent_id = row.maybe_task_id();
  task.request_id = row.maybe_text();
  record.request_hash = row.text();
  task.created_at = row.time();
  task.retry = read_retry(row);
  task.on_parent_failure = read_on_parent_failure(row);
  task.at_most_once = row.flag();
  record.depth = row.small();
}

void read_moving(Statement& row, TaskRecord& record) {
  Task& task = record.task;
  task.state = read_state(row);
  task.priority = row.small();
  task.run_at = row.maybe_time();
  task.started_at = row.maybe_time();
  task.finished_at = row.maybe_time();
  task.deadline_at = row.maybe_time();
  task.run = row.small();
  task.attempts = row.small();
  task.max_attempts = row.small();
  task.stalls = row.small();
  task.max_stalls = row.small();
  task.defers = row.small();
  task.max_defers = row.small();
  task.generation = row.small();
  task.timeout = row.millis();
  task.idle_timeout = row.millis();
  task.progress = read_progress(row);
  task.worker_id = row.maybe_text();
  task.cancel_requested_at = row.maybe_time();
  task.cancel_reason = row.maybe_text();
  task.fallback = row.flag();
  task.error = read_error(row);
  task.exit_code = row.maybe_small();
  record.revision = row.integer();
  record.lease = row.lease_id();
  record.lease_beats = row.integer();
  record.place = row.integer();
  record.unmet_parents = row.small();
  record.dependents = row.small();
  record.children = row.small();
  record.ended_by = row.maybe_task_id();
  record.cascade_due = row.flag();
}

void skip_own(Statement& row) {
  static_cast<void>(row.maybe_integer());  // lease_until_mono
  static_cast<void>(row.maybe_integer());  // lease_renewed_mono
  static_cast<void>(row.integer());        // held_bytes
}

void read_later(Statement& row, TaskRecord& record) {
  record.deadline_span = row.maybe_millis();
  record.task.dedupe_key = row.maybe_text();
  record.task.dedupe = read_dedupe(row);
  record.task.cost = row.integer();
  record.task.gates = split_gates(row.text());
  static_cast<void>(row.maybe_integer());  // lane
}

void read_body(Statement& row, Task& task) {
  static_cast<void>(row.maybe_integer());  // seq
  task.payload = row.maybe_text();
  task.prompt = row.maybe_text();
  task.system_prompt = row.maybe_text();
  task.model = row.maybe_text();
  task.agent_id = row.maybe_text();
  task.source = row.maybe_text();
  task.traceparent = row.maybe_text();
  task.fallback_result = row.maybe_text();
  task.tags = unpack_names(row.maybe_text().value_or(""));
  task.depends_on = unpack_ids(row.maybe_text().value_or(""));
}

void read_output(Statement& row, Task& task) {
  static_cast<void>(row.maybe_integer());  // seq
  task.checkpoint = row.maybe_text();
  task.result = row.maybe_text();
}

}  // namespace

TaskRecord read_head(Statement& row) {
  TaskRecord record;
  read_fixed(row, record);
  read_moving(row, record);
  skip_own(row);
  read_later(row, record);
  return record;
}

TaskRecord read_all(Statement& row) {
  TaskRecord record = read_head(row);
  read_body(row, record.task);
  read_output(row, record.task);
  return record;
}

void bind_fixed(Statement& statement, std::int64_t seq, const TaskRecord& record) {
  const Task& task = record.task;
  statement.bind(seq, task.id, task.type, task.queue, task.owner, task.parent_id, task.request_id, record.request_hash,
                 task.created_at, to_string(task.retry), name_of(task.on_parent_failure), task.at_most_once,
                 record.depth);
}

void bind_moving(Statement& statement, const TaskRecord& record, const Given& given) {
  const Task& task = record.task;
  statement.bind(static_cast<int>(task.state), task.priority, task.run_at, task.started_at, task.finished_at,
                 task.deadline_at, task.run, task.attempts, task.max_attempts, task.stalls, task.max_stalls,
                 task.defers, task.max_defers, task.generation, task.timeout, task.idle_timeout);
  if (task.progress) {
    statement.bind(task.progress->percent, task.progress->message);
  } else {
    statement.bind(nullptr, nullptr);
  }
  statement.bind(task.worker_id, task.cancel_requested_at, task.cancel_reason, task.fallback);
  bind_error(statement, task.error);
  statement.bind(task.exit_code, given.revision, record.lease, record.lease_beats, given.place, record.unmet_parents,
                 record.dependents, record.children, record.ended_by, record.cascade_due);
}

void bind_later(Statement& statement, const TaskRecord& record, std::optional<std::int64_t> lane) {
  const Task& task = record.task;
  const auto dedupe = task.dedupe ? std::optional(name_of(*task.dedupe)) : std::nullopt;
  statement.bind(record.deadline_span, task.dedupe_key, dedupe, task.cost, join_gates(task.gates), lane);
}

void bind_body(Statement& statement, std::int64_t seq, const Task& task) {
  statement.bind(seq, task.payload, task.prompt, task.system_prompt, task.model, task.agent_id, task.source,
                 task.traceparent, task.fallback_result, pack_names(task.tags));
  const std::optional<std::string> ids = pack_ids(task.depends_on);
  if (ids) {
    statement.bind(std::span(reinterpret_cast<const std::uint8_t*>(ids->data()), ids->size()));
  } else {
    statement.bind(nullptr);
  }
}

std::int64_t body_bytes(const Task& task) {
  std::size_t bytes = task.depends_on.size() * sizeof(TaskId::Bytes);
  for (const std::optional<std::string>* part :
       {&task.payload, &task.prompt, &task.system_prompt, &task.model, &task.agent_id, &task.source, &task.traceparent,
        &task.fallback_result, &task.checkpoint, &task.result}) {
    if (*part) bytes += (*part)->size();
  }
  bytes += pack_names(task.tags).value_or("").size();
  return static_cast<std::int64_t>(bytes);
}

std::optional<TaskError> read_error(Statement& row) {
  const std::optional<std::string> error_class = row.maybe_text();
  std::optional<std::string> message = row.maybe_text();
  if (!error_class) return std::nullopt;
  return TaskError{named(parse_error_class(*error_class), "error class", *error_class),
                   std::move(message).value_or("")};
}

void bind_error(Statement& statement, const std::optional<TaskError>& error) {
  if (error) {
    statement.bind(name_of(error->error_class), error->message);
  } else {
    statement.bind(nullptr, nullptr);
  }
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
