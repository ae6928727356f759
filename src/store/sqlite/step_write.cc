#include "store/sqlite/step_write.h"

#include "base/check.h"
#include "embedded/sqlite.h"
#include "store/sqlite/gates.h"
#include "store/sqlite/lanes.h"
#include "store/sqlite/leases.h"
#include "store/sqlite/named_sql.h"
#include "store/sqlite/record_row.h"
#include "store/sqlite/retention.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kGuard = named_sql(embedded::tasks_sql, "guard");
constexpr std::string_view kInsertTasks = named_sql(embedded::tasks_sql, "insert_tasks");
constexpr std::string_view kUpdateTask = named_sql(embedded::tasks_sql, "update_task");
constexpr std::string_view kEndTask = named_sql(embedded::tasks_sql, "end_task");
constexpr std::string_view kStartTask = named_sql(embedded::tasks_sql, "start_task");
constexpr std::string_view kUnlist = named_sql(embedded::tasks_sql, "unlist");
constexpr std::string_view kInsertBodies = named_sql(embedded::tasks_sql, "insert_bodies");
constexpr std::string_view kPayloadBytes = named_sql(embedded::tasks_sql, "payload_bytes");
constexpr std::string_view kPutPayload = named_sql(embedded::tasks_sql, "put_payload");
constexpr std::string_view kTagsBytes = named_sql(embedded::tasks_sql, "tags_bytes");
constexpr std::string_view kPutTags = named_sql(embedded::tasks_sql, "put_tags");
constexpr std::string_view kDeleteTags = named_sql(embedded::tasks_sql, "delete_tags");
constexpr std::string_view kInsertTag = named_sql(embedded::tasks_sql, "insert_tag");
constexpr std::string_view kInsertDependency = named_sql(embedded::tasks_sql, "insert_dependency");
constexpr std::string_view kOpenDedupe = named_sql(embedded::tasks_sql, "open_dedupe");
constexpr std::string_view kCloseDedupe = named_sql(embedded::tasks_sql, "close_dedupe");
constexpr std::string_view kInsertRun = named_sql(embedded::tasks_sql, "insert_run");

std::int64_t give_place(Transaction& transaction, const TaskRecord& next) {
  const bool to_tail = next.place == 0 && is_claimable(next.task.state);
  return to_tail ? transaction.next_place() : next.place;
}

void add_events(Transaction& transaction, const Step& step) {
  for (const EventDraft& event : step.events) transaction.add_event(step.next.task, event.name, event.data);
}

std::int64_t size_of(const std::optional<JsonText>& text) {
  return text ? static_cast<std::int64_t>(text->size()) : 0;
}

bool replaces_result(const Step& step) {
  return step.result == Step::ResultWrite::kReplace;
}

// By how much more the task holds after the step.
std::int64_t growth(Connection& db, const Stored& stored, const Step& step) {
  std::int64_t bytes = 0;
  if (replaces_result(step)) bytes += size_of(step.next.task.result) - stored.result_bytes;
  if (step.payload == Step::PayloadWrite::kReplace) {
    bytes += size_of(step.next.task.payload) - db.number(kPayloadBytes, stored.seq);
  }
  if (step.tags == Step::TagsWrite::kReplace) {
    bytes += size_of(pack_names(step.next.task.tags)) - db.number(kTagsBytes, stored.seq);
  }
  return bytes;
}

void insert_tags(Connection& db, std::int64_t seq, const Task& task) {
  for (const std::string& tag : task.tags) db.run(kInsertTag, tag, seq);
}

void replace_tags(Connection& db, std::int64_t seq, const Task& task) {
  db.run(kPutTags, seq, pack_names(task.tags));
  db.run(kDeleteTags, seq);
  insert_tags(db, seq, task);
}

// Takes the task out of the lane where it waited, and puts it into the one where it waits from now on.
std::optional<std::int64_t> change_lane(Transaction& transaction, const Stored& stored, const TaskRecord& next,
                                        std::int64_t place) {
  const bool waits = is_claimable(next.task.state);
  if (stored.lane && waits && place == stored.place && next.task.priority == stored.priority) return stored.lane;
  if (stored.lane) remove_task(transaction, *stored.lane, stored.place);
  if (!waits) return std::nullopt;
  return push_task(transaction, next.task, place);
}

