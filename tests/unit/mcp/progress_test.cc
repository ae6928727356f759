// What a client that waits is told: at once, whenever there is news, from time to time, and always more.
#include "mcp/progress.h"

#include <gtest/gtest.h>

#include "support/must.h"

namespace drover::mcp {
namespace {

using test::must;

constexpr MonoTime kStart{Millis{1'000'000}};

Request request_with_token(std::string_view token) {
  return {.message = {}, .progress_token = std::string(token)};
}

double told_progress(const std::optional<std::string>& notification) {
  EXPECT_TRUE(notification.has_value());
  const json::Value message = must(json::parse(notification.value_or("{}")));
  const json::Value* params = message.find("params");
  return params != nullptr && params->find("progress") != nullptr ? std::stod(json::dump(*params->find("progress")))
                                                                  : -1;
}

TEST(McpProgress, IsToldToThoseOnlyWhoAskedForIt) {
  Told told;
  EXPECT_EQ(tell_progress(Request{}, {.total = 1}, told, kStart), std::nullopt);
}

TEST(McpProgress, IsToldAtOnceAndWheneverItGrows) {
  const Request request = request_with_token("\"t\"");
  Told told;
  const auto first = tell_progress(request, {.done = 0, .total = 2}, told, kStart);
  EXPECT_EQ(told_progress(first), 0);
  EXPECT_NE(first->find(R"("progressToken":"t")"), std::string::npos) << *first;
  EXPECT_NE(first->find(R"("total":200)"), std::string::npos) << *first;
  EXPECT_EQ(tell_progress(request, {.done = 0, .total = 2}, told, kStart + Millis{1}), std::nullopt) << "nothing new";
  EXPECT_EQ(told_progress(tell_progress(request, {.total = 2, .percent = 50}, told, kStart + Millis{2})), 50);
  const auto later = tell_progress(request, {.done = 1, .total = 2, .percent = 150}, told, kStart + Millis{3});
  EXPECT_EQ(told_progress(later), 150);
  EXPECT_NE(later->find("1 of 2 tasks have ended"), std::string::npos) << *later;
}

TEST(McpProgress, GrowsEvenIfNothingDoes) {
  const Request request = request_with_token("7");
  Told told;
  double last = told_progress(tell_progress(request, {.total = 1, .percent = 30}, told, kStart));
  MonoTime now = kStart;
  for (int i = 0; i < 1'200; ++i) {
    now = now + (kProgressEvery - Millis{1});
    EXPECT_EQ(tell_progress(request, {.total = 1, .percent = 30}, told, now), std::nullopt);
    now = now + Millis{1};
    const double next = told_progress(tell_progress(request, {.total = 1, .percent = 30}, told, now));
    ASSERT_GT(next, last);
    last = next;
  }
}

TEST(McpProgress, NeverGoesBack) {
  const Request request = request_with_token("7");
  Told told;
  EXPECT_EQ(told_progress(tell_progress(request, {.total = 1, .percent = 80}, told, kStart)), 80);
  EXPECT_EQ(tell_progress(request, {.total = 1, .percent = 10}, told, kStart + Millis{1}), std::nullopt)
      << "the task began again";
  EXPECT_GT(told_progress(tell_progress(request, {.total = 1, .percent = 10}, told, kStart + kProgressEvery)), 80);
}

}  // namespace
}  // namespace drover::mcp
