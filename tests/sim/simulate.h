// Runs plans, makes failing ones smaller and says how to run them again.
#pragma once

#include <cstdint>
#include <string>

#include "hooks/test_hooks.h"
#include "sim/plan.h"
#include "sim/world.h"

namespace drover::sim {

[[nodiscard]] Outcome simulate(const Plan& plan, const SimOptions& options = {});
// The same plan twice: besides all else, both runs must be the same, line by line.
[[nodiscard]] Outcome simulate_twice(const Plan& plan, const SimOptions& options = {});

// A plan that breaks the same promise with fewer faults and operations; at most `runs` simulations.
[[nodiscard]] Plan shrink(Plan plan, const Wrong& wrong, int runs, const SimOptions& options = {});

// For people: the seed, the promise, the last lines and the command to see it again.
[[nodiscard]] std::string explain(const Plan& plan, const Outcome& outcome);
[[nodiscard]] std::string describe(const Plan& plan);

}  // namespace drover::sim
