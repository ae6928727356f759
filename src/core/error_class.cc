#include "core/error_class.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ranges>

#include "base/text.h"
#include "core/names.h"

namespace drover {
namespace {

constexpr Names<3> kActionNames{"retry", "defer", "fail"};
constexpr Names<2> kSessionUseNames{"fresh", "resume"};

constexpr ClassRule kRetryRule{.action = Action::kRetry};
constexpr ClassRule kResumeRule{.action = Action::kRetry, .session = SessionUse::kResume};
// The session has what was paid for already: it goes on where the limit stopped it.
constexpr ClassRule kThrottleRule{.action = Action::kDefer, .close_gate = true, .session = SessionUse::kResume};
constexpr ClassRule kFailRule{.action = Action::kFail};

constexpr ClassTable make_default_table() {
  ClassTable table{};
  const auto set = [&table](ErrorClass error_class, const ClassRule& rule) {
    table[std::to_underlying(error_class)] = rule;
  };
  set(ErrorClass::kAgentError, kResumeRule);
  set(ErrorClass::kSyntax, kFailRule);
  set(ErrorClass::kInvalid, kFailRule);
  set(ErrorClass::kAuth, kFailRule);
  set(ErrorClass::kBilling, kFailRule);
  set(ErrorClass::kTimeout, {.action = Action::kRetry, .timeout_factor = 1.5, .session = SessionUse::kResume});
  // The provider's trouble, not the task's: no attempt is used up, and the others hold back, too.
  set(ErrorClass::kRateLimited, kThrottleRule);
  set(ErrorClass::kQuotaExhausted, kThrottleRule);
  set(ErrorClass::kOverloaded, kThrottleRule);
  set(ErrorClass::kOom, {.action = Action::kFail, .alert = true});
  set(ErrorClass::kContextTooLong, kFailRule);
  set(ErrorClass::kKilled, kResumeRule);
  set(ErrorClass::kSpawnFailed, kRetryRule);
  // The same run would say the same again.
  set(ErrorClass::kResultTooLarge, kFailRule);
  // The agent tries again, and is told what failed.
  set(ErrorClass::kVerifyFailed, kResumeRule);
  set(ErrorClass::kMaxTurns, kFailRule);
  set(ErrorClass::kBudgetExceeded, kFailRule);
  // Verdicts of the rules themselves: final.
  set(ErrorClass::kStalled, kFailRule);
  set(ErrorClass::kLost, kFailRule);
  set(ErrorClass::kDeadline, kFailRule);
  set(ErrorClass::kParentFailed, kFailRule);
  set(ErrorClass::kInvalidPayload, kFailRule);
  set(ErrorClass::kUnknownType, kFailRule);
  set(ErrorClass::kSuspended, kFailRule);
  return table;
}

constexpr ClassTable kDefaultTable = make_default_table();

}  // namespace

std::string_view name_of(Action action) {
  return name_in(kActionNames, action);
}

std::optional<Action> parse_action(std::string_view name) {
  return value_in<Action>(kActionNames, name);
}

std::string_view name_of(SessionUse use) {
  return name_in(kSessionUseNames, use);
}

std::optional<SessionUse> parse_session_use(std::string_view name) {
  return value_in<SessionUse>(kSessionUseNames, name);
}

Result<ErrorClass> parse_reported_class(std::string_view name) {
  const auto error_class = parse_error_class(name);
  if (error_class && !is_verdict(*error_class)) return *error_class;
  if (error_class) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("only Drover itself gives the class {}; name the reason that the run knows", name));
  }
  const auto known = std::views::iota(0, static_cast<int>(ErrorClass::kStalled)) |
                     std::views::transform([](int i) { return name_of(static_cast<ErrorClass>(i)); });
  const std::string_view nearest = closest_word(name, known);
  const std::string hint =
      nearest.empty() ? fmt::format("known: {}", fmt::join(known, ", ")) : fmt::format("did you mean \"{}\"?", nearest);
  return fail(ErrorCode::kInvalidArgument, fmt::format("unknown error class {} ({})", quoted_excerpt(name), hint));
}

const ClassTable& default_class_table() {
  return kDefaultTable;
}

}  // namespace drover
