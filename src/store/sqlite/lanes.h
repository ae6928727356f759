// Lanes, and the lines in which they stand. docs/internals/lanes-and-gates.md is the specification.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

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
// All tasks up to that place do not wait any more. False: the lane was empty, and is gone.
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

// The owner of the lane was given so many tasks.
void add_virtual_time(Connection& db, const Lane& lane, std::int64_t tasks);

}  // namespace drover::sqlite
