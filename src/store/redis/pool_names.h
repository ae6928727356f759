// How what a worker serves is named in Redis.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "store/store.h"

namespace drover::redis {

// The queue, or one type of it.
[[nodiscard]] std::string line_of(const Serve& serve);

// The lines that are served together, in one order whoever names them.
[[nodiscard]] std::vector<std::string> lines_of(std::span<const Serve> serves);

[[nodiscard]] std::string pool_of(std::span<const std::string> lines);

}  // namespace drover::redis
