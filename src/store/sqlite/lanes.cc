#include "store/sqlite/lanes.h"

#include <algorithm>

#include "core/lane.h"
#include "embedded/sqlite.h"
#include "store/sqlite/named_sql.h"
#include "store/sqlite/record_row.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kFind = named_sql(embedded::lanes_sql, "find");
constexpr std::string_view kReadLane = named_sql(embedded::lanes_sql, "read");
constexpr std::string_view kInsert = named_sql(embedded::lanes_sql, "insert");
constexpr std::string_view kSetHead = named_sql(embedded::lanes_sql, "set_head");
constexpr std::string_view kSetParkedAt = named_sql(embedded::lanes_sql, "set_parked_at");
constexpr std::string_view kDeleteLane = named_sql(embedded::lanes_sql, "delete");
constexpr std::string_view kNextPlace = named_sql(embedded::lanes_sql, "next_place");
constexpr std::string_view kFirstGroup = named_sql(embedded::lanes_sql, "first_group");
constexpr std::string_view kBestRank = named_sql(embedded::lanes_sql, "best_rank");
constexpr std::string_view kEnterGroup = named_sql(embedded::lanes_sql, "enter_group");
constexpr std::string_view kSetScore = named_sql(embedded::lanes_sql, "set_score");
constexpr std::string_view kLeaveGroup = named_sql(embedded::lanes_sql, "leave_group");
constexpr std::string_view kFirstInQueue = named_sql(embedded::lanes_sql, "first_in_queue");
constexpr std::string_view kFirstOfType = named_sql(embedded::lanes_sql, "first_of_type");
constexpr std::string_view kFirstParked = named_sql(embedded::lanes_sql, "first_parked");
constexpr std::string_view kOldestInQueue = named_sql(embedded::lanes_sql, "oldest_in_queue");
constexpr std::string_view kOldestOfType = named_sql(embedded::lanes_sql, "oldest_of_type");
constexpr std::string_view kIsWaitedAt = named_sql(embedded::lanes_sql, "is_waited_at");
constexpr std::string_view kNextQueue = named_sql(embedded::lanes_sql, "next_queue");
constexpr std::string_view kVirtualTime = named_sql(embedded::lanes_sql, "virtual_time");
constexpr std::string_view kUpdateVirtualTime = named_sql(embedded::lanes_sql, "update_virtual_time");
constexpr std::string_view kInsertVirtualTime = named_sql(embedded::lanes_sql, "insert_virtual_time");
constexpr std::string_view kClock = named_sql(embedded::lanes_sql, "clock");
constexpr std::string_view kRaiseClock = named_sql(embedded::lanes_sql, "raise_clock");
constexpr std::string_view kInsertClock = named_sql(embedded::lanes_sql, "insert_clock");
constexpr std::string_view kWeight = named_sql(embedded::lanes_sql, "weight");

Lane read_lane(Statement& row) {
  Lane lane;
  lane.id = row.integer();
  lane.like.queue = row.text();
  lane.like.priority = row.small();
  lane.like.owner = row.text();
  lane.like.type = row.text();
  lane.like.cost = row.integer();
  lane.like.gates = split_gates(row.text());
  lane.head = row.integer();
  lane.parked_at = row.maybe_text();
  return lane;
}

// ---- shares

std::int64_t virtual_time(Connection& db, const Task& like) {
  return db.number(kVirtualTime, like.queue, like.priority, like.owner);
}

void set_virtual_time(Connection& db, const Task& like, std::int64_t virtual_time) {
  db.update_or_insert(kUpdateVirtualTime, kInsertVirtualTime, like.queue, like.priority, like.owner, virtual_time);
}

// Idling gives no credit.
std::int64_t raise_to_clock(Connection& db, const Task& like) {
  Statement query = db.prepare(kVirtualTime);
  const bool known = query.bind(like.queue, like.priority, like.owner).step();
  const std::int64_t own = known ? query.integer() : 0;
  const std::int64_t clock = db.number(kClock, like.queue, like.priority);
  if (known && own >= clock) return own;
  set_virtual_time(db, like, clock);
  return clock;
}

// ---- lines

Line line_of_queue(const Lane& lane) {
  return {.queue = lane.like.queue};
}

