// W3C trace context: what a task's enqueuer was part of, so that its runs are part of it too.
#pragma once

#include <span>
#include <string_view>

#include "drover/task_queue.h"

namespace drover {

// "VERSION-TRACE-SPAN-FLAGS" in lower-case hexadecimal, with neither trace nor span all zeros.
[[nodiscard]] bool is_traceparent(std::string_view text);

// Tasks that name no trace belong to that of their enqueuer. A text that is no traceparent is none, as the
// recommendation has it: it comes from around the request, and must not make it fail.
void continue_trace(std::string_view traceparent, std::span<TaskSpec> tasks);

}  // namespace drover
