#include "core/retry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "base/rng.h"

namespace drover {
namespace {

using Kind = RetryPolicy::Kind;

constexpr double kLastUnit = 0x1.fffffffffffffp-1;  // the largest double below 1

RetryPolicy exponential(Millis base, double multiplier, Millis cap, double jitter) {
  return {.base = base, .multiplier = multiplier, .cap = cap, .jitter = jitter};
}

TEST(RetryDelay, TheExponentIsAttemptsMinusOne) {
  const RetryPolicy policy{.jitter = 0};
  EXPECT_EQ(retry_delay(policy, 1, 0), Millis{1'000});
  EXPECT_EQ(retry_delay(policy, 2, 0), Millis{2'000});
  EXPECT_EQ(retry_delay(policy, 3, 0), Millis{4'000});
  EXPECT_EQ(retry_delay(policy, 9, 0), Millis{256'000});
  EXPECT_EQ(retry_delay(policy, 10, 0), Millis{300'000});
  EXPECT_EQ(retry_delay(policy, std::numeric_limits<int>::max(), 0), Millis{300'000});
}

TEST(RetryDelay, JitterIsTenPercentEitherWay) {
  const RetryPolicy policy;
  EXPECT_EQ(retry_delay(policy, 1, 0), Millis{900});
  EXPECT_EQ(retry_delay(policy, 1, 0.5), Millis{1'000});
  EXPECT_EQ(retry_delay(policy, 1, kLastUnit), Millis{1'100});
  // At the cap the whole range lies below it.
  EXPECT_EQ(retry_delay(policy, 50, kLastUnit), Millis{300'000});
  EXPECT_EQ(retry_delay(policy, 50, 0), Millis{std::llround(300'000 / 1.1 * 0.9)});
}

RetryPolicy random_exponential(Rng& rng) {
  const Millis base{static_cast<Millis::rep>(1 + rng.below(100'000))};
  const Millis cap{base.count() * static_cast<Millis::rep>(1 + rng.below(1'000))};
  return exponential(base, 1 + 9 * rng.unit(), cap, rng.unit());
}

TEST(RetryDelayProperty, NeverAboveTheCapNeverBelowItsFloor) {
  for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
    SeededRng rng(seed);
    const RetryPolicy policy = random_exponential(rng);
    const int attempts = 1 + static_cast<int>(rng.below(200));
    const double unit = rng.below(10) == 0 ? kLastUnit : rng.unit();
    const Millis delay = retry_delay(policy, attempts, unit);
    ASSERT_LE(delay, policy.cap) << "seed " << seed;
    // Written anew from the design: min(cap / (1 + j), base · m^(attempts−1)) · U(1 − j, 1 + j).
    const double j = policy.jitter;
    const double middle =
        std::fmin(static_cast<double>(policy.cap.count()) / (1 + j),
                  static_cast<double>(policy.base.count()) * std::pow(policy.multiplier, attempts - 1));
    ASSERT_GE(static_cast<double>(delay.count()), std::floor(middle * (1 - j))) << "seed " << seed;
    ASSERT_LE(static_cast<double>(delay.count()), std::ceil(middle * (1 + j))) << "seed " << seed;
  }
}

TEST(RetryDelayProperty, FirstDelayIsNeverBelowTheJitteredBase) {
  for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
    SeededRng rng(seed);
    RetryPolicy policy = random_exponential(rng);
    policy.cap = policy.base * 2;  // at least base · (1 + j)
    const double floor_ms = static_cast<double>(policy.base.count()) * (1 - policy.jitter);
    ASSERT_GE(retry_delay(policy, 1, rng.unit()).count(), std::floor(floor_ms)) << "seed " << seed;
  }
}

TEST(RetryDelayProperty, LongDelaysStillDiffer) {
  SeededRng rng(1);
  const RetryPolicy policy;
  std::set<Millis> delays;
  for (int i = 0; i < 1'000; ++i) delays.insert(retry_delay(policy, 40, rng.unit()));
  EXPECT_GT(delays.size(), 950u);
  EXPECT_LE(*delays.rbegin(), policy.cap);
  EXPECT_GT(*delays.rbegin(), policy.cap * 99 / 100);
  EXPECT_LT(*delays.begin(), policy.cap * 83 / 100);
}

TEST(RetryDelayProperty, GrowsByTheMultiplierUntilTheCap) {
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    SeededRng rng(seed);
    RetryPolicy policy = random_exponential(rng);
    policy.jitter = 0;
    Millis last{0};
    for (int attempts = 1; attempts <= 30; ++attempts) {
      const Millis delay = retry_delay(policy, attempts, rng.unit());
      ASSERT_GE(delay, last) << "seed " << seed;
      last = delay;
    }
  }
}

TEST(RetryDelay, LinearStartsAtOnce) {
  const RetryPolicy policy{.kind = Kind::kLinear, .base = Millis{60}};
  EXPECT_EQ(retry_delay(policy, 1, 0.9), Millis{0});
  EXPECT_EQ(retry_delay(policy, 2, 0.9), Millis{60});
  EXPECT_EQ(retry_delay(policy, 3, 0.9), Millis{120});
  EXPECT_EQ(retry_delay(policy, 101, 0.9), Millis{6'000});
}

TEST(RetryDelay, FixedAndList) {
  const RetryPolicy fixed{.kind = Kind::kFixed, .base = Millis{70}};
  EXPECT_EQ(retry_delay(fixed, 1, 0.9), Millis{70});
  EXPECT_EQ(retry_delay(fixed, 9, 0.1), Millis{70});

  const RetryPolicy list{.kind = Kind::kList, .delays = {Millis{1}, Millis{5}, Millis{30}}};
  EXPECT_EQ(retry_delay(list, 0, 0), Millis{1});
  EXPECT_EQ(retry_delay(list, 1, 0), Millis{1});
  EXPECT_EQ(retry_delay(list, 2, 0), Millis{5});
  EXPECT_EQ(retry_delay(list, 3, 0), Millis{30});
  EXPECT_EQ(retry_delay(list, 4, 0), Millis{30});
  EXPECT_EQ(retry_delay(list, std::numeric_limits<int>::max(), 0), Millis{30});
  EXPECT_EQ(retry_delay(RetryPolicy{.kind = Kind::kList}, 1, 0), Millis{0});
}

// Policies made by hand may hold anything; a delay is always one that can be added to a time.
TEST(RetryDelay, IsTotal) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Millis base : {Millis::min(), Millis{-1}, Millis{0}, Millis{1}, Millis::max()}) {
    for (const double number : {-inf, -1.0, 0.0, 1.0, 1e308, inf, nan}) {
      for (const Kind kind : {Kind::kExponential, Kind::kLinear, Kind::kFixed, Kind::kList}) {
        const RetryPolicy policy{kind, base, number, base, number, {base}};
        for (const int attempts : {-1, 0, 1, 5, std::numeric_limits<int>::max()}) {
          const Millis delay = retry_delay(policy, attempts, 0.5);
          EXPECT_GE(delay, Millis{0});
          EXPECT_LE(delay, kDurationMax);
        }
      }
    }
  }
}

TEST(DeferDelay, GrowsToFiveMinutes) {
  EXPECT_EQ(defer_delay(1, 0.5), Millis{1'000});
  EXPECT_EQ(defer_delay(2, 0.5), Millis{2'000});
  EXPECT_LE(defer_delay(100, kLastUnit), Millis{300'000});
  EXPECT_GT(defer_delay(100, 0), Millis{240'000});
}

}  // namespace
}  // namespace drover
