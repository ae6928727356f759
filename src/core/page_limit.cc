#include "core/page_limit.h"

#include <fmt/format.h>

#include "drover/task_queue.h"

namespace drover {

Status check_page_limit(int limit) {
  if (limit >= 1 && limit <= kPageMax) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("limit must be between 1 and {}, not {}", kPageMax, limit));
}

}  // namespace drover
