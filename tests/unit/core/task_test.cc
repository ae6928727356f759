#include "drover/task.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/rng.h"
#include "core/policy.h"

namespace drover {
namespace {

using Kind = RetryPolicy::Kind;

TEST(TaskState, Names) {
  constexpr std::string_view kNames[] = {"blocked", "scheduled", "pending", "running",
                                         "stalled", "completed", "failed",  "cancelled"};
  for (int i = 0; i < kTaskStateCount; ++i) {
    const auto state = static_cast<TaskState>(i);
    EXPECT_EQ(name_of(state), kNames[i]);
    EXPECT_EQ(parse_task_state(kNames[i]), state);
  }
  EXPECT_EQ(parse_task_state("done"), std::nullopt);
}

TEST(OnParentFailure, Names) {
  EXPECT_EQ(name_of(OnParentFailure::kCancel), "cancel");
  EXPECT_EQ(parse_on_parent_failure("fail"), OnParentFailure::kFail);
  EXPECT_EQ(parse_on_parent_failure("run"), OnParentFailure::kRun);
  EXPECT_EQ(parse_on_parent_failure("ignore"), std::nullopt);
}

TEST(Priority, NumbersAndWords) {
  for (int rank = 0; rank <= kPriorityMax; ++rank) EXPECT_EQ(parse_priority(std::to_string(rank)), rank);
  EXPECT_EQ(parse_priority("critical"), 0);
  EXPECT_EQ(parse_priority("high"), 2);
  EXPECT_EQ(parse_priority("normal"), 5);
  EXPECT_EQ(parse_priority("low"), 8);
  EXPECT_EQ(parse_priority("interactive"), 2);
  EXPECT_EQ(parse_priority("background"), 7);
  for (const std::string_view text : {"", "10", "-1", "05", " 5", "High", "/", ":"}) {
    const auto priority = parse_priority(text);
    ASSERT_FALSE(priority) << text;
    EXPECT_EQ(priority.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(RetryPolicy, ReadsEveryKind) {
  EXPECT_EQ(parse_retry_policy("exponential:1s,2,300s"), RetryPolicy{});
  EXPECT_EQ(parse_retry_policy("exponential:250ms,1.5,1m,0.25"),
            (RetryPolicy{.base = Millis{250}, .multiplier = 1.5, .cap = Millis{60'000}, .jitter = 0.25}));
  EXPECT_EQ(parse_retry_policy("linear:60ms"), (RetryPolicy{.kind = Kind::kLinear, .base = Millis{60}}));
  EXPECT_EQ(parse_retry_policy("fixed:0s"), (RetryPolicy{.kind = Kind::kFixed, .base = Millis{0}}));
  EXPECT_EQ(parse_retry_policy("list:1s,5s,30s"),
            (RetryPolicy{.kind = Kind::kList, .delays = {Millis{1'000}, Millis{5'000}, Millis{30'000}}}));
}

TEST(RetryPolicy, IsWrittenAsItIsRead) {
  for (const std::string_view text :
       {"exponential:1s,2,300s", "exponential:250ms,1.5,60s,0.25", "exponential:1s,1,1s,0", "linear:60ms", "fixed:0s",
        "list:1s", "list:0s,5s,1500ms"}) {
    const auto policy = parse_retry_policy(text);
    ASSERT_TRUE(policy) << text;
    EXPECT_EQ(to_string(*policy), text);
  }
}

TEST(RetryPolicy, RefusesWhatMakesNoSense) {
  std::string long_list = "list:1s";
  for (int i = 0; i < 100; ++i) long_list += ",1s";
  for (const std::string_view text : {std::string_view(""),
                                      std::string_view("exponential"),
                                      std::string_view("fixed"),
                                      std::string_view("quadratic:1s"),
                                      std::string_view("exponential:"),
                                      std::string_view("exponential:1s,2"),
                                      std::string_view("exponential:1s,2,3s,0.1,5"),
                                      std::string_view("exponential:1,2,300s"),
                                      std::string_view("exponential:1s,2,x"),
                                      std::string_view("exponential:1s,x,300s"),
                                      std::string_view("exponential:1s,2x,300s"),
                                      std::string_view("exponential:1s,0.5,300s"),
                                      std::string_view("exponential:1s,1001,300s"),
                                      std::string_view("exponential:1s,nan,300s"),
                                      std::string_view("exponential:1s,2,300s,1.5"),
                                      std::string_view("exponential:1s,2,300s,-1"),
                                      std::string_view("exponential:0s,2,300s"),
                                      std::string_view("exponential:10s,2,1s"),
                                      std::string_view("linear:1s,2s"),
                                      std::string_view("linear:"),
                                      std::string_view("fixed:soon"),
                                      std::string_view("list:"),
                                      std::string_view("list:1s,,2s"),
                                      std::string_view("Fixed:1s"),
                                      std::string_view(long_list)}) {
    const auto policy = parse_retry_policy(text);
    ASSERT_FALSE(policy) << text;
    EXPECT_EQ(policy.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(RetryPolicyProperty, RoundTrips) {
  for (std::uint64_t seed = 1; seed <= 5'000; ++seed) {
    SeededRng rng(seed);
    const auto duration = [&rng](std::uint64_t max) { return Millis{static_cast<Millis::rep>(1 + rng.below(max))}; };
    RetryPolicy policy;
    policy.kind = static_cast<Kind>(rng.below(4));
    if (policy.kind == Kind::kList) {
      for (std::uint64_t i = 0; i <= rng.below(10); ++i) policy.delays.push_back(duration(1'000'000));
    } else {
      policy.base = duration(1'000'000);
    }
    if (policy.kind == Kind::kExponential) {
      policy.multiplier = 1 + 99 * rng.unit();
      policy.cap = policy.base + duration(1'000'000);
      policy.jitter = rng.unit();
    }
    const auto read_back = parse_retry_policy(to_string(policy));
    ASSERT_TRUE(read_back) << to_string(policy);
    ASSERT_EQ(*read_back, policy) << to_string(policy);
  }
}

TEST(Policy, UnknownTypesHaveTheDefaults) {
  Policy policy;
  policy.types["eng"].queue = "shared";
  policy.types["bare"].priority = 1;
  EXPECT_EQ(policy.type("eng").queue, "shared");
  EXPECT_EQ(policy.type("other"), TypePolicy{});
  EXPECT_EQ(policy.type("other").classes, default_class_table());
  EXPECT_EQ(policy.queue_of("eng"), "shared");
  EXPECT_EQ(policy.queue_of("bare"), "bare");
  EXPECT_EQ(policy.queue_of("other"), "other");
}

}  // namespace
}  // namespace drover
