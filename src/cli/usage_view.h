// What agents used, in few characters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "drover/task.h"
#include "drover/usage.h"

namespace drover::cli {

[[nodiscard]] std::string_view usage_title(UsageDimension dimension);  // "DAY"
// "950", "12.3k", "4.1M"
[[nodiscard]] std::string short_count(std::int64_t count);
// "$0.0240", "$12.30": to four digits below a dollar, to cents above
[[nodiscard]] std::string short_dollars(MicroDollars amount);
// The cost of a task as a list shows it: "$0.02"; "$0.02+?" if that is not all of it; "?" if nobody knows any of it;
// empty if no agent has run.
[[nodiscard]] std::string cost_text(const Task& task);
// "3 turns, 12.3k in, 450 out, $0.024", or "… $0.024 and 1.2k tokens of unknown cost"; empty if there is none.
[[nodiscard]] std::string usage_text(const std::optional<JsonText>& usage);

}  // namespace drover::cli
