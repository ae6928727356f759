// The output of runs as pieces in a stream.
#pragma once

#include <cstdint>
#include <span>

#include "drover/task_queue.h"
#include "store/redis/command.h"
#include "store/redis/reply.h"

namespace drover::redis {

// The number of pieces, then stream and text of each: chunks cut so that the tail can be dropped in small steps.
void add_log_pieces(Command& command, std::span<const LogChunk> chunks, std::int64_t bytes_max);
// As the function `log` answers.
[[nodiscard]] Result<LogPage> to_log_page(const Reply& reply);

}  // namespace drover::redis
