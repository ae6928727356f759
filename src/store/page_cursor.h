// Cursors of lists: where a page of tasks begins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "drover/error.h"
#include "drover/task_queue.h"

namespace drover {

// A page holds tasks before this seq, or after it if the oldest come first. Without a cursor: larger than every seq, or
// smaller. kInvalidArgument if it is none of ours.
[[nodiscard]] Result<std::int64_t> parse_page_cursor(const std::optional<std::string>& cursor, TaskOrder order);

}  // namespace drover
