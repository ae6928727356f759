// Which values a task may ask for: the same bounds for callers in code, on the command line, over the wire and in
// drover.yaml.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "drover/task_queue.h"

namespace drover {

struct Bounds {
  std::int64_t min;
  std::int64_t max;
};

inline constexpr Bounds kPriorityBounds{0, kPriorityMax};
inline constexpr Bounds kMaxAttemptsBounds{1, 1'000'000};
inline constexpr Bounds kMaxStallsBounds{0, 1'000'000};
inline constexpr Bounds kMaxSuspendsBounds{0, 1'000'000};
inline constexpr Bounds kMaxDefersBounds{0, 1'000'000};
// A delay may be 0; a time limit may not.
inline constexpr Millis kTimeLimitMin{1};
inline constexpr Bounds kCostBounds{1, 1'000'000};
inline constexpr Bounds kPermitsBounds{0, 1'000'000};
inline constexpr Bounds kBurstBounds{1, 1'000'000};
inline constexpr Millis kLeaseMin{100};
inline constexpr Millis kLeaseMax{24 * 3'600'000};
inline constexpr Bounds kConcurrencyBounds{1, 1'000};  // of one worker
inline constexpr std::size_t kTagsMax = 100;
inline constexpr std::size_t kLocksMax = 8;
inline constexpr std::size_t kParentsMax = 1'000;
inline constexpr std::size_t kLabelBytesMax = 1'024;  // agent_id, source, traceparent, …
inline constexpr std::size_t kWordBytesMax = 256;

// Errors are kInvalidArgument and say what was expected; the caller names the field.
[[nodiscard]] Status check_bounds(std::int64_t value, Bounds bounds);
[[nodiscard]] Status check_time_limit(Millis limit);
[[nodiscard]] Status check_lease_length(Millis lease);
[[nodiscard]] Status check_name(std::string_view name);
// A model or a session: it becomes a word of its own on an agent's command line, where it must not look like an option.
[[nodiscard]] Status check_word(std::string_view word);
[[nodiscard]] Status check_retry_policy(const RetryPolicy& policy);

// "queue: expected a name, …": an error with the field that it is about.
[[nodiscard]] std::unexpected<Error> at_field(std::string_view field, Error error);

// Every value of a spec but the JSON ones, whose size is a limit of the policy. Errors are kInvalidArgument and name
// the field.
[[nodiscard]] Status check_spec(const TaskSpec& spec);
// The same of what is to change of a task.
[[nodiscard]] Status check_edit(const EditOrder& order);
// A payload that replaces the old one, or a patch of that: not both.
[[nodiscard]] Status check_one_payload(const std::optional<JsonText>& payload, const std::optional<JsonText>& patch);

}  // namespace drover
