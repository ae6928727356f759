// The output of runs as pieces in a stream.
#pragma once

#include <cstdint>
#include <span>

#include "drover/task_queue.h"
#include "store/redis/pack.h"
#include "store/redis/reply.h"

namespace drover::redis {

// How many pieces, then stream and text of each: chunks cut so that the tail can be dropped in small steps.
void pack_log_pieces(Pack& pack, std::span<const LogChunk> chunks, std::int64_t bytes_max);
// As the function `log` answers.
[[nodiscard]] Result<LogPage> to_log_page(const Reply& reply);

}  // namespace drover::redis
