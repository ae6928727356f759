#include "store/sqlite/step_write.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"
#include "core/task_fields.h"
#include "embedded/sqlite.h"
#include "store/sqlite/gates.h"
#include "store/sqlite/lanes.h"
#include "store/sqlite/leases.h"
#include "store/sqlite/named_sql.h"
#include "store/sqlite/questions.h"
#include "store/sqlite/record_columns.h"
#include "store/sqlite/record_row.h"
#include "store/sqlite/retention.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kGuard = named_sql(embedded::tasks_sql, "guard");
constexpr std::string_view kCompleteTask = named_sql(embedded::tasks_sql, "complete_task");
constexpr std::string_view kStartTask = named_sql(embedded::tasks_sql, "start_task");
constexpr std::string_view kUnlist = named_sql(embedded::tasks_sql, "unlist");
constexpr std::string_view kPayloadBytes = named_sql(embedded::tasks_sql, "payload_bytes");
constexpr std::string_view kPutPayload = named_sql(embedded::tasks_sql, "put_payload");
constexpr std::string_view kTagsBytes = named_sql(embedded::tasks_sql, "tags_bytes");
constexpr std::string_view kPutTags = named_sql(embedded::tasks_sql, "put_tags");
constexpr std::string_view kDeleteTags = named_sql(embedded::tasks_sql, "delete_tags");
constexpr std::string_view kInsertTag = named_sql(embedded::tasks_sql, "insert_tag");
constexpr std::string_view kInsertDependency = named_sql(embedded::tasks_sql, "insert_dependency");
constexpr std::string_view kParentsBytes = named_sql(embedded::tasks_sql, "parents_bytes");
constexpr std::string_view kPutParents = named_sql(embedded::tasks_sql, "put_parents");
constexpr std::string_view kDeleteDependencies = named_sql(embedded::tasks_sql, "delete_dependencies");
constexpr std::string_view kInsertDependencyOn = named_sql(embedded::tasks_sql, "insert_dependency_on");
constexpr std::string_view kOpenDedupe = named_sql(embedded::tasks_sql, "open_dedupe");
constexpr std::string_view kCloseDedupe = named_sql(embedded::tasks_sql, "close_dedupe");
constexpr std::string_view kInsertRun = named_sql(embedded::tasks_sql, "insert_run");

// Statements that name all columns.
struct WholeRows {
  std::string insert_tasks = with_columns(named_sql(embedded::tasks_sql, "insert_tasks"));
  std::string insert_bodies = with_columns(named_sql(embedded::tasks_sql, "insert_bodies"));
  std::string insert_like_tasks = with_columns(named_sql(embedded::tasks_sql, "insert_like_tasks"));
  std::string insert_like_bodies = with_columns(named_sql(embedded::tasks_sql, "insert_like_bodies"));
  std::string update_task = with_columns(named_sql(embedded::tasks_sql, "update_task"));
  std::string end_task = with_columns(named_sql(embedded::tasks_sql, "end_task"));
};
const WholeRows& whole_rows() {
  static const WholeRows kStatements;
  return kStatements;
}

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
  if (step.parents == Step::ParentsWrite::kReplace) {
    bytes += static_cast<std::int64_t>(step.next.task.depends_on.size() * sizeof(TaskId::Bytes)) -
             db.number(kParentsBytes, stored.seq);
  }
  return bytes;
}

