// A lane: the waiting tasks that are equal to the scheduler (same queue, rank, owner, type, cost and gates), in FIFO
// order.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/task.h"

namespace drover {

inline constexpr int kOldestEvery = 8;      // every so many tasks of a line, one from the lane that waited longest
inline constexpr int kVisitsMax = 64;       // lanes looked at per claim
inline constexpr int kWakesMax = 16;        // lanes woken per claim
inline constexpr int kVirtualUnit = 1'000;  // what one task adds to its owner's virtual time, divided by the weight
inline constexpr int kWeightMax = 1'000;

// "queue|rank|owner|type|cost|gate,gate": the same in every store.
[[nodiscard]] std::string lane_name(const Task& task);
// What the tasks of a lane have in common: queue, priority, owner, type, cost and gates. None if this names no lane.
[[nodiscard]] std::optional<Task> task_like(std::string_view lane);
// The gates of a task in the order in which they are asked: all, its queue, type and owner, then its own.
[[nodiscard]] std::vector<std::string> gates_of(const Task& task);
// The names of its `lock:` gates.
[[nodiscard]] std::vector<std::string> locks_of(const Task& task);
// The name of its session, without its owner; none if it runs in none.
[[nodiscard]] std::optional<std::string> session_in(const Task& task);

}  // namespace drover
