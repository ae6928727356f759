// Times and durations: milliseconds, wall-clock times in UTC.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "drover/error.h"

namespace drover {

using Millis = std::chrono::milliseconds;
using Time = std::chrono::sys_time<Millis>;

// "2026-11-15T19:50:37.123Z"
[[nodiscard]] std::string format_time(Time time);
// RFC 3339 with any offset and up to nanoseconds (cut to milliseconds).
[[nodiscard]] Result<Time> parse_time(std::string_view text);

// "500ms", "30s", "5m", "2h", "7d"; a whole number and a unit, or several parts: "1h30m". Never negative.
[[nodiscard]] Result<Millis> parse_duration(std::string_view text);
// The shortest exact form that parse_duration reads back: "1h30m", "0s", "1500ms".
[[nodiscard]] std::string format_duration(Millis duration);

}  // namespace drover
