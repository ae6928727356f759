// What the log of events tells of workers. Of no task, like the events of gates.
#pragma once

#include <string>
#include <string_view>

#include "core/step.h"
#include "drover/task_queue.h"

namespace drover {

// Why a worker went that nobody heard of any more.
inline constexpr std::string_view kGoneSilent = "silent";

[[nodiscard]] EventDraft worker_draining(const DrainOrder& order);
[[nodiscard]] EventDraft worker_gone(std::string_view worker_id, std::string_view reason);

}  // namespace drover
