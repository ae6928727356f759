#include "store/sqlite/reads.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"
#include "base/log.h"
#include "base/try.h"
#include "core/lane.h"
#include "core/task_filter.h"
#include "embedded/sqlite.h"
#include "store/page_cursor.h"
#include "store/sqlite/event_page.h"
#include "store/sqlite/failure.h"
#include "store/sqlite/named_sql.h"
#include "store/sqlite/record_row.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kSeqOfId = named_sql(embedded::tasks_sql, "seq_of");
constexpr std::string_view kReadHead = named_sql(embedded::tasks_sql, "read_head");
constexpr std::string_view kReadHeadBySeq = named_sql(embedded::tasks_sql, "read_head_by_seq");
constexpr std::string_view kReadRecord = named_sql(embedded::tasks_sql, "read_record");
constexpr std::string_view kReadRecordBySeq = named_sql(embedded::tasks_sql, "read_record_by_seq");
constexpr std::string_view kReadDependents = named_sql(embedded::reads_sql, "dependents");
constexpr std::string_view kReadChildren = named_sql(embedded::reads_sql, "children");
constexpr std::string_view kRequest = named_sql(embedded::reads_sql, "request");
constexpr std::string_view kLatestRuns = named_sql(embedded::reads_sql, "latest_runs");
constexpr std::string_view kEarlierRuns = named_sql(embedded::reads_sql, "earlier_runs");
constexpr std::string_view kEventPages = named_sql(embedded::reads_sql, "event_pages");
constexpr std::string_view kLastEventSeq = named_sql(embedded::reads_sql, "last_event_seq");
constexpr std::string_view kLastTaskSeq = named_sql(embedded::reads_sql, "last_task_seq");
constexpr std::string_view kList = named_sql(embedded::reads_sql, "list");
constexpr std::string_view kListByState = named_sql(embedded::reads_sql, "list_by_state");
constexpr std::string_view kListPending = named_sql(embedded::reads_sql, "list_pending");
constexpr std::string_view kListRunning = named_sql(embedded::reads_sql, "list_running");
constexpr std::string_view kListCompleted = named_sql(embedded::reads_sql, "list_completed");
constexpr std::string_view kCount = named_sql(embedded::transaction_sql, "count");
constexpr std::string_view kListByTag = named_sql(embedded::reads_sql, "list_by_tag");
constexpr std::string_view kListById = named_sql(embedded::reads_sql, "list_by_id");
constexpr std::string_view kListByParent = named_sql(embedded::reads_sql, "list_by_parent");
constexpr std::string_view kLabels = named_sql(embedded::reads_sql, "labels");
constexpr std::string_view kTags = named_sql(embedded::reads_sql, "tags");
constexpr std::string_view kBacklog = named_sql(embedded::reads_sql, "backlog");
constexpr std::string_view kQueues = named_sql(embedded::reads_sql, "queues");
constexpr std::string_view kQueuesOf = named_sql(embedded::reads_sql, "queues_of");
constexpr std::string_view kLanes = named_sql(embedded::reads_sql, "lanes");
constexpr std::string_view kFirstInLine = named_sql(embedded::reads_sql, "first_in_line");
constexpr std::string_view kLanePosition = named_sql(embedded::reads_sql, "lane_position");
constexpr std::string_view kAhead = named_sql(embedded::lanes_sql, "ahead");
constexpr std::string_view kNewestWithKey = named_sql(embedded::reads_sql, "newest_with_key");
constexpr std::string_view kUnfinishedWithKey = named_sql(embedded::reads_sql, "unfinished_with_key");

constexpr std::int64_t kPageBytesMax = 16 << 20;
constexpr int kUnfinishedMax = 16;
constexpr std::int64_t kSortMax = 10'000;
constexpr int kSiftSlice = 500;  // tasks looked at at once, of which only some are wanted
constexpr std::string_view kQueueScope = "queue:";

std::int64_t state_bits(const std::vector<TaskState>& states) {
  if (states.empty()) return (1 << kTaskStateCount) - 1;
  std::int64_t bits = 0;
  for (const TaskState state : states) bits |= std::int64_t{1} << static_cast<int>(state);
  return bits;
}

