#include "store/sqlite/step_write.h"

#include "base/check.h"
#include "embedded/sqlite.h"
#include "store/sqlite/gates.h"
#include "store/sqlite/lanes.h"
#include "store/sqlite/named_sql.h"
#include "store/sqlite/record_row.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kGuard = named_sql(embedded::tasks_sql, "guard");
constexpr std::string_view kInsertTask = named_sql(embedded::tasks_sql, "insert_task");
constexpr std::string_view kUpdateTask = named_sql(embedded::tasks_sql, "update_task");
constexpr std::string_view kInsertBody = named_sql(embedded::tasks_sql, "insert_body");
constexpr std::string_view kPayloadBytes = named_sql(embedded::tasks_sql, "payload_bytes");
constexpr std::string_view kPutPayload = named_sql(embedded::tasks_sql, "put_payload");
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

std::int64_t size_of(const std::optional<JsonText>& text) {
  return text ? static_cast<std::int64_t>(text->size()) : 0;
}

// By how much more the task holds after the step.
std::int64_t growth(Connection& db, std::int64_t seq, const Step& step) {
  std::int64_t bytes = 0;
  if (step.result == Step::ResultWrite::kReplace)
    bytes += size_of(step.next.task.result) - db.number(kResultBytes, seq);
  if (step.payload == Step::PayloadWrite::kReplace) {
    bytes += size_of(step.next.task.payload) - db.number(kPayloadBytes, seq);
  }
  return bytes;
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

// Takes the task out of the lane where it waited, and puts it into the one where it waits from now on.
std::optional<std::int64_t> change_lane(Transaction& transaction, const Stored& stored, const TaskRecord& next,
                                        std::int64_t place) {
  const bool waits = is_claimable(next.task.state);
  if (stored.lane && waits && place == stored.place && next.task.priority == stored.priority) return stored.lane;
  if (stored.lane) remove_task(transaction, *stored.lane, stored.place);
  if (!waits) return std::nullopt;
  return push_task(transaction, next.task, place);
}

bool ends_run(const Stored& stored, const Task& next) {
  return stored.state == TaskState::kRunning && next.state != TaskState::kRunning;
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
  return stored;
}

std::int64_t insert_task(Transaction& transaction, const Step& step) {
  Connection& db = transaction.db();
  const Task& task = step.next.task;
  const std::int64_t seq = transaction.next_task_seq();
  const std::int64_t bytes = body_bytes(task);
  const Given given = give(transaction, step.next, 1);
  std::optional<std::int64_t> lane;
  if (is_claimable(task.state)) lane = push_task(transaction, task, given.place);
  Statement insert = db.prepare(kInsertTask);
  bind_fixed(insert, seq, step.next);
  bind_moving(insert, step.next, given);
  insert.bind(nullptr, nullptr, bytes);
  bind_later(insert, step.next, lane);
  insert.run();
  Statement insert_body = db.prepare(kInsertBody);
  bind_body(insert_body, seq, task);
  insert_body.run();
  for (const std::string& tag : task.tags) db.run(kInsertTag, tag, seq);
  if (step.result == Step::ResultWrite::kReplace) put_result(transaction, seq, task);
  add_events(transaction, step);
  transaction.count(task, task.state, {1, bytes});
  return seq;
}

void insert_dependencies(Transaction& transaction, std::int64_t child, const std::vector<std::int64_t>& parents) {
  for (const std::int64_t parent : parents) transaction.db().run(kInsertDependency, parent, child);
}

void update_task(Transaction& transaction, const Stored& stored, const Step& step, std::optional<LeaseTimes> lease) {
  const Task& task = step.next.task;
  const bool running = task.state == TaskState::kRunning;
  CHECK(!running || !step.next.lease.is_none());
  const std::int64_t bytes = stored.held_bytes + growth(transaction.db(), stored.seq, step);
  const Given given = give(transaction, step.next, stored.revision + 1);
  const std::optional<std::int64_t> lane = change_lane(transaction, stored, step.next, given.place);
  Statement update = transaction.db().prepare(kUpdateTask);
  bind_moving(update, step.next, given);
  update.bind(bytes, running && !lease);
  if (lease) {
    update.bind(lease->until.since_origin, lease->renewed.since_origin);
  } else {
    update.bind(nullptr, nullptr);
  }
  update.bind(stored.seq, lane).run();

  if (step.result == Step::ResultWrite::kReplace) put_result(transaction, stored.seq, task);
  if (step.payload == Step::PayloadWrite::kReplace) transaction.db().run(kPutPayload, stored.seq, task.payload);
  if (ends_run(stored, task)) give_back_permits(transaction, task, stored.started_at.value_or(Time()));
  end_run(transaction, stored.seq, step);
  if (lease) start_run(transaction, stored.seq, task);
  add_events(transaction, step);
  transaction.count(task, stored.state, {-1, -stored.held_bytes});
  transaction.count(task, task.state, {1, bytes});
}

}  // namespace drover::sqlite