void replace_parents(Connection& db, std::int64_t seq, const Task& task) {
  db.run(kPutParents, seq, pack_ids(task.depends_on));
  db.run(kDeleteDependencies, seq);
  for (const TaskId& parent : task.depends_on) db.run(kInsertDependencyOn, parent, seq);
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
std::optional<JsonText> ended_run(std::optional<Time> started_at, const Step& step) {
  if (!step.run_end) return std::nullopt;
  const RunEnd& end = *step.run_end;
  return pack_run({.run = step.next.task.run,
                   .generation = step.next.task.generation,
                   .worker_id = end.worker_id,
                   .started_at = started_at.value_or(Time()),
                   .ended_at = end.ended_at,
                   .outcome = end.outcome,
                   .error = end.error,
                   .exit_code = end.exit_code,
                   .note = end.note,
                   .usage = end.usage,
                   .change = end.change,
                   .evidence = end.evidence,
                   .settlement = end.settlement});
}

bool ends_run(const Stored& stored, const Task& next) {
  return stored.state == TaskState::kRunning && next.state != TaskState::kRunning;
}

// Whether the step moves the task in no index but those of leases and of finished tasks.
bool only_completes(const Stored& stored, const TaskRecord& next) {
  return stored.state == TaskState::kRunning && next.task.state == TaskState::kCompleted && !stored.may_be_late &&
         !next.cascade_due;
}

// Whether complete_task writes all that there is to a step: the end of the first run, of a record that a claim handed
// out.
bool is_first_completion(const Step& step) {
  const TaskRecord& next = step.next;
  const Task& task = next.task;
  const bool only_ends = step.guard == Step::Guard::kRevision && !step.writes_body() && step.fate == Step::Fate::kStays;
  return next.kept.seq != 0 && step.ledger.empty() && !step.spend && task.state == TaskState::kCompleted &&
         task.run == 1 && step.run_end && !step.run_end->revoked && replaces_result(step) && only_ends &&
         is_bare_beside(next, [](auto field) {
           return is_left_at_end(field) || field.template is<&Task::state, &Task::finished_at, &Task::exit_code,
                                                             &Task::result, &TaskRecord::revision>();
         });
}

// Whether two new tasks have these columns in common, but for what each has for itself.
template <class IsColumn>
bool is_like(const TaskRecord& a, const TaskRecord& b, IsColumn /*is_column*/) {
  const auto is_same = [&](auto field) {
    if constexpr (IsColumn{}(field) && !kIsOwn(field)) {
      return field.of(a) == field.of(b);
    } else {
      return true;
    }
  };
  return std::apply([&](auto... field) { return (is_same(field) && ...); }, kTaskFields);
}

// Whether insert_like_tasks writes all that there is to a row of task: it is in no index but that of its lane.
bool is_like_task(const TaskRecord& record, const TaskRecord& like) {
  return is_like(record, like, kIsMoving) && indexed_of(record) == Indexed{} && !record.task.result;
}

// Whether insert_like_bodies writes all that there is to a row of body: its payload is all of it that may be large.
bool is_like_body(const TaskRecord& record, const TaskRecord& like) {
  return is_like(record, like, kIsGiven) && is_bare_beside(record, [](auto field) {
           return field.kIs.kept != FieldKept::kBody || field.template is<&Task::payload>();
         });
}

template <class IsColumn>
void insert_alike(Connection& db, const std::string& sql, std::span<const NewTask> rows, IsColumn /*is_column*/) {
  Statement statement = db.prepare(sql);
  bind_rows(statement, rows);
  bind_columns(statement, rows.front().step->next, [](auto field) { return IsColumn{}(field) && kIsBoundOnce(field); });
  statement.run();
}

// What moves of a row and is not set as a step says it; the order is that of the statements.
void bind_followed(Statement& update, const Step& step, std::int64_t revision, std::int64_t held_bytes) {
  const TaskRecord& next = step.next;
  std::apply([&](const auto&... column) { update.bind(column...); }, columns_of(next.task.progress));
  update.bind(next.lease_beats, revision, held_bytes);
}

void write_row(Transaction& transaction, const Stored& stored, const Step& step, std::int64_t held_bytes) {
  const std::int64_t revision = stored.revision + 1;
  const std::optional<JsonText> run = ended_run(stored.started_at, step);
  const Task& task = step.next.task;
  if (only_completes(stored, step.next)) {
    Statement update = transaction.db().prepare(whole_rows().end_task);
    bind_columns(update, step.next, kIsSet);
    bind_followed(update, step, revision, held_bytes);
    update.bind(run, replaces_result(step), task.result, stored.seq).run();
    return;
  }
  const std::int64_t place = give_place(transaction, step.next);
  const std::optional<std::int64_t> lane = change_lane(transaction, stored, step.next, place);
  const Indexed indexed = indexed_of(step.next);
  Statement update = transaction.db().prepare(whole_rows().update_task);
  bind_columns(update, step.next, kIsSet);
  update.bind(task.state == TaskState::kRunning);
  bind_followed(update, step, revision, held_bytes);
  update
      .bind(place, lane, indexed.due_at, indexed.late_at, indexed.cascade_at, indexed.listed_state, run,
            replaces_result(step), task.result, stored.seq)
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
  stored.held_bytes = query.integer();
  stored.may_be_late = query.flag();
  stored.result_bytes = query.integer();
  return stored;
}

NewTasks::Kind& NewTasks::kind_of(const Task& task) {
  const auto common = [](const Task& one) { return std::tie(one.type, one.queue, one.priority, one.cost, one.gates); };
  const auto [found, is_new] = kinds_.try_emplace(task.owner);
  Kind& kind = found->second;
  if (is_new || common(*kind.like) != common(task)) kind = {&task, std::nullopt, &transaction_.counts_of(task)};
  return kind;
}

std::int64_t NewTasks::add(const Step& step) {
  const Task& task = step.next.task;
  Kind& kind = kind_of(task);
  const std::int64_t place = give_place(transaction_, step.next);
  std::optional<std::int64_t> lane;
  if (is_claimable(task.state)) {
    // Behind one of its kind that was given its place here, too, it only makes the lane longer.
    const bool is_at_tail = step.next.place == 0;
    if (kind.lane && is_at_tail) {
      transaction_.lane_counts().add(*kind.lane, 1);
    } else {
      kind.lane = push_task(transaction_, task, place);
    }
    lane = kind.lane;
  }
  rows_.push_back({.step = &step,
                   .seq = transaction_.next_task_seq(),
                   .place = place,
                   .lane = lane,
                   .held_bytes = body_bytes(task)});
  const NewTask& row = rows_.back();
  // Here, where the step is at hand: a second look at a thousand of them finds none in the processor's cache.
  const TaskRecord& first = rows_.front().step->next;
  are_like_tasks_ = are_like_tasks_ && is_like_task(step.next, first);
  are_like_bodies_ = are_like_bodies_ && is_like_body(step.next, first);
  insert_tags(transaction_.db(), row.seq, task);
  keep_dedupe(transaction_, row.seq, task);
  add_events(transaction_, step);
  change_answer_waits(transaction_.db(), task.owner, step.answer_waits);
  (*kind.counts)[static_cast<std::size_t>(task.state)] += {1, row.held_bytes};
  return row.seq;
}

void NewTasks::write() {
  if (rows_.empty()) return;
  Connection& db = transaction_.db();
  if (are_like_tasks_) {
    insert_alike(db, whole_rows().insert_like_tasks, rows_, kIsMoving);
  } else {
    run_over(db, whole_rows().insert_tasks, rows_);
  }
  if (are_like_bodies_) {
    insert_alike(db, whole_rows().insert_like_bodies, rows_, kIsGiven);
  } else {
    run_over(db, whole_rows().insert_bodies, rows_);
  }
  rows_.clear();
  kinds_.clear();
  are_like_tasks_ = true;
  are_like_bodies_ = true;
}

void insert_dependencies(Transaction& transaction, std::int64_t child, const std::vector<std::int64_t>& parents) {
  for (const std::int64_t parent : parents) transaction.db().run(kInsertDependency, parent, child);
}

bool complete_as_claimed(Transaction& transaction, const Step& step) {
  if (!is_first_completion(step)) return false;
  const Task& task = step.next.task;
  const KeptAs& kept = step.next.kept;
  Connection& db = transaction.db();
  const std::int64_t bytes = kept.bytes + size_of(task.result);
  db.run(kCompleteTask, task.finished_at, task.exit_code, step.expected_revision + 1, bytes,
         ended_run(task.started_at, step), task.result, kept.seq, task.id, step.expected_revision, kept.bytes);
  if (db.changes() == 0) return false;
  give_back_permits(transaction, task, task.started_at.value_or(Time()), std::nullopt);
  add_events(transaction, step);
  transaction.count(task, TaskState::kRunning, {-1, -kept.bytes});
  transaction.count(task, task.state, {1, bytes});
  return true;
}

void update_task(Transaction& transaction, const Stored& stored, const Step& step) {
  const Task& task = step.next.task;
  CHECK(task.state != TaskState::kRunning || stored.state == TaskState::kRunning);
  if (step.run_end && step.run_end->revoked) revoke_lease(transaction, stored.seq);
  const std::int64_t bytes = stored.held_bytes + growth(transaction.db(), stored, step);
  write_row(transaction, stored, step, bytes);
  if (step.payload == Step::PayloadWrite::kReplace) transaction.db().run(kPutPayload, stored.seq, task.payload);
  if (step.tags == Step::TagsWrite::kReplace) replace_tags(transaction.db(), stored.seq, task);
  if (step.parents == Step::ParentsWrite::kReplace) replace_parents(transaction.db(), stored.seq, task);
  if (is_terminal(stored.state) != is_terminal(task.state)) keep_dedupe(transaction, stored.seq, task);
  if (ends_run(stored, task)) {
    give_back_permits(transaction, task, stored.started_at.value_or(Time()), step.spend);
  } else if (step.spend && stored.state == TaskState::kRunning) {
    book_spend(transaction, task, *step.spend);
  }
  add_events(transaction, step);
  transaction.count(task, stored.state, {-1, -stored.held_bytes});
  transaction.count(task, task.state, {1, bytes});
  change_answer_waits(transaction.db(), task.owner, step.answer_waits);
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
