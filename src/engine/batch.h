// A batch: tasks that are stored together and may depend on each other.
#pragma once

#include <span>
#include <vector>

#include "drover/task.h"

namespace drover {

struct BatchItem {
  std::size_t index = 0;           // in the caller's order
  TaskId id;                       // chosen by the caller, or made
  std::vector<std::size_t> inner;  // parents inside the batch, by index
  std::vector<TaskId> outer;       // parents that must be stored already
};

// The items in an order in which parents come first. Unknown refs, refs given twice and cycles are refused.
// `ids` has one id per spec, taken where the spec chooses none.
[[nodiscard]] Result<std::vector<BatchItem>> plan_batch(std::span<const TaskSpec> specs, std::span<const TaskId> ids);

}  // namespace drover
