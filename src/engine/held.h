// What gates hold back: how many waiting tasks, of which queue, at which gate, for how long.
//
// The cost is one look at every lane and its gates, and the lanes are asked for only if some gate holds anything.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "store/store.h"

namespace drover {

// Of more lanes than this the rest is not looked at, and the numbers are too low.
inline constexpr int kHeldLanesMax = 10'000;

struct HeldInQueue {
  std::string queue;
  HeldTasks tasks;
};

// Every gate that tasks of these lanes ask, and that of the other owners.
[[nodiscard]] Result<std::map<std::string, GateState>> gates_of_lanes(Store& store, std::span<const WaitingLane> lanes);

// Of shut gates only, or of those that are full or whose rate is spent, too.
enum class HeldBy : std::uint8_t { kShutGates, kAnyGate };

// By queue, then by gate. `gates` are all that the store has.
[[nodiscard]] Result<std::vector<HeldInQueue>> find_held(Store& store, std::span<const GateState> gates, HeldBy by,
                                                         Time now);

}  // namespace drover
