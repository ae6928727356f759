// One table maps the class of a failure to what follows. It is configuration, per type, with these defaults.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "drover/error.h"
#include "drover/task.h"

namespace drover {

enum class Action : std::uint8_t {
  kRetry,  // counts as an attempt; again after the task's own backoff, while attempts are left
  kDefer,  // gives the attempt back; again after Retry-After, or a backoff of its own, while defers are left
  kFail,   // final: dead letter
};

[[nodiscard]] std::string_view name_of(Action action);
[[nodiscard]] std::optional<Action> parse_action(std::string_view name);

// What the next run of an agent begins with.
enum class SessionUse : std::uint8_t {
  kFresh,   // a session of its own, and notes of the earlier runs
  kResume,  // the session of the run before, if it is there
};

[[nodiscard]] std::string_view name_of(SessionUse use);
[[nodiscard]] std::optional<SessionUse> parse_session_use(std::string_view name);

struct ClassRule {
  Action action = Action::kRetry;
  double timeout_factor = 1;  // the next run's timeout grows by it, up to kTimeoutMax
  bool alert = false;
  bool close_gate = false;  // closes the gate of the task's provider: core/provider_ramp.h
  SessionUse session = SessionUse::kFresh;
  bool next_model = false;  // the next run uses the next one of the type's models

  bool operator==(const ClassRule&) const = default;
};

// Given by the rules themselves, never by a run: stalled, lost, deadline, parent_failed, …
[[nodiscard]] constexpr bool is_verdict(ErrorClass error_class) {
  return error_class >= ErrorClass::kStalled;
}
// The provider asks for less.
[[nodiscard]] constexpr bool is_throttle(ErrorClass error_class) {
  return error_class == ErrorClass::kRateLimited || error_class == ErrorClass::kOverloaded ||
         error_class == ErrorClass::kQuotaExhausted;
}
// A class that a run may give to its failure. kInvalidArgument for a verdict and for a word that is not known.
[[nodiscard]] Result<ErrorClass> parse_reported_class(std::string_view name);

inline constexpr Millis kTimeoutMax{24 * 3'600'000};

using ClassTable = std::array<ClassRule, kErrorClassCount>;

[[nodiscard]] const ClassTable& default_class_table();

}  // namespace drover
