#include "store/sqlite/transaction.h"

#include <algorithm>

#include "embedded/sqlite.h"
#include "store/sqlite/named_sql.h"
#include "store/sqlite/schema.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kLoadSequences = named_sql(embedded::transaction_sql, "load_sequences");
constexpr std::string_view kSaveSequences = named_sql(embedded::transaction_sql, "save_sequences");
constexpr std::string_view kCount = named_sql(embedded::transaction_sql, "count");
constexpr std::string_view kChangeCounts = named_sql(embedded::transaction_sql, "change_counts");
constexpr std::string_view kInsertCounts = named_sql(embedded::transaction_sql, "insert_counts");
constexpr std::string_view kAddTasksToLane = named_sql(embedded::lanes_sql, "add_tasks");
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

CountChanges::States& CountChanges::of_kind(const Task& task) {
  const auto is_of = [&](const Kind& kind) {
    return kind.owner == task.owner && kind.queue == task.queue && kind.type == task.type;
  };
  if (last_ == nullptr || !is_of(last_->first)) last_ = &*kinds_.try_emplace({task.queue, task.type, task.owner}).first;
  return last_->second;
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

CountChanges::Change CountChanges::sum(std::span<const TaskState> states,
                                       const std::function<bool(const Kind&)>& is_meant) const {
  Change sum;
  for (const auto& [kind, changes] : kinds_) {
    if (!is_meant(kind)) continue;
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

void LaneCounts::forget(std::int64_t lane) {
  part_.erase(lane);
  if (auto kept = kept_.extract(lane)) forgotten_.insert(std::move(kept));
}

void LaneCounts::keep_part() {
  for (const auto& [lane, tasks] : part_) kept_[lane] += tasks;
  part_.clear();
  forgotten_.clear();
}

void LaneCounts::undo_part() {
  part_.clear();
  kept_.merge(forgotten_);
  forgotten_.clear();
}

void LaneCounts::write(Connection& db) {
  for (const auto& [lane, tasks] : kept_) {
    if (tasks != 0) db.run(kAddTasksToLane, lane, tasks);
  }
  kept_.clear();
}

Transaction::Transaction(Connection& db, Clock& clock, Meter& meter)
    : db_(db), clock_(clock), meter_(meter), rollback_(db), gates_(db) {
  begin();
}

void Transaction::begin() {
  db_.run("BEGIN IMMEDIATE");
  check_version(db_);
  kept_parts_ = 0;
  stored_counts_.clear();
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
  lane_counts_.write(db_);
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
  lane_counts_.keep_part();
}

void Transaction::undo_part() {
  last_ = before_part_;
  lane_counts_.undo_part();
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

void Transaction::commit_apart(const OperationFailpoints& failpoints) {
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

const Transaction::StoredCounts& Transaction::stored_counts(const std::string& scope) {
  const auto [found, is_new] = stored_counts_.try_emplace(scope);
  if (!is_new) return found->second;
  Statement query = db_.prepare(kCount);
  if (query.bind(scope).step()) {
    for (std::int64_t& count : found->second) count = query.integer();
  }
  return found->second;
}

CountChanges::Change Transaction::counted(const std::string& scope, std::span<const TaskState> states,
                                          const std::function<bool(const CountChanges::Kind&)>& is_in) {
  CountChanges::Change sum = counts_.sum(states, is_in);
  sum += part_counts_.sum(states, is_in);
  const StoredCounts& stored = stored_counts(scope);
  for (const TaskState state : states) sum.tasks += stored[static_cast<std::size_t>(state)];
  sum.bytes += stored.back();
  return sum;
}

std::int64_t Transaction::waiting() {
  return counted(kAll, kWaitingStates, [](const CountChanges::Kind&) { return true; }).tasks;
}

std::int64_t Transaction::waiting_of_owner(const std::string& owner) {
  const auto is_owners = [&](const CountChanges::Kind& kind) { return kind.owner == owner; };
  return counted(scope_of_owner(owner), kWaitingStates, is_owners).tasks;
}

std::int64_t Transaction::waiting_in_queue(const std::string& queue) {
  const auto is_of_queue = [&](const CountChanges::Kind& kind) { return kind.queue == queue; };
  return counted(scope_of_queue(queue), kWaitingStates, is_of_queue).tasks;
}

void Transaction::write_counts() {
  part_counts_.write(db_);
  part_counts_.clear();
  stored_counts_.clear();
  lane_counts_.keep_part();
  lane_counts_.write(db_);
}

void Transaction::raise_sequences() {
  last_.task = std::max(last_.task, db_.number("SELECT max(seq) FROM task"));
  last_.event = std::max(last_.event, db_.number("SELECT max(last) FROM event_page"));
  last_.place = std::max(last_.place, db_.number("SELECT max(place) FROM task"));
}

CountChanges::Change Transaction::finished() {
  return counted(kAll, kFinishedStates, [](const CountChanges::Kind&) { return true; });
}

}  // namespace drover::sqlite
