#include "store/sqlite/transaction.h"

#include <algorithm>

#include "base/failpoint.h"
#include "embedded/sqlite.h"
#include "store/sqlite/named_sql.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kLoadSequences = named_sql(embedded::transaction_sql, "load_sequences");
constexpr std::string_view kSaveSequences = named_sql(embedded::transaction_sql, "save_sequences");
constexpr std::string_view kCount = named_sql(embedded::transaction_sql, "count");
constexpr std::string_view kChangeCounts = named_sql(embedded::transaction_sql, "change_counts");
constexpr std::string_view kInsertCounts = named_sql(embedded::transaction_sql, "insert_counts");
constexpr std::string_view kInsertEvents = named_sql(embedded::transaction_sql, "insert_events");

constexpr std::array kWaitingStates{TaskState::kBlocked, TaskState::kScheduled, TaskState::kPending,
                                    TaskState::kStalled};
constexpr std::array kFinishedStates{TaskState::kCompleted, TaskState::kFailed, TaskState::kCancelled};

constexpr const char* kAll = "all";

std::string scope_of_owner(const std::string& owner) {
  return "owner:" + owner;
}

std::string scope_of_queue(const std::string& queue) {
  return "queue:" + queue;
}

}  // namespace

std::array<std::string, 5> CountChanges::scopes_of(const Kind& kind) {
  return {kAll, scope_of_owner(kind.owner), scope_of_queue(kind.queue), "line:" + kind.queue + "|" + kind.type,
          "own:" + kind.owner + "|" + kind.queue};
}

void CountChanges::add(const Task& task, TaskState state, Change change) {
  const auto is_of = [&](const Kind& kind) {
    return kind.owner == task.owner && kind.queue == task.queue && kind.type == task.type;
  };
  if (last_ == nullptr || !is_of(last_->first)) last_ = &*kinds_.try_emplace({task.queue, task.type, task.owner}).first;
  last_->second[static_cast<std::size_t>(state)] += change;
}

void CountChanges::add(const CountChanges& other) {
  for (const auto& [kind, states] : other.kinds_) {
    States& sums = kinds_[kind];
    for (std::size_t state = 0; state < states.size(); ++state) sums[state] += states[state];
  }
}

void CountChanges::clear() {
  kinds_.clear();
  last_ = nullptr;
}

CountChanges::Change CountChanges::sum(const std::string& scope, std::span<const TaskState> states) const {
  Change sum;
  for (const auto& [kind, changes] : kinds_) {
    if (std::ranges::count(scopes_of(kind), scope) == 0) continue;
    for (const TaskState state : states) sum += changes[static_cast<std::size_t>(state)];
  }
  return sum;
}

void CountChanges::write(Connection& db) const {
  std::map<std::string, States> scopes;
  for (const auto& [kind, changes] : kinds_) {
    for (const std::string& scope : scopes_of(kind)) {
      for (std::size_t state = 0; state < changes.size(); ++state) scopes[scope][state] += changes[state];
    }
  }
  for (const auto& [scope, changes] : scopes) {
    if (changes == States{}) continue;
    std::int64_t finished_bytes = 0;
    for (const TaskState state : kFinishedStates) finished_bytes += changes[static_cast<std::size_t>(state)].bytes;
    std::apply(
        [&](const auto&... change) {
          db.update_or_insert(kChangeCounts, kInsertCounts, scope, change.tasks..., finished_bytes);
        },
        changes);
  }
}

Transaction::Transaction(Connection& db, Clock& clock, Meter& meter)
    : db_(db), clock_(clock), meter_(meter), rollback_(db), gates_(db) {
  begin();
}