Line line_of_type(const Lane& lane) {
  return {.queue = lane.like.queue, .type = lane.like.type};
}

Line line_at_gate(const Lane& lane) {
  return {.queue = lane.like.queue, .gate = lane.parked_at};
}

void enter(Connection& db, const Line& line, const Lane& lane, std::int64_t virtual_time) {
  db.run(kEnterGroup, line.name(), lane.like.priority, lane.like.owner, virtual_time);
}

std::optional<Lane> first_of_group(Connection& db, const Line& line, int rank, const std::string& owner) {
  Statement query = db.prepare(line.gate ? kFirstParked : line.type ? kFirstOfType : kFirstInQueue);
  query.bind(line.queue, rank, owner);
  if (line.gate || line.type) query.bind(line.gate ? *line.gate : *line.type);
  if (!query.step()) return std::nullopt;
  return read_lane(query);
}

// The group of a lane that is not in the line any more goes with its last lane.
void leave(Connection& db, const Line& line, const Lane& lane) {
  if (first_of_group(db, line, lane.like.priority, lane.like.owner)) return;
  db.run(kLeaveGroup, line.name(), lane.like.priority, lane.like.owner);
}

void enter_open_lines(Connection& db, const Lane& lane) {
  const std::int64_t virtual_time = raise_to_clock(db, lane.like);
  enter(db, line_of_queue(lane), lane, virtual_time);
  enter(db, line_of_type(lane), lane, virtual_time);
}

// `before` is the lane as it stood; its row says otherwise by now.
void leave_lines(Transaction& transaction, const Lane& before) {
  Connection& db = transaction.db();
  if (!before.parked_at) {
    leave(db, line_of_queue(before), before);
    leave(db, line_of_type(before), before);
    return;
  }
  leave(db, line_at_gate(before), before);
  if (is_waited_at(db, *before.parked_at)) return;
  Gate& gate = transaction.gates().get(*before.parked_at);
  gate.wake_at.reset();
  gate.cursor.clear();
  transaction.gates().changed(gate);
}

// ---- heads

void set_head(Transaction& transaction, std::int64_t lane_id, std::int64_t head) {
  transaction.db().run(kSetHead, lane_id, head);
  transaction.lanes().clear();
}

void delete_lane(Transaction& transaction, const Lane& lane) {
  transaction.db().run(kDeleteLane, lane.id);
  transaction.lane_counts().forget(lane.id);
  transaction.lanes().clear();
  leave_lines(transaction, lane);
}

std::int64_t make_lane(Transaction& transaction, const std::string& name, const Task& task, std::int64_t place) {
  Connection& db = transaction.db();
  db.run(kInsert, name, task.queue, task.priority, task.owner, task.type, task.cost, join_gates(task.gates), place);
  Lane lane;
  lane.id = db.last_row_id();
  lane.like = task;
  enter_open_lines(db, lane);
  return lane.id;
}

std::optional<KnownLane> find_lane(Connection& db, const std::string& name) {
  Statement query = db.prepare(kFind);
  if (!query.bind(name).step()) return std::nullopt;
  const std::int64_t id = query.integer();
  return KnownLane{id, query.integer()};
}

}  // namespace

std::string Line::name() const {
  if (gate) return *gate + "||" + queue;
  return type ? queue + "|" + *type : queue;
}

std::int64_t push_task(Transaction& transaction, const Task& task, std::int64_t place) {
  const std::string name = lane_name(task);
  auto& known = transaction.lanes();
  auto found = known.find(name);
  if (found == known.end()) {
    std::optional<KnownLane> lane = find_lane(transaction.db(), name);
    if (!lane) lane = KnownLane{make_lane(transaction, name, task, place), place};
    found = known.emplace(name, *lane).first;
  }
  KnownLane& lane = found->second;
  if (place < lane.head) {
    lane.head = place;
    transaction.db().run(kSetHead, lane.id, place);
  }
  transaction.lane_counts().add(lane.id, 1);
  return lane.id;
}

void remove_task(Transaction& transaction, std::int64_t lane_id, std::int64_t place) {
  transaction.lane_counts().add(lane_id, -1);
  std::optional<Lane> lane;
  {
    Statement query = transaction.db().prepare(kReadLane);
    if (query.bind(lane_id).step()) lane = read_lane(query);
  }
  // A lane that is not there is for fsck to mend.
  if (lane && lane->head == place) static_cast<void>(remove_tasks_up_to(transaction, *lane, place));
}

