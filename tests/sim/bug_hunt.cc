#include "sim/bug_hunt.h"

namespace drover::sim {

BugHunt hunt(PlantedBug bug, std::uint64_t first, int seeds_max) {
  BugHunt result{.bug = bug};
  plant(bug);
  while (!result.found && result.seeds < seeds_max) {
    result.seed = first + static_cast<std::uint64_t>(result.seeds++);
    result.found = simulate(make_plan(result.seed)).wrong;
  }
  plant(PlantedBug::kNone);
  return result;
}

}  // namespace drover::sim
