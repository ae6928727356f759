// The functions that run inside Redis: lua/*.lua as one library.
#pragma once

#include <cstdint>
#include <string>

#include "store/redis/function_library.h"

namespace drover::redis {

inline constexpr LibraryVersion kLibraryVersion{.major = 2, .minor = 4};

// A library for tests takes the time from its callers, and has names of its own, so that it can never be mistaken for
// the real one.
enum class LibraryClock : std::uint8_t { kServer, kCaller };

[[nodiscard]] std::string library_name(LibraryClock clock);
[[nodiscard]] std::string library_text(LibraryClock clock);

}  // namespace drover::redis
