// The proof that the simulator has teeth: plants a bug and looks for a seed that shows it.
#pragma once

#include <cstdint>
#include <optional>

#include "hooks/test_hooks.h"
#include "sim/simulate.h"

namespace drover::sim {

struct BugHunt {
  PlantedBug bug = PlantedBug::kNone;
  std::optional<Wrong> found;  // by which check
  std::uint64_t seed = 0;      // the one that showed it
  int seeds = 0;               // how many it took
};

// Seeds from `first`, at most `seeds_max`. No bug is planted when it returns.
[[nodiscard]] BugHunt hunt(PlantedBug bug, std::uint64_t first, int seeds_max);

}  // namespace drover::sim
