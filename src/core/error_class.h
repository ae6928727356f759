// One table maps the class of a failure to what follows. It is configuration, per type, with these defaults.
#pragma once

#include <array>
#include <cstdint>

#include "drover/task.h"

namespace drover {

enum class Action : std::uint8_t {
  kRetry,  // counts as an attempt; again after the task's own backoff, while attempts are left
  kDefer,  // gives the attempt back; again after Retry-After, or a backoff of its own, while defers are left
  kFail,   // final: dead letter
};

[[nodiscard]] std::string_view name_of(Action action);
[[nodiscard]] std::optional<Action> parse_action(std::string_view name);

struct ClassRule {
  Action action = Action::kRetry;
  double timeout_factor = 1;  // the next run's timeout grows by it, up to kTimeoutMax
  bool alert = false;
  bool close_gate = false;  // closes the gate of the task's provider until Retry-After

  bool operator==(const ClassRule&) const = default;
};

inline constexpr Millis kTimeoutMax{24 * 3'600'000};

using ClassTable = std::array<ClassRule, kErrorClassCount>;

[[nodiscard]] const ClassTable& default_class_table();

}  // namespace drover
