// The part of a filter that goes by how a task ended. Stores narrow a list down by what they have indexes for, and ask
// here about the rest: a fingerprint is computed, and no store can.
#pragma once

#include "drover/task_queue.h"

namespace drover {

[[nodiscard]] bool asks_for_end(const TaskFilter& filter);
// Needs no more than the task's head.
[[nodiscard]] bool matches_end(const TaskFilter& filter, const Task& task);

}  // namespace drover
