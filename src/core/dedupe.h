// Dedupe: when an enqueue speaks of a task that is there already, and what it does to it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>

#include "core/task_record.h"

namespace drover {

inline constexpr Millis kDedupeWindow{5 * 60'000};  // of DedupeMode::kDrop, unless the task says otherwise

// Object keys sorted at every level, the text of numbers kept, no white space. Requires JSON.
[[nodiscard]] JsonText canonical_json(std::string_view json);

// The key of a task that names none: SHA-256 of its type and canonical payload, in hex.
[[nodiscard]] std::string default_dedupe_key(std::string_view type, const std::optional<JsonText>& payload);

// JSON Merge Patch (RFC 7396). Members keep their order and numbers their text; new members come last. Requires JSON.
[[nodiscard]] JsonText merge_patch(const std::optional<JsonText>& target, std::string_view patch);

// What an enqueue with this mode and payload follows.
struct DedupeRequest {
  DedupeMode mode = DedupeMode::kSingleFlight;
  Millis window = kDedupeWindow;
  Time now{};
};

namespace dedupe {
struct MakeNew {};
struct Answer {  // the task is there already
  TaskId id;
};
struct Write {  // it gets the new payload
  TaskId id;
};
}  // namespace dedupe
using DedupeDecision = std::variant<dedupe::MakeNew, dedupe::Answer, dedupe::Write>;

// `newest` is the newest task with that key, null if there is none; `unfinished` those that have not ended, newest
// first.
[[nodiscard]] DedupeDecision decide_dedupe(const DedupeRequest& request, const TaskRecord* newest,
                                           std::span<const TaskRecord> unfinished);

}  // namespace drover
