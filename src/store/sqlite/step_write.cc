#include "store/sqlite/step_write.h"

#include "base/check.h"
#include "embedded/sqlite.h"
#include "store/sqlite/named_sql.h"
#include "store/sqlite/record_row.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kGuard = named_sql(embedded::tasks_sql, "guard");
constexpr std::string_view kInsertTask = named_sql(embedded::tasks_sql, "insert_task");
constexpr std::string_view kUpdateTask = named_sql(embedded::tasks_sql, "update_task");
constexpr std::string_view kInsertBody = named_sql(embedded::tasks_sql, "insert_body");
constexpr std::string_view kInsertTag = named_sql(embedded::tasks_sql, "insert_tag");
constexpr std::string_view kInsertDependency = named_sql(embedded::tasks_sql, "insert_dependency");
constexpr std::string_view kResultBytes = named_sql(embedded::tasks_sql, "result_bytes");
constexpr std::string_view kPutResult = named_sql(embedded::tasks_sql, "put_result");
constexpr std::string_view kInsertRun = named_sql(embedded::tasks_sql, "insert_run");
constexpr std::string_view kEndRun = named_sql(embedded::tasks_sql, "end_run");

Given give(Transaction& transaction, const TaskRecord& next, std::int64_t revision) {
  const bool to_tail = next.place == 0 && is_claimable(next.task.state);
  return {revision, to_tail ? transaction.next_place() : next.place};
}

void add_events(Transaction& transaction, const Step& step) {
  for (const EventDraft& event : step.events) transaction.add_event(step.next.task, event.name, event.data);
}

void put_result(Transaction& transaction, std::int64_t seq, const Task& task) {
  transaction.db().run(kPutResult, seq, task.result);
}

std::int64_t result_growth(Transaction& transaction, std::int64_t seq, const Step& step) {
  if (step.result == Step::ResultWrite::kKeep) return 0;
  const std::int64_t before = transaction.db().number(kResultBytes, seq);
  return static_cast<std::int64_t>(step.next.task.result.value_or("").size()) - before;
}

void end_run(Transaction& transaction, std::int64_t seq, const Step& step) {
  if (!step.run_end) return;
  const RunEnd& end = *step.run_end;
  Statement statement = transaction.db().prepare(kEndRun);
  statement.bind(end.ended_at, end.outcome);
  bind_error(statement, end.error);
  statement.bind(end.exit_code, end.note, seq, step.next.task.run).run();
}

void start_run(Transaction& transaction, std::int64_t seq, const Task& task) {
  CHECK(task.worker_id && task.started_at);
  transaction.db().run(kInsertRun, seq, task.run, task.generation, *task.worker_id, *task.started_at);
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
  stored.owner = query.text();
  stored.held_bytes = query.integer();
  return stored;
}

std::int64_t insert_task(Transaction& transaction, const Step& step) {
  Connection& db = transaction.db();
  const Task& task = step.next.task;
  const std::int64_t seq = transaction.next_task_seq();
  const std::int64_t bytes = body_bytes(task);
  Statement insert = db.prepare(kInsertTask);
  bind_fixed(insert, seq, step.next);
  bind_moving(insert, step.next, give(transaction, step.next, 1));
  insert.bind(nullptr, nullptr, bytes, step.next.deadline_span).run();
  Statement insert_body = db.prepare(kInsertBody);
  bind_body(insert_body, seq, task);
  insert_body.run();
  for (const std::string& tag : task.tags) db.run(kInsertTag, tag, seq);
  if (step.result == Step::ResultWrite::kReplace) put_result(transaction, seq, task);
  add_events(transaction, step);
  transaction.count(task.owner, task.state, {1, bytes});
  return seq;
}

void insert_dependencies(Transaction& transaction, std::int64_t child, const std::vector<std::int64_t>& parents) {
  for (const std::int64_t parent : parents) transaction.db().run(kInsertDependency, parent, child);
}

void update_task(Transaction& transaction, const Stored& stored, const Step& step, std::optional<LeaseTimes> lease) {
  const Task& task = step.next.task;
  const bool running = task.state == TaskState::kRunning;
  CHECK(!running || !step.next.lease.is_none());
  const std::int64_t bytes = stored.held_bytes + result_growth(transaction, stored.seq, step);
  Statement update = transaction.db().prepare(kUpdateTask);
  bind_moving(update, step.next, give(transaction, step.next, stored.revision + 1));
  update.bind(bytes, running && !lease);
  if (lease) {
    update.bind(lease->until.since_origin, lease->renewed.since_origin);
  } else {
    update.bind(nullptr, nullptr);
  }
  update.bind(stored.seq).run();

  if (step.result == Step::ResultWrite::kReplace) put_result(transaction, stored.seq, task);
  end_run(transaction, stored.seq, step);
  if (lease) start_run(transaction, stored.seq, task);
  add_events(transaction, step);
  transaction.count(stored.owner, stored.state, {-1, -stored.held_bytes});
  transaction.count(stored.owner, task.state, {1, bytes});
}

}  // namespace drover::sqlite