void keep_dedupe(Transaction& transaction, std::int64_t seq, const Task& task) {
  if (!task.dedupe_key) return;
  transaction.db().run(is_terminal(task.state) ? kCloseDedupe : kOpenDedupe, task.owner, task.type, *task.dedupe_key,
                       seq);
}

// The run that the step ends, packed; nothing if it ends none.
std::optional<JsonText> ended_run(const Stored& stored, const Step& step) {
  if (!step.run_end) return std::nullopt;
  const RunEnd& end = *step.run_end;
  return pack_run({.run = step.next.task.run,
                   .generation = step.next.task.generation,
                   .worker_id = stored.worker_id.value_or(""),
                   .started_at = stored.started_at.value_or(Time()),
                   .ended_at = end.ended_at,
                   .outcome = end.outcome,
                   .error = end.error,
                   .exit_code = end.exit_code,
                   .note = end.note});
}

bool ends_run(const Stored& stored, const Task& next) {
  return stored.state == TaskState::kRunning && next.state != TaskState::kRunning;
}

// Whether the step moves the task in no index but those of leases and of finished tasks.
bool only_completes(const Stored& stored, const TaskRecord& next) {
  return stored.state == TaskState::kRunning && next.task.state == TaskState::kCompleted && !stored.may_be_late &&
         !next.cascade_due;
}

// Whether insert_tasks writes all that there is to a new task.
bool is_as_new(const Step& step) {
  const TaskRecord& record = step.next;
  const Task& task = record.task;
  const bool has_run = task.run != 0 || task.attempts != 0 || task.stalls != 0 || task.defers != 0 ||
                       task.generation != 1 || task.started_at || task.worker_id || task.progress ||
                       !record.lease.is_none() || record.lease_beats != 0;
  const bool has_ended = task.finished_at || task.error || task.exit_code || task.fallback ||
                         task.cancel_requested_at || task.cancel_reason || task.escalation || record.ended_by ||
                         record.cascade_due || replaces_result(step);
  return !has_run && !has_ended;
}

void write_rest(Connection& db, const NewTask& row) {
  const Step& step = *row.step;
  Statement update = db.prepare(kUpdateTask);
  bind_moving(update, step.next, 1, row.held_bytes);
  bind_indexed(update, step.next, row.place, row.lane);
  update
      .bind(pack_escalation(step.next.task.escalation), nullptr, replaces_result(step), step.next.task.result, false,
            row.seq)
      .run();
}

void write_row(Transaction& transaction, const Stored& stored, const Step& step, std::int64_t held_bytes) {
  const std::int64_t revision = stored.revision + 1;
  const std::optional<JsonText> run = ended_run(stored, step);
  const Task& task = step.next.task;
  if (only_completes(stored, step.next)) {
    Statement update = transaction.db().prepare(kEndTask);
    bind_moving(update, step.next, revision, held_bytes);
    update.bind(run, replaces_result(step), task.result, stored.seq).run();
    return;
  }
  const std::int64_t place = give_place(transaction, step.next);
  const std::optional<std::int64_t> lane = change_lane(transaction, stored, step.next, place);
  Statement update = transaction.db().prepare(kUpdateTask);
  bind_moving(update, step.next, revision, held_bytes);
  bind_indexed(update, step.next, place, lane);
  update
      .bind(pack_escalation(task.escalation), run, replaces_result(step), task.result,
            task.state == TaskState::kRunning, stored.seq)
      .run();
}

}  // namespace

