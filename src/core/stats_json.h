// Stats as JSON.
#pragma once

#include <string>

#include "drover/stats.h"

namespace drover {

[[nodiscard]] std::string to_json(const Stats& stats);
[[nodiscard]] std::string to_json(const StatsHistory& history);

}  // namespace drover
