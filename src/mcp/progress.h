// How far a call is that waits, for clients that asked to be told.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "mcp/request.h"
#include "mcp/tool.h"

namespace drover::mcp {

// How often a client hears of a call of which nothing new is known.
inline constexpr Millis kProgressEvery{5'000};

// What the client of a call was told last.
struct Told {
  std::optional<std::int64_t> thousandths{};  // of a percent
  MonoTime at{};
};

// The notification, if the client asked for such and should hear one now: the first at once, then whenever the call has
// got further, and every kProgressEvery. What a client is told has to grow: where nothing did, it grows by very little.
[[nodiscard]] std::optional<std::string> tell_progress(const Request& request, const Waiting& waiting, Told& told,
                                                       MonoTime now);

}  // namespace drover::mcp
