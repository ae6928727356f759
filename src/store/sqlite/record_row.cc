#include "store/sqlite/record_row.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "base/json.h"
#include "drover/task.h"

namespace drover::sqlite {
namespace {

constexpr std::size_t kRunFields = 10;

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

// Most tasks in a row have the same.
const RetryPolicy& read_retry(Statement& row) {
  thread_local std::pair<std::string, RetryPolicy> last{to_string(RetryPolicy{}), {}};
  std::string text = row.text();
  if (text == last.first) return last.second;
  Result<RetryPolicy> policy = parse_retry_policy(text);
  if (!policy) throw_unreadable("retry policy", text);
  last = {std::move(text), *std::move(policy)};
  return last.second;
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

std::optional<TaskError> read_error(Statement& row) {
  const std::optional<std::string> error_class = row.maybe_text();
  std::optional<std::string> message = row.maybe_text();
  if (!error_class) return std::nullopt;
  return TaskError{named(parse_error_class(*error_class), "error class", *error_class),
                   std::move(message).value_or("")};
}

std::optional<Escalation> read_escalation(Statement& row) {
  const std::optional<std::string> packed = row.maybe_text();
  if (!packed) return std::nullopt;
  const Result<json::Value> value = json::parse(*packed);
  const auto text = [&](std::string_view name) {
    const json::Value* member = value ? value->find(name) : nullptr;
    const std::string* found = member != nullptr ? member->as_string() : nullptr;
    if (found == nullptr) throw_unreadable("escalation", *packed);
    return *found;
  };
  const auto at = parse_time(text("at"));
  if (!at) throw_unreadable("escalation", *packed);
  return Escalation{.to = text("to"), .by = text("by"), .why = text("why"), .at = *at};
}

std::optional<LostRun> read_lost(Statement& row) {
  const std::optional<std::string> packed = row.maybe_text();
  if (!packed) return std::nullopt;
  return named(parse_lost_run(*packed), "lost run", *packed);
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
  record.deadline_span = row.maybe_millis();
  task.max_attempts = row.small();
  task.max_stalls = row.small();
  task.max_defers = row.small();
  task.idle_timeout = row.millis();
  task.dedupe_key = row.maybe_text();
  task.dedupe = read_dedupe(row);
  task.cost = row.integer();
  task.gates = split_gates(row.text());
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
  task.stalls = row.small();
  task.defers = row.small();
  task.generation = row.small();
  task.timeout = row.millis();
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
  record.unmet_parents = row.small();
  record.dependents = row.small();
  record.children = row.small();
  record.ended_by = row.maybe_task_id();
  record.cascade_due = row.maybe_time().has_value();
  record.place = row.integer();
  task.escalation = read_escalation(row);
  record.lost = read_lost(row);
}

void read_texts(Statement& row, Task& task) {
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
  task.checkpoint = row.maybe_text();
  task.result = row.maybe_text();
}

}  // namespace

TaskRecord read_head(Statement& row) {
  TaskRecord record;
  read_fixed(row, record);
  read_moving(row, record);
  return record;
}

TaskRecord read_all(Statement& row) {
  TaskRecord record = read_head(row);
  read_texts(row, record.task);
  return record;
}

void bind_moving(Statement& statement, const TaskRecord& record, std::int64_t revision, std::int64_t held_bytes) {
  const Task& task = record.task;
  statement.bind(static_cast<int>(task.state), task.priority, task.run_at, task.started_at, task.finished_at,
                 task.deadline_at, task.run, task.attempts, task.stalls, task.defers, task.generation, task.timeout);
  if (task.progress) {
    statement.bind(task.progress->percent, task.progress->message);
  } else {
    statement.bind(nullptr, nullptr);
  }
  statement.bind(task.worker_id, task.cancel_requested_at, task.cancel_reason, task.fallback);
  if (task.error) {
    statement.bind(name_of(task.error->error_class), task.error->message);
  } else {
    statement.bind(nullptr, nullptr);
  }
  statement.bind(task.exit_code, revision, record.lease, record.lease_beats, record.unmet_parents, record.dependents,
                 record.children, record.ended_by, held_bytes);
}

Indexed indexed_of(const TaskRecord& record) {
  const Task& task = record.task;
  return {.due_at = task.state == TaskState::kScheduled ? task.run_at : std::nullopt,
          .late_at = is_terminal(task.state) ? std::nullopt : task.deadline_at,
          .cascade_at = record.cascade_due ? task.finished_at : std::nullopt,
          .listed_state = is_listed(task.state) ? std::optional(static_cast<std::int64_t>(task.state)) : std::nullopt};
}

void bind_indexed(Statement& statement, const TaskRecord& record, std::int64_t place,
                  std::optional<std::int64_t> lane) {
  const Indexed indexed = indexed_of(record);
  statement.bind(place, lane, indexed.due_at, indexed.late_at, indexed.cascade_at, indexed.listed_state);
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
  std::size_t bytes = task.depends_on.size() * sizeof(TaskId::Bytes);
  for (const std::optional<std::string>* part :
       {&task.payload, &task.prompt, &task.system_prompt, &task.model, &task.agent_id, &task.source, &task.traceparent,
        &task.fallback_result, &task.checkpoint, &task.result}) {
    if (*part) bytes += (*part)->size();
  }
  if (!task.tags.empty()) bytes += pack_names(task.tags).value_or("").size();
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
