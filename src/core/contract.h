// What a type promises of its tasks: the shape of payload and result, what a worker must account for, and what follows
// its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_schema.h"
#include "drover/error.h"
#include "drover/task.h"

namespace drover {

// Whether a result must hold a decision report; an optional one must be whole when it is there.
enum class DecisionReport : std::uint8_t { kIgnored, kOptional, kRequired };
[[nodiscard]] std::string_view name_of(DecisionReport report);
[[nodiscard]] std::optional<DecisionReport> parse_decision_report(std::string_view name);

// The task that is enqueued in the step that ends another.
struct FollowUp {
  std::string type;
  std::optional<std::string> queue;
  std::optional<int> priority;
  std::optional<JsonText> payload;  // an object

  bool operator==(const FollowUp&) const = default;
};

struct Contract {
  std::optional<json::Schema> payload_schema;
  std::optional<json::Schema> result_schema;
  std::optional<JsonText> payload_defaults;  // an object
  DecisionReport decision_report = DecisionReport::kIgnored;
  std::optional<FollowUp> on_success;
  std::optional<FollowUp> on_failure;

  bool operator==(const Contract&) const = default;
};

// The payload with the members that it lacks, after its own. One that is no object stays as it is. Requires compact
// JSON.
[[nodiscard]] std::optional<JsonText> with_defaults(const Contract& contract, std::optional<JsonText> payload);

// kInvalidPayload and kInvalidResult name the place: "payload: /files/3/name: expected string, found number". What is
// absent is checked as null. Both require JSON.
[[nodiscard]] Status check_payload(const Contract& contract, const std::optional<JsonText>& payload);
[[nodiscard]] Status check_fallback(const Contract& contract, const std::optional<JsonText>& fallback);
[[nodiscard]] Status check_result(const Contract& contract, const std::optional<JsonText>& result);

// What follows the end of this task; null if nothing does.
[[nodiscard]] const FollowUp* follow_up_of(const Contract& contract, TaskState ended_as);
// Its payload: what the policy says, and under "task" the ended one: id, type, state, generation, result or error. A
// result that would make it longer than bytes_max is left out, and "result_left_out" says so.
[[nodiscard]] JsonText follow_up_payload(const FollowUp& follow_up, const Task& ended, std::size_t bytes_max);

}  // namespace drover
