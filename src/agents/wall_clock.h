// The time and the zones that clock texts of agents ("try again at 6:56 PM") are read with.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string_view>

#include "drover/time.h"

namespace drover::agents {

// How far a zone's clocks are ahead of UTC at that time. The empty name is this machine's own zone. Nothing for a zone
// that is not known.
using ZoneOffset = std::function<std::optional<std::chrono::seconds>(std::string_view zone, Time at)>;

// UTC is known, and this machine is in it.
[[nodiscard]] std::optional<std::chrono::seconds> utc_only(std::string_view zone, Time at);

struct WallClock {
  Time now{};
  ZoneOffset offset = utc_only;
};

}  // namespace drover::agents