bool remove_tasks_up_to(Transaction& transaction, Lane& lane, std::int64_t place) {
  const std::int64_t next = transaction.db().number(kNextPlace, lane.id, place);
  if (next == 0) {
    delete_lane(transaction, lane);
    return false;
  }
  lane.head = next;
  set_head(transaction, lane.id, next);
  return true;
}

void park_lane(Transaction& transaction, Lane& lane, Gate& gate, std::optional<Time> look_again) {
  Connection& db = transaction.db();
  const Lane before = lane;
  lane.parked_at = gate.name();
  db.run(kSetParkedAt, lane.id, gate.name());
  leave_lines(transaction, before);
  enter(db, line_at_gate(lane), lane, virtual_time(db, lane.like));
  if (!look_again || (gate.wake_at && *gate.wake_at <= *look_again)) return;
  gate.wake_at = look_again;
  transaction.gates().changed(gate);
}

void wake_lane(Transaction& transaction, Lane& lane) {
  const Lane before = lane;
  lane.parked_at.reset();
  transaction.db().run(kSetParkedAt, lane.id, nullptr);
  leave_lines(transaction, before);
  enter_open_lines(transaction.db(), lane);
}

std::optional<Lane> first_lane(Connection& db, const Line& line) {
  const std::string name = line.name();
  for (;;) {
    int rank = 0;
    std::string owner;
    {
      Statement query = db.prepare(kFirstGroup);
      if (!query.bind(name, line.queue).step()) return std::nullopt;
      rank = query.small();
      owner = query.text();
      const std::int64_t score = query.integer();
      const std::int64_t virtual_time = query.integer();
      if (virtual_time <= score) return first_of_group(db, line, rank, owner);
      query.reset();
      db.run(kSetScore, name, rank, owner, virtual_time);
    }
  }
}

std::optional<Lane> oldest_lane(Connection& db, const Line& line) {
  Statement query = db.prepare(line.type ? kOldestOfType : kOldestInQueue);
  query.bind(line.queue, 1);
  if (line.type) query.bind(*line.type);
  if (!query.step()) return std::nullopt;
  return read_lane(query);
}

bool has_several_lanes(Connection& db, const Line& line) {
  Statement query = db.prepare(line.type ? kOldestOfType : kOldestInQueue);
  query.bind(line.queue, 2);
  if (line.type) query.bind(*line.type);
  return query.step() && query.step();
}

std::optional<int> best_rank(Connection& db, const Line& line) {
  Statement query = db.prepare(kBestRank);
  if (!query.bind(line.name()).step()) return std::nullopt;
  return query.small();
}

bool is_waited_at(Connection& db, const std::string& gate) {
  return db.number(kIsWaitedAt, gate) == 1;
}

std::optional<std::string> next_queue_waiting(Connection& db, const std::string& gate, const std::string& queue) {
  Statement query = db.prepare(kNextQueue);
  if (!query.bind(gate, queue).step()) return std::nullopt;
  return query.text();
}

std::int64_t Shares::weight_of(const std::string& owner) {
  const auto [found, is_new] = weights_.try_emplace(owner);
  if (is_new) found->second = std::max<std::int64_t>(1, db_.number(kWeight, owner));
  return found->second;
}

std::int64_t& Shares::virtual_time_of(const Task& like) {
  const auto [found, is_new] = virtual_times_.try_emplace({like.queue, like.priority, like.owner});
  if (is_new) found->second = virtual_time(db_, like);
  return found->second;
}

void Shares::give(const Lane& lane, std::int64_t tasks) {
  const Task& like = lane.like;
  std::int64_t& virtual_time = virtual_time_of(like);
  std::int64_t& clock = clocks_[{like.queue, like.priority}];
  clock = std::max(clock, virtual_time);
  virtual_time += tasks * kVirtualUnit / weight_of(like.owner);
  set_virtual_time(db_, like, virtual_time);
}

void Shares::write_clocks() {
  for (const auto& [line, clock] : clocks_) {
    db_.update_or_insert(kRaiseClock, kInsertClock, line.first, line.second, clock);
  }
  clocks_.clear();
}

}  // namespace drover::sqlite
