// Alerts as events and as JSON.
#pragma once

#include "core/step.h"
#include "drover/stats.h"
#include "drover/task_queue.h"

namespace drover {

[[nodiscard]] std::string to_json(const Alert& alert);
[[nodiscard]] std::string to_json(const PastAlert& past);
[[nodiscard]] EventDraft alert_raised(const Alert& alert);
[[nodiscard]] EventDraft alert_cleared(const Alert& alert);

}  // namespace drover