// ",a,b,": what the statements look a name up in.
std::optional<std::string> joined(const AnyOf& names) {
  if (!names) return std::nullopt;
  return fmt::format(",{},", fmt::join(names.names(), ","));
}

void bind_filter(Statement& query, const TaskFilter& filter, std::int64_t from, int limit) {
  query.bind(from, limit, joined(filter.type), joined(filter.queue), joined(filter.owner), state_bits(filter.states));
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// A statement of a list, and the same from the other end. Statements are known by where their text is.
class ListSql {
 public:
  explicit ListSql(std::string_view newest_first)
      : newest_first_(newest_first),
        oldest_first_(replaced(replaced(std::string(newest_first), "seq < ?1", "seq > ?1"), " DESC ", " ASC ")) {}

  [[nodiscard]] std::string_view in(TaskOrder order) const {
    return order == TaskOrder::kNewestFirst ? newest_first_ : std::string_view(oldest_first_);
  }

 private:
  std::string_view newest_first_;
  std::string oldest_first_;
};

struct ListStatements {
  ListSql all{kList};
  ListSql by_state{kListByState};
  ListSql pending{kListPending};
  ListSql running{kListRunning};
  ListSql completed{kListCompleted};
  ListSql by_tag{kListByTag};
  ListSql by_id{kListById};
  ListSql by_parent{kListByParent};
};

const ListStatements& list_statements() {
  static const ListStatements kStatements;
  return kStatements;
}

void read_seqs(Statement& query, std::vector<std::int64_t>& seqs) {
  while (query.step()) seqs.push_back(query.integer());
}

// Tasks of some states are found by an index and put in order, while that is less work than to go through all.
bool is_quick_to_sort(Connection& db, TaskState state) {
  if (is_listed(state)) return true;
  Statement query = db.prepare(kCount);
  if (!query.bind("all").step()) return true;
  for (int other = 0; other < static_cast<int>(state); ++other) static_cast<void>(query.integer());
  return query.integer() <= kSortMax;
}

const ListSql& list_of_state(TaskState state) {
  const ListStatements& statements = list_statements();
  switch (state) {
    case TaskState::kPending:
      return statements.pending;
    case TaskState::kRunning:
      return statements.running;
    case TaskState::kCompleted:
      return statements.completed;
    case TaskState::kBlocked:
    case TaskState::kScheduled:
    case TaskState::kStalled:
    case TaskState::kFailed:
    case TaskState::kCancelled:
      return statements.by_state;
  }
  CHECK(false);
}

// Those of several statements, each in the filter's order, as one page.
void put_in_order(std::vector<std::int64_t>& seqs, TaskOrder order, int limit) {
  if (order == TaskOrder::kNewestFirst) {
    std::ranges::sort(seqs, std::greater());
  } else {
    std::ranges::sort(seqs);
  }
  const auto twice = std::ranges::unique(seqs);
  seqs.erase(twice.begin(), twice.end());
  if (seqs.size() > static_cast<std::size_t>(limit)) seqs.resize(static_cast<std::size_t>(limit));
}

bool goes_by_state(Connection& db, const std::set<TaskState>& states) {
  return !states.empty() && std::ranges::all_of(states, [&](TaskState state) { return is_quick_to_sort(db, state); });
}

// The seqs of the page, by the index that narrows the search most.
std::vector<std::int64_t> list_seqs(Connection& db, const TaskFilter& filter, std::int64_t from, int limit) {
  std::vector<std::int64_t> seqs;
  const ListStatements& statements = list_statements();
  // The values that are bound behind those of every list.
  const auto read = [&](const ListSql& sql, const auto&... values) {
    Statement query = db.prepare(sql.in(filter.order));
    bind_filter(query, filter, from, limit);
    query.bind(values...);
    read_seqs(query, seqs);
  };
  const std::set<TaskState> states(filter.states.begin(), filter.states.end());
  if (filter.id_prefix) {
    const IdRange ids = ids_with_prefix(*filter.id_prefix);
    read(statements.by_id, ids.first, ids.last, joined(filter.tag), filter.parent_id);
  } else if (filter.parent_id) {
    read(statements.by_parent, *filter.parent_id, joined(filter.tag));
  } else if (filter.tag) {
    for (const std::string& tag : filter.tag.names()) read(statements.by_tag, tag);
    put_in_order(seqs, filter.order, limit);
  } else if (goes_by_state(db, states)) {
    for (const TaskState state : states) {
      is_listed(state) ? read(list_of_state(state), static_cast<int>(state)) : read(list_of_state(state));
    }
    put_in_order(seqs, filter.order, limit);
  } else {
    read(statements.all);
  }
  return seqs;
}

void log_unreadable(const SqliteFailure& failure) {
  log_error("store", "a task's record is unreadable and is left out", {{"why", failure.what()}});
}

}  // namespace

