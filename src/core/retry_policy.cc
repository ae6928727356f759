// The written form of retry policies: KIND:ARGS.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstddef>

#include "base/text.h"
#include "base/try.h"
#include "core/names.h"
#include "drover/task.h"

namespace drover {
namespace {

using Kind = RetryPolicy::Kind;
using Arguments = std::vector<std::string_view>;

constexpr Names<4> kKindNames{"exponential", "linear", "fixed", "list"};
constexpr double kMultiplierMax = 1'000;
constexpr std::size_t kDelaysMax = 100;
constexpr double kDefaultJitter = RetryPolicy{}.jitter;

Arguments split(std::string_view text) {
  Arguments parts;
  std::size_t comma = 0;
  while ((comma = text.find(',')) != std::string_view::npos) {
    parts.push_back(text.substr(0, comma));
    text.remove_prefix(comma + 1);
  }
  parts.push_back(text);
  return parts;
}

Result<double> parse_number(std::string_view text, double min, double max) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (whole && value >= min && value <= max) return value;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("expected a number from {} to {}, not {}", min, max, quoted_excerpt(text)));
}

std::unexpected<Error> wrong_form() {
  return fail(ErrorCode::kInvalidArgument,
              "a retry policy is exponential:BASE,MULTIPLIER,CAP[,JITTER], linear:STEP, fixed:DELAY or list:D1,D2,...");
}

// The delays are all durations; the first that is none is the error.
Result<std::vector<Millis>> parse_durations(const Arguments& texts) {
  std::vector<Millis> durations;
  for (const std::string_view text : texts) {
    const auto duration = TRY(parse_duration(text));
    durations.push_back(duration);
  }
  return durations;
}

Result<RetryPolicy> parse_exponential(const Arguments& arguments) {
  if (arguments.size() != 3 && arguments.size() != 4) return wrong_form();
  const auto bounds = TRY(parse_durations({arguments[0], arguments[2]}));
  const auto multiplier = TRY(parse_number(arguments[1], 1, kMultiplierMax));

  RetryPolicy policy{.base = bounds.front(), .multiplier = multiplier, .cap = bounds.back()};
  if (policy.base == Millis{0} || policy.cap < policy.base) {
    return fail(ErrorCode::kInvalidArgument, "an exponential retry needs a base above 0 and a cap not below the base");
  }
  if (arguments.size() == 4) {
    policy.jitter = TRY(parse_number(arguments[3], 0, 1));
  }
  return policy;
}

Result<RetryPolicy> parse_one_delay(Kind kind, const Arguments& arguments) {
  if (arguments.size() != 1) return wrong_form();
  const auto delay = TRY(parse_duration(arguments[0]));
  return RetryPolicy{.kind = kind, .base = delay};
}

Result<RetryPolicy> parse_linear(const Arguments& arguments) {
  return parse_one_delay(Kind::kLinear, arguments);
}

Result<RetryPolicy> parse_fixed(const Arguments& arguments) {
  return parse_one_delay(Kind::kFixed, arguments);
}

Result<RetryPolicy> parse_list(const Arguments& arguments) {
  if (arguments.size() > kDelaysMax) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("a retry list has at most {} delays", kDelaysMax));
  }
  auto delays = TRY(parse_durations(arguments));
  return RetryPolicy{.kind = Kind::kList, .delays = std::move(delays)};
}

using Parser = Result<RetryPolicy> (*)(const Arguments&);
constexpr std::array<Parser, kKindNames.size()> kParsers{parse_exponential, parse_linear, parse_fixed, parse_list};

// One unit, so that delays compare at a glance: "300s", not "5m".
std::string delay_text(Millis delay) {
  const auto count = delay.count();
  return count % 1000 == 0 ? fmt::format("{}s", count / 1000) : fmt::format("{}ms", count);
}

std::string exponential_text(const RetryPolicy& policy) {
  std::string text = fmt::format("{},{},{}", delay_text(policy.base), policy.multiplier, delay_text(policy.cap));
  if (policy.jitter != kDefaultJitter) text += fmt::format(",{}", policy.jitter);
  return text;
}

std::string one_delay_text(const RetryPolicy& policy) {
  return delay_text(policy.base);
}

std::string list_text(const RetryPolicy& policy) {
  std::string text;
  for (const Millis delay : policy.delays) {
    if (!text.empty()) text += ',';
    text += delay_text(delay);
  }
  return text;
}

using Formatter = std::string (*)(const RetryPolicy&);
constexpr std::array<Formatter, kKindNames.size()> kFormatters{exponential_text, one_delay_text, one_delay_text,
                                                               list_text};

}  // namespace

Result<RetryPolicy> parse_retry_policy(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return wrong_form();
  const auto kind = value_in<Kind>(kKindNames, text.substr(0, colon));
  if (!kind) return wrong_form();
  return kParsers[std::to_underlying(*kind)](split(text.substr(colon + 1)));
}

std::string to_string(const RetryPolicy& policy) {
  return fmt::format("{}:{}", name_in(kKindNames, policy.kind), kFormatters[std::to_underlying(policy.kind)](policy));
}

}  // namespace drover
