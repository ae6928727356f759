// A random story of tasks, claims and gates, told to a store and to the naive model of lanes and gates at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "store/store.h"
#include "support/manual_clock.h"

namespace drover::test {

// Tells so many operations to an empty store that goes by that clock. Returns what went wrong first, if anything.
[[nodiscard]] std::optional<std::string> tell_lane_story(Store& store, ManualClock& clock, std::uint64_t seed,
                                                         int operations);

}  // namespace drover::test
