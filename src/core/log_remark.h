// The line that stands in a run's output for what is not there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "drover/task_queue.h"

namespace drover {

// "[1234 bytes of output left out here]" and a newline, in the stream kDrover.
[[nodiscard]] std::string left_out_remark(std::int64_t bytes);
// How many bytes of a run's output a piece of it stands for: its own, or those that such a line counts.
[[nodiscard]] std::int64_t output_bytes(LogStream stream, std::string_view text);

}  // namespace drover