std::optional<TaskRecord> read_or_log(Statement& row) {
  try {
    return read_all(row);
  } catch (const SqliteFailure& failure) {
    log_unreadable(failure);
    return std::nullopt;
  }
}

std::optional<TaskRecord> read_record(Connection& db, std::int64_t seq) {
  Statement query = db.prepare(kReadRecordBySeq);
  if (!query.bind(seq).step()) return std::nullopt;
  return read_or_log(query);
}

namespace {

std::optional<TaskRecord> read_head_at(Connection& db, std::int64_t seq) {
  Statement query = db.prepare(kReadHeadBySeq);
  query.bind(seq);
  std::vector<TaskRecord> found = read_heads(query);
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

// What an excerpt can be taken from: the column that has a text.
enum class ExcerptOf : std::uint8_t { kNothing, kPrompt, kPayload };

// The head with model, agent_id and tags.
std::optional<TaskRecord> read_labelled(Connection& db, std::int64_t seq, ExcerptOf& excerpt) {
  std::optional<TaskRecord> record = read_head_at(db, seq);
  Statement labels = db.prepare(kLabels);
  if (!record || !labels.bind(seq).step()) return std::nullopt;
  Task& task = record->task;
  task.model = labels.maybe_text();
  task.agent_id = labels.maybe_text();
  const bool has_prompt = labels.text() != "null";
  const bool has_payload = labels.text() != "null";
  excerpt = has_prompt ? ExcerptOf::kPrompt : has_payload ? ExcerptOf::kPayload : ExcerptOf::kNothing;
  Statement tags = db.prepare(kTags);
  tags.bind(seq);
  while (tags.step()) task.tags.push_back(tags.text());
  return record;
}

// Of a text that may be large only the beginning is read: a statement would read all of it.
std::optional<TaskRecord> read_summary(Connection& db, std::int64_t seq) {
  ExcerptOf excerpt = ExcerptOf::kNothing;
  std::optional<TaskRecord> record = read_labelled(db, seq, excerpt);
  if (!record || excerpt == ExcerptOf::kNothing) return record;
  const bool of_prompt = excerpt == ExcerptOf::kPrompt;
  (of_prompt ? record->task.prompt : record->task.payload) =
      db.beginning_of("body", of_prompt ? "prompt" : "payload", seq, kExcerptBytes);
  return record;
}

std::optional<TaskRecord> read_at(Connection& db, std::int64_t seq, Parts parts) {
  switch (parts) {
    case Parts::kHead:
      return read_head_at(db, seq);
    case Parts::kSummary:
      return read_summary(db, seq);
    case Parts::kAll:
      return read_record(db, seq);
  }
  CHECK(false);
}

bool is_taken(TaskSieve& sieve, Connection& db, std::int64_t seq) {
  ExcerptOf unused{};
  const std::optional<TaskRecord> record =
      sieve.parts() == Parts::kSummary ? read_labelled(db, seq, unused) : read_at(db, seq, sieve.parts());
  return record && sieve.takes(record->task);
}

}  // namespace

std::optional<TaskRecord> read_task(Connection& db, const TaskId& id, Parts parts) {
  if (parts == Parts::kSummary) {
    const std::int64_t seq = db.number(kSeqOfId, id);
    return seq > 0 ? read_summary(db, seq) : std::nullopt;
  }
  Statement query = db.prepare(parts == Parts::kAll ? kReadRecord : kReadHead);
  if (!query.bind(id).step()) return std::nullopt;
  return parts == Parts::kAll ? read_all(query) : read_head(query);
}

std::optional<TaskId> find_request(Connection& db, const std::string& owner, const std::string& request_id) {
  Statement query = db.prepare(kRequest);
  if (!query.bind(owner, request_id).step()) return std::nullopt;
  return query.task_id();
}

std::optional<TaskId> newest_with_key(Connection& db, const std::string& owner, const std::string& type,
                                      const std::string& key) {
  Statement query = db.prepare(kNewestWithKey);
  if (!query.bind(owner, type, key).step()) return std::nullopt;
  static_cast<void>(query.integer());
  return query.task_id();
}

DedupeMatches find_dedupe(Connection& db, const std::string& owner, const std::string& type, const std::string& key) {
  DedupeMatches matches;
  if (const std::int64_t newest = db.number(kNewestWithKey, owner, type, key)) matches.newest = read_record(db, newest);
  std::vector<std::int64_t> seqs;
  {
    Statement query = db.prepare(kUnfinishedWithKey);
    query.bind(owner, type, key, kUnfinishedMax);
    read_seqs(query, seqs);
  }
  matches.unfinished = read_records(db, seqs);
  return matches;
}

std::vector<TaskRecord> read_heads(Statement& query) {
  std::vector<TaskRecord> records;
  while (query.step()) {
    try {
      records.push_back(read_head(query));
    } catch (const SqliteFailure& failure) {
      log_unreadable(failure);
    }
  }
  return records;
}

std::vector<TaskRecord> read_records(Connection& db, std::span<const std::int64_t> seqs) {
  std::vector<TaskRecord> records;
  for (const std::int64_t seq : seqs) {
    if (std::optional<TaskRecord> record = read_record(db, seq)) records.push_back(*std::move(record));
  }
  return records;
}

std::vector<TaskRecord> read_dependents(Connection& db, const TaskId& parent) {
  Statement query = db.prepare(kReadDependents);
  query.bind(parent);
  return read_heads(query);
}

std::vector<TaskRecord> read_children(Connection& db, const TaskId& spawner) {
  Statement query = db.prepare(kReadChildren);
  query.bind(spawner);
  return read_heads(query);
}

std::vector<RunSummary> read_runs(Connection& db, const TaskId& id, int limit) {
  std::vector<RunSummary> runs;
  std::int64_t seq = 0;
  {
    Statement query = db.prepare(kLatestRuns);
    if (!query.bind(id).step()) return runs;
    seq = query.integer();
    const bool is_running = static_cast<TaskState>(query.small()) == TaskState::kRunning;
    RunSummary current;
    current.run = query.small();
    current.generation = query.small();
    current.worker_id = query.text();
    current.started_at = query.time();
    current.usage = query.maybe_text();
    current.change = query.maybe_text();
    if (is_running) runs.push_back(std::move(current));
    if (const std::optional<JsonText> last = query.maybe_text()) runs.push_back(unpack_run(*last));
  }
  Statement query = db.prepare(kEarlierRuns);
  query.bind(seq, limit);
  while (query.step()) runs.push_back(unpack_run(query.text()));
  if (std::cmp_greater(runs.size(), limit)) runs.resize(static_cast<std::size_t>(limit));
  return runs;
}

std::vector<Event> read_events(Connection& db, std::int64_t after, int limit) {
  Statement query = db.prepare(kEventPages);
  query.bind(after);
  std::vector<Event> events;
  while (std::cmp_less(events.size(), limit) && query.step()) {
    const std::int64_t first = query.integer();
    for (Event& event : unpack_events(query.text(), first)) {
      if (event.seq > after && std::cmp_less(events.size(), limit)) events.push_back(std::move(event));
    }
  }
  return events;
}

std::int64_t last_event_seq(Connection& db) {
  return db.number(kLastEventSeq);
}

std::int64_t last_task_seq(Connection& db) {
  return db.number(kLastTaskSeq);
}

Backlog read_backlog(Connection& db, std::span<const Serve> serves) {
  Backlog sum;
  for (std::size_t i = 0; i < serves.size(); ++i) {
    const Serve& serve = serves[i];
    // What another serve covers is counted there.
    const bool covered = std::ranges::any_of(serves, [&](const Serve& other) {
      return other.queue == serve.queue && (other.type == serve.type ? &other < &serve : !other.type);
    });
    if (covered) continue;
    Statement query = db.prepare(kBacklog);
    query.bind(serve.type ? "line:" + serve.queue + "|" + *serve.type : std::string(kQueueScope) + serve.queue);
    if (!query.step()) continue;
    sum.waiting += query.integer();
    sum.running += query.integer();
    sum.blocked += query.integer();
  }
  return sum;
}

std::optional<LanePosition> read_lane_position(Connection& db, const TaskId& id) {
  Statement query = db.prepare(kLanePosition);
  if (!query.bind(id).step()) return std::nullopt;
  const std::int64_t lane = query.integer();
  LanePosition position{.parked_at = query.maybe_text()};
  position.ahead = db.number(kAhead, lane, query.integer(), kAheadMax);
  return position;
}

namespace {

std::map<std::string, FirstInLine> first_in_line(Connection& db) {
  Statement query = db.prepare(kFirstInLine);
  std::map<std::string, FirstInLine> first;
  while (query.step()) {
    FirstInLine& task = first[query.text()];
    task.id = query.task_id();
    task.since = query.time();
  }
  return first;
}

}  // namespace

std::vector<WaitingLane> read_lanes(Connection& db, int limit) {
  Statement query = db.prepare(kLanes);
  query.bind(limit);
  std::vector<WaitingLane> lanes;
  while (query.step()) {
    const std::string name = query.text();
    auto like = task_like(name);
    if (!like) throw SqliteFailure(SQLITE_CORRUPT, fmt::format("{} names no lane", name));
    WaitingLane& lane = lanes.emplace_back(*std::move(like), query.integer());
    lane.first.id = query.task_id();
    lane.first.since = query.time();
  }
  return lanes;
}

std::vector<QueueCounts> read_queues(Connection& db) {
  const std::map<std::string, FirstInLine> first = first_in_line(db);
  Statement query = db.prepare(kQueues);
  std::vector<QueueCounts> queues;
  while (query.step()) {
    QueueCounts& queue = queues.emplace_back();
    const std::string scope = query.text();
    queue.name = scope.substr(kQueueScope.size());
    if (const auto found = first.find(scope); found != first.end()) queue.first = found->second;
    for (std::int64_t& tasks : queue.tasks) tasks = query.integer();
  }
  return queues;
}

std::vector<QueueCounts> read_queues_of(Connection& db, const std::string& owner) {
  const std::string scope = "own:" + owner;
  Statement query = db.prepare(kQueuesOf);
  query.bind(scope + "|", scope + "}");  // the next letter after the bar
  std::vector<QueueCounts> queues;
  while (query.step()) {
    QueueCounts& queue = queues.emplace_back();
    queue.name = query.text().substr(scope.size() + 1);
    for (std::int64_t& tasks : queue.tasks) tasks = query.integer();
  }
  return queues;
}

Result<RecordPage> list_tasks(Connection& db, const TaskFilter& filter, int limit,
                              const std::optional<std::string>& cursor, Parts parts) {
  if (limit <= 0) return fail(ErrorCode::kInvalidArgument, "a page holds at least one task");
  const auto first = TRY(parse_page_cursor(cursor, filter.order));
  // One more than asked for tells whether there is another page. What is sifted here is looked at in larger slices.
  TaskSieve sieve(filter);
  const int slice = sieve.is_needed() ? std::max(limit + 1, kSiftSlice) : limit + 1;
  RecordPage page;
  std::int64_t bytes = 0;
  std::int64_t last = first;
  const auto finish = [&](bool goes_on) {
    if (goes_on) page.cursor = std::to_string(last);
    page.searched = sieve.searched();
    return std::move(page);
  };
  while (true) {
    const std::vector<std::int64_t> seqs = list_seqs(db, filter, last, slice);
    for (const std::int64_t seq : seqs) {
      if (sieve.has_looked_enough()) return finish(true);
      const bool is_wanted = !sieve.is_needed() || is_taken(sieve, db, seq);
      if (is_wanted && (std::cmp_equal(page.records.size(), limit) || bytes > kPageBytesMax)) return finish(true);
      last = seq;
      if (sieve.is_past_all()) return finish(false);
      std::optional<TaskRecord> record = is_wanted ? read_at(db, seq, parts) : std::nullopt;
      if (!record) continue;
      bytes += body_bytes(record->task);
      page.records.push_back(*std::move(record));
    }
    if (std::cmp_less(seqs.size(), slice)) return finish(false);
  }
}

}  // namespace drover::sqlite