void Transaction::begin() {
  db_.run("BEGIN IMMEDIATE");
  kept_parts_ = 0;
  Statement query = db_.prepare(kLoadSequences);
  if (!query.step()) throw SqliteFailure(SQLITE_CORRUPT, "table sequence is empty");
  stored_.task = query.integer();
  stored_.event = query.integer();
  stored_.place = query.integer();
  stored_.turn = query.integer();
  stored_.gate = query.integer();
  epoch_ = query.integer();
  last_ = stored_;
  changes_at_begin_ = sqlite3_total_changes(db_.handle());
}

bool Transaction::wrote() const {
  return sqlite3_total_changes(db_.handle()) != changes_at_begin_;
}

void Transaction::commit() {
  counts_.write(db_);
  if (last_ != stored_) {
    db_.run(kSaveSequences, last_.task, last_.event, last_.place, last_.turn, last_.gate);
  }
  db_.run("COMMIT");
}

// The first part is undone by beginning anew, which spares SQLite from keeping every page as it was before it.
void Transaction::begin_part() {
  if (kept_parts_ > 0) db_.run("SAVEPOINT part");
  before_part_ = last_;
  part_counts_.clear();
  now_ = clock_.wall();
  mono_ = clock_.mono();
}

void Transaction::keep_part() {
  write_events();
  gates_.flush();
  if (kept_parts_++ > 0) db_.run("RELEASE part");
  counts_.add(part_counts_);
  part_counts_.clear();
}

void Transaction::undo_part() {
  last_ = before_part_;
  part_counts_.clear();
  part_events_.clear();
  gates_.clear();
  lanes_.clear();
  if (kept_parts_ > 0) {
    db_.run("ROLLBACK TO part");
    db_.run("RELEASE part");
  } else {
    db_.run("ROLLBACK");
    begin();
  }
}

void Transaction::commit_apart(const FailpointNames& failpoints) {
  keep_part();
  failpoint(failpoints.before_commit);
  commit();
  counts_.clear();
  failpoint(failpoints.after_commit);
  begin();
  begin_part();
}

void Transaction::add_event(const Task& task, std::string_view name, const JsonText& data) {
  ++last_.event;
  part_events_.add(now_, name, task, data);
  if (part_events_.count() == kEventsPerPage) write_events();
}

void Transaction::write_events() {
  if (part_events_.count() == 0) return;
  db_.run(kInsertEvents, last_.event, last_.event - part_events_.count() + 1, part_events_.lines());
  part_events_.clear();
}

CountChanges::Change Transaction::counted(const std::string& scope, std::span<const TaskState> states) {
  const CountChanges::Change committed = counts_.sum(scope, states);
  const CountChanges::Change part = part_counts_.sum(scope, states);
  CountChanges::Change sum{committed.tasks + part.tasks, committed.bytes + part.bytes};
  Statement query = db_.prepare(kCount);
  if (!query.bind(scope).step()) return sum;
  for (int state = 0; state < kTaskStateCount; ++state) {
    const std::int64_t tasks = query.integer();
    if (std::ranges::count(states, static_cast<TaskState>(state)) > 0) sum.tasks += tasks;
  }
  sum.bytes += query.integer();
  return sum;
}

std::int64_t Transaction::waiting() {
  return counted(kAll, kWaitingStates).tasks;
}

std::int64_t Transaction::waiting_of_owner(const std::string& owner) {
  return counted(scope_of_owner(owner), kWaitingStates).tasks;
}

std::int64_t Transaction::waiting_in_queue(const std::string& queue) {
  return counted(scope_of_queue(queue), kWaitingStates).tasks;
}

void Transaction::write_counts() {
  part_counts_.write(db_);
  part_counts_.clear();
}

void Transaction::raise_sequences() {
  last_.task = std::max(last_.task, db_.number("SELECT max(seq) FROM task"));
  last_.event = std::max(last_.event, db_.number("SELECT max(last) FROM event_page"));
  last_.place = std::max(last_.place, db_.number("SELECT max(place) FROM task"));
}

CountChanges::Change Transaction::finished() {
  return counted(kAll, kFinishedStates);
}

}  // namespace drover::sqlite
