// Runs and events as Redis keeps them: one line of text each.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/step.h"
#include "drover/error.h"
#include "store/redis/reply.h"

namespace drover::redis {

// Milliseconds since 1970.
[[nodiscard]] inline std::string time_text(Time time) {
  return std::to_string(time.time_since_epoch().count());
}

// "run|generation|outcome|JSON of error, exit code, note, usage, change, evidence and settlement". The functions put
// worker|started|ended| before it.
[[nodiscard]] std::string run_end_text(const RunEnd& end, int run, int generation);
[[nodiscard]] Result<RunSummary> parse_run(std::string_view text);

// "name|task|queue|rank|owner|type|cost|gates|state|run|generation|data"
[[nodiscard]] Result<Event> parse_event(std::int64_t seq, Time at, std::string_view text);
// Of the first three replies: its number, its time and such a text.
[[nodiscard]] Result<Event> to_event(std::span<const Reply> parts);

}  // namespace drover::redis
