// Lanes, and the lines in which they stand. docs/internals/lanes-and-gates.md is the specification.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "store/sqlite/transaction.h"

namespace drover::sqlite {

struct Lane {
  std::int64_t id = 0;
  Task like;  // what its tasks have in common: queue, priority, owner, type, cost, gates
  std::int64_t head = 0;
  std::optional<std::string> parked_at;  // a gate; absent: it is open
};

// Open lanes of a queue, or of one type in it; or those of a queue that are parked at a gate.
struct Line {
  std::string queue;
  std::optional<std::string> type = {};
  std::optional<std::string> gate = {};

  [[nodiscard]] std::string name() const;
};

// ---- tasks in lanes

// A task waits from now on. Returns the id of its lane, which opens if it is new.
[[nodiscard]] std::int64_t push_task(Transaction& transaction, const Task& task, std::int64_t place);
// A task of that lane and place does not wait any more.
void remove_task(Transaction& transaction, std::int64_t lane_id, std::int64_t place);
// All tasks up to that place do not wait any more; the caller counts them. False: the lane was empty, and is gone.
[[nodiscard]] bool remove_tasks_up_to(Transaction& transaction, Lane& lane, std::int64_t place);

// ---- lanes in lines

void park_lane(Transaction& transaction, Lane& lane, Gate& gate, std::optional<Time> look_again);
void wake_lane(Transaction& transaction, Lane& lane);

[[nodiscard]] std::optional<Lane> first_lane(Connection& db, const Line& line);
// Of an open line.
[[nodiscard]] std::optional<Lane> oldest_lane(Connection& db, const Line& line);
[[nodiscard]] bool has_several_lanes(Connection& db, const Line& line);
[[nodiscard]] std::optional<int> best_rank(Connection& db, const Line& line);

// Whether lanes are parked at the gate; the queue of such, the next by name after `queue`.
[[nodiscard]] bool is_waited_at(Connection& db, const std::string& gate);
[[nodiscard]] std::optional<std::string> next_queue_waiting(Connection& db, const std::string& gate,
                                                            const std::string& queue);

// ---- shares

// What owners are given in one claim. Between its visits nobody else moves virtual times; what the visits themselves do
// not look at is read once and written at the end.
class Shares {
 public:
  explicit Shares(Connection& db) : db_(db) {}

  // The owner of the lane was given so many tasks.
  void give(const Lane& lane, std::int64_t tasks);
  void write_clocks();

 private:
  [[nodiscard]] std::int64_t weight_of(const std::string& owner);
  // By queue, rank and owner.
  [[nodiscard]] std::int64_t& virtual_time_of(const Task& like);

  Connection& db_;
  std::map<std::string, std::int64_t> weights_;
  std::map<std::tuple<std::string, int, std::string>, std::int64_t> virtual_times_;
  std::map<std::pair<std::string, int>, std::int64_t> clocks_;
};

}  // namespace drover::sqlite
