// Cursors of lists: where a page of tasks begins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "drover/error.h"

namespace drover {

// Pages go from the newest task to the oldest, so a page holds tasks before this seq. Without a cursor: larger than
// every seq. kInvalidArgument if it is none of ours.
[[nodiscard]] Result<std::int64_t> parse_page_cursor(const std::optional<std::string>& cursor);

}  // namespace drover
