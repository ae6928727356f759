// Times and durations: milliseconds, wall-clock times in UTC.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "drover/error.h"

namespace drover {

using Millis = std::chrono::milliseconds;
using Time = std::chrono::sys_time<Millis>;

// The longest duration that is read from outside: added to any time that is read, it cannot overflow.
inline constexpr Millis kDurationMax = std::chrono::days(36'500);

// "2026-11-15T19:50:37.123Z". Times outside the years 0000 to 9999 are shown as the nearest one inside.
[[nodiscard]] std::string format_time(Time time);
// RFC 3339 with any offset and up to nanoseconds (cut to milliseconds). A leap second is the second after it.
[[nodiscard]] Result<Time> parse_time(std::string_view text);

// "500ms", "30s", "5m", "2h", "7d"; a whole number and a unit, or several parts: "1h30m", larger
// units first. Never negative, at most kDurationMax.
[[nodiscard]] Result<Millis> parse_duration(std::string_view text);
// The exact form that parse_duration reads back: "1h30m", "0s", "1500ms". A negative one gets a minus sign, for people
// only.
[[nodiscard]] std::string format_duration(Millis duration);

}  // namespace drover
