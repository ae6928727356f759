// Where a task's result is kept in Redis.
#pragma once

#include <cstddef>

namespace drover::redis {

// In the record up to so many bytes, else in a key of its own.
inline constexpr std::size_t kInnerResultBytesMax = 512;

}  // namespace drover::redis