std::optional<Stored> find_stored(Connection& db, const TaskId& id) {
  Statement query = db.prepare(kGuard);
  if (!query.bind(id).step()) return std::nullopt;
  Stored stored;
  stored.seq = query.integer();
  stored.revision = query.integer();
  stored.lease_beats = query.integer();
  stored.state = static_cast<TaskState>(query.small());
  stored.priority = query.small();
  stored.place = query.integer();
  stored.lane = query.maybe_integer();
  stored.started_at = query.maybe_time();
  stored.worker_id = query.maybe_text();
  stored.held_bytes = query.integer();
  stored.may_be_late = query.flag();
  stored.result_bytes = query.integer();
  return stored;
}

std::int64_t NewTasks::add(const Step& step) {
  const Task& task = step.next.task;
  const std::int64_t place = give_place(transaction_, step.next);
  std::optional<std::int64_t> lane;
  if (is_claimable(task.state)) lane = push_task(transaction_, task, place);
  rows_.push_back({.step = &step,
                   .seq = transaction_.next_task_seq(),
                   .place = place,
                   .lane = lane,
                   .held_bytes = body_bytes(task)});
  const NewTask& row = rows_.back();
  insert_tags(transaction_.db(), row.seq, task);
  keep_dedupe(transaction_, row.seq, task);
  add_events(transaction_, step);
  transaction_.count(task, task.state, {1, row.held_bytes});
  return row.seq;
}

void NewTasks::write() {
  if (rows_.empty()) return;
  Connection& db = transaction_.db();
  run_over(db, kInsertTasks, rows_);
  run_over(db, kInsertBodies, rows_);
  for (const NewTask& row : rows_) {
    if (!is_as_new(*row.step)) write_rest(db, row);
  }
  rows_.clear();
}

void insert_dependencies(Transaction& transaction, std::int64_t child, const std::vector<std::int64_t>& parents) {
  for (const std::int64_t parent : parents) transaction.db().run(kInsertDependency, parent, child);
}

void update_task(Transaction& transaction, const Stored& stored, const Step& step) {
  const Task& task = step.next.task;
  CHECK(task.state != TaskState::kRunning || stored.state == TaskState::kRunning);
  if (step.run_end && step.run_end->revoked) revoke_lease(transaction, stored.seq);
  const std::int64_t bytes = stored.held_bytes + growth(transaction.db(), stored, step);
  write_row(transaction, stored, step, bytes);
  if (step.payload == Step::PayloadWrite::kReplace) transaction.db().run(kPutPayload, stored.seq, task.payload);
  if (step.tags == Step::TagsWrite::kReplace) replace_tags(transaction.db(), stored.seq, task);
  if (is_terminal(stored.state) != is_terminal(task.state)) keep_dedupe(transaction, stored.seq, task);
  if (ends_run(stored, task)) give_back_permits(transaction, task, stored.started_at.value_or(Time()));
  add_events(transaction, step);
  transaction.count(task, stored.state, {-1, -stored.held_bytes});
  transaction.count(task, task.state, {1, bytes});
}

void delete_task(Transaction& transaction, const Stored& stored, const Step& step) {
  CHECK(is_terminal(stored.state));
  delete_task_rows(transaction.db(), stored.seq);
  add_events(transaction, step);
  transaction.count(step.next.task, stored.state, {-1, -stored.held_bytes});
}

void start_task(Transaction& transaction, const Startable& startable, const Step& step, const LeaseTimes& lease) {
  Connection& db = transaction.db();
  const Task& task = step.next.task;
  const TaskState before = startable.state;
  CHECK(task.state == TaskState::kRunning && task.worker_id && task.started_at && !step.next.lease.is_none());
  db.run(kStartTask, static_cast<int>(task.state), task.started_at, task.run, task.attempts, task.worker_id,
         step.next.lease, step.next.lease_beats, step.expected_revision + 1, lease.until.since_origin,
         lease.renewed.since_origin, startable.seq);
  if (is_listed(before)) db.run(kUnlist, startable.seq);
  if (startable.last_run) {
    db.run(kInsertRun, startable.seq, unpack_run(*startable.last_run).run, *startable.last_run);
  }
  add_events(transaction, step);
  transaction.count(task, before, {-1, -startable.held_bytes});
  transaction.count(task, task.state, {1, startable.held_bytes});
}

}  // namespace drover::sqlite
