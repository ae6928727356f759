#include "store/sqlite/restore.h"

#include <vector>

#include "embedded/sqlite.h"
#include "store/log_piece.h"
#include "store/sqlite/named_sql.h"
#include "store/sqlite/questions.h"
#include "store/sqlite/record_row.h"
#include "store/sqlite/step_write.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kSeqOf = named_sql(embedded::tasks_sql, "seq_of");
constexpr std::string_view kInsertRun = named_sql(embedded::tasks_sql, "insert_run");
constexpr std::string_view kInsertPiece = named_sql(embedded::task_log_sql, "insert_piece");
constexpr std::string_view kPutTotal = named_sql(embedded::task_log_sql, "put_total");
constexpr std::string_view kPutLastRun = named_sql(embedded::restore_sql, "put_last_run");
constexpr std::string_view kInsertCheckpoint = named_sql(embedded::restore_sql, "insert_checkpoint");
constexpr std::string_view kBeginEvents = named_sql(embedded::restore_sql, "begin_events");
constexpr std::string_view kInsertEvents = named_sql(embedded::restore_sql, "insert_events");

// Parents that retention took are no rows any more.
std::vector<std::int64_t> parents_of(Connection& db, const Task& task) {
  std::vector<std::int64_t> parents;
  for (const TaskId& id : task.depends_on) {
    Statement query = db.prepare(kSeqOf);
    if (query.bind(id).step()) parents.push_back(query.integer());
  }
  return parents;
}

// The last one stands in the task's row, unless another run has begun.
void put_runs(Connection& db, std::int64_t seq, const DumpedTask& task) {
  const bool is_running = task.record.task.state == TaskState::kRunning;
  for (std::size_t i = 0; i < task.runs.size(); ++i) {
    const RunSummary& run = task.runs[i];
    if (i + 1 == task.runs.size() && !is_running) {
      db.run(kPutLastRun, seq, pack_run(run));
    } else {
      db.run(kInsertRun, seq, run.run, pack_run(run));
    }
  }
}

void put_log(Connection& db, std::int64_t seq, const DumpedTask& task) {
  for (const LogRecord& piece : task.log) {
    db.run(kInsertPiece, seq, piece.seq, piece.run, piece.at, static_cast<int>(piece.stream), piece.text);
  }
  for (const auto& [run, total] : log_totals(task)) {
    db.run(kPutTotal, seq, run, total.last_number, total.tail_number, total.head_bytes, total.tail_bytes,
           total.left_out_bytes);
  }
}

}  // namespace

void restore_tasks(Transaction& transaction, std::span<const DumpedTask> tasks) {
  Connection& db = transaction.db();
  std::vector<Step> steps;
  steps.reserve(tasks.size());
  NewTasks rows(transaction);
  std::vector<std::int64_t> seqs;
  for (const DumpedTask& task : tasks) {
    steps.push_back({.next = task.record,
                     .result = Step::ResultWrite::kReplace,
                     .answer_waits = waits_for_answer(task.record.task) ? 1 : 0});
    seqs.push_back(rows.add(steps.back()));
  }
  rows.write();
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const Task& task = tasks[i].record.task;
    insert_dependencies(transaction, seqs[i], parents_of(db, task));
    if (task.checkpoint) db.run(kInsertCheckpoint, seqs[i], *task.checkpoint);
    put_runs(db, seqs[i], tasks[i]);
    put_log(db, seqs[i], tasks[i]);
    restore_questions(db, tasks[i].questions);
  }
  transaction.raise_sequences();
}

void restore_events(Transaction& transaction, std::span<const Event> events) {
  if (!events.empty()) transaction.db().run(kBeginEvents, events.front().seq);
  EventPage page;
  std::int64_t first = 0;
  std::int64_t last = 0;
  const auto flush = [&] {
    if (page.count() > 0) transaction.db().run(kInsertEvents, last, first, page.lines());
    page.clear();
  };
  for (const Event& event : events) {
    if (page.count() == kEventsPerPage || event.seq != last + 1) flush();
    if (page.count() == 0) first = event.seq;
    page.add(event);
    last = event.seq;
  }
  flush();
  transaction.raise_sequences();
}

}  // namespace drover::sqlite
