// Whether anything stands behind the name of a gate, or it is a typing error.
#pragma once

#include <optional>
#include <string>

#include "drover/task_queue.h"

namespace drover::cli {

// What to say of a gate that nothing uses: no task, worker or policy names that queue, type, owner or provider. Nothing
// for gates that cannot be looked up: `all`, and locks, which exist only while tasks name them.
[[nodiscard]] Result<std::optional<std::string>> unused_gate_warning(TaskQueue& queue, const std::string& gate);

}  // namespace drover::cli
