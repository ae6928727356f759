#include "drover/task.h"

#include <array>

#include "base/text.h"
#include "core/names.h"

namespace drover {
namespace {

constexpr Names<kTaskStateCount> kStateNames{"blocked", "scheduled", "pending", "running",
                                             "stalled", "completed", "failed",  "cancelled"};

constexpr Names<kErrorClassCount> kClassNames{"agent_error",
                                              "syntax",
                                              "invalid",
                                              "auth",
                                              "billing",
                                              "timeout",
                                              "rate_limited",
                                              "quota_exhausted",
                                              "overloaded",
                                              "oom",
                                              "context_too_long",
                                              "killed",
                                              "spawn_failed",
                                              "result_too_large",
                                              "verify_failed",
                                              "max_turns",
                                              "budget_exceeded",
                                              "stalled",
                                              "lost",
                                              "deadline",
                                              "parent_failed",
                                              "invalid_payload",
                                              "unknown_type",
                                              "suspended"};

constexpr Names<3> kOnParentFailureNames{"cancel", "fail", "run"};
constexpr Names<5> kDedupeModeNames{"single_flight", "drop", "merge", "replace", "keep_latest"};

struct PriorityName {
  std::string_view name;
  int rank;
};
constexpr std::array<PriorityName, 6> kPriorityNames{{
    {"critical", 0},
    {"high", 2},
    {"normal", 5},
    {"low", 8},
    {"interactive", 2},
    {"background", 7},
}};

}  // namespace

std::string_view name_of(TaskState state) {
  return name_in(kStateNames, state);
}

std::optional<TaskState> parse_task_state(std::string_view name) {
  return value_in<TaskState>(kStateNames, name);
}

std::string_view name_of(ErrorClass error_class) {
  return name_in(kClassNames, error_class);
}

std::optional<ErrorClass> parse_error_class(std::string_view name) {
  return value_in<ErrorClass>(kClassNames, name);
}

std::string_view name_of(OnParentFailure policy) {
  return name_in(kOnParentFailureNames, policy);
}

std::optional<OnParentFailure> parse_on_parent_failure(std::string_view name) {
  return value_in<OnParentFailure>(kOnParentFailureNames, name);
}

std::string_view name_of(DedupeMode mode) {
  return name_in(kDedupeModeNames, mode);
}

std::optional<DedupeMode> parse_dedupe_mode(std::string_view name) {
  return value_in<DedupeMode>(kDedupeModeNames, name);
}

Result<int> parse_priority(std::string_view text) {
  if (text.size() == 1 && text[0] >= '0' && text[0] <= '0' + kPriorityMax) return text[0] - '0';
  const auto named = std::ranges::find(kPriorityNames, text, &PriorityName::name);
  if (named != kPriorityNames.end()) return named->rank;
  return fail(ErrorCode::kInvalidArgument,
              "a priority is 0 (first) to 9, or critical, high, normal, low, interactive or background, not " +
                  quoted_excerpt(text));
}

}  // namespace drover
