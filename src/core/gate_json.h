// The JSON of gates, queues and explanations; the same on every surface.
#pragma once

#include <string>

#include "drover/gate.h"

namespace drover {

// One line each. A time until which something is closed is "opened" when only a hand opens it.
[[nodiscard]] std::string to_json(const GateStatus& gate);
[[nodiscard]] std::string to_json(const QueueStatus& queue);
[[nodiscard]] std::string to_json(const Explanation& explanation);
[[nodiscard]] std::string to_json(const StuckReport& report);

}  // namespace drover
