#include "core/retry.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/planted_bug.h"

namespace drover {
namespace {

// Total, whatever a policy made by hand holds: no delay is negative, not a number, or longer than kDurationMax.
Millis to_delay(double delay_ms) {
  if (!(delay_ms > 0)) return Millis{0};
  return Millis{std::llround(std::min(delay_ms, static_cast<double>(kDurationMax.count())))};
}

double exponent_of(int attempts) {
  const double counted = attempts;
  if (planted(PlantedBug::kBackoffCompounds)) return counted * (counted - 1) / 2;
  return counted - 1;
}

Millis exponential_delay(const RetryPolicy& policy, int attempts, double unit) {
  const double jitter = policy.jitter;
  const double grown = static_cast<double>(policy.base.count()) * std::pow(policy.multiplier, exponent_of(attempts));
  const double longest = static_cast<double>(policy.cap.count()) / (1 + jitter);
  return to_delay(std::min(longest, grown) * (1 - jitter + 2 * jitter * unit));
}

Millis linear_delay(const RetryPolicy& policy, int attempts, double /*unit*/) {
  return to_delay(static_cast<double>(policy.base.count()) * (attempts - 1));
}

Millis fixed_delay(const RetryPolicy& policy, int /*attempts*/, double /*unit*/) {
  return policy.base;
}

Millis list_delay(const RetryPolicy& policy, int attempts, double /*unit*/) {
  if (policy.delays.empty()) return Millis{0};
  const auto index = static_cast<std::size_t>(std::max(attempts, 1) - 1);
  return policy.delays[std::min(index, policy.delays.size() - 1)];
}

using DelayOf = Millis (*)(const RetryPolicy&, int, double);
// In the order of RetryPolicy::Kind.
constexpr std::array<DelayOf, 4> kDelays{exponential_delay, linear_delay, fixed_delay, list_delay};

}  // namespace

Millis retry_delay(const RetryPolicy& policy, int attempts, double unit) {
  const Millis delay = kDelays[std::to_underlying(policy.kind)](policy, attempts, unit);
  return std::clamp(delay, Millis{0}, kDurationMax);
}

Millis defer_delay(int defers, double unit) {
  return exponential_delay(RetryPolicy{}, defers, unit);
}

}  // namespace drover
