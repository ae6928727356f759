// What stores tell of workers. Events are of no task, like those of gates.
#pragma once

#include <string>
#include <string_view>

#include "core/step.h"
#include "drover/task_queue.h"

namespace drover {

// Why a worker went that nobody heard of any more.
inline constexpr std::string_view kGoneSilent = "silent";

// When a worker was last heard of: at the time that was noted then, unless the clock has been set since. For how long
// it has been silent does not depend on that.
[[nodiscard]] Time last_heard(Time noted, Millis silent_for, Time now);

[[nodiscard]] EventDraft worker_draining(const DrainOrder& order);
[[nodiscard]] EventDraft worker_gone(std::string_view worker_id, std::string_view reason);

}  // namespace drover
