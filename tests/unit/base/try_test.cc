#include "base/try.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "drover/error.h"

namespace drover {
namespace {

Result<int> number(int n) {
  if (n < 0) return fail(ErrorCode::kInvalidArgument, "negative", "number");
  return n;
}

Status check(int n) {
  if (n > 9) return fail(ErrorCode::kLimitExceeded, "too many");
  return {};
}

Result<std::string> digit(int n) {
  const int value = TRY(number(n));
  TRY(check(value));
  return std::to_string(value);
}

TEST(TryTest, GivesTheValue) {
  EXPECT_EQ(digit(7), "7");
}

TEST(TryTest, HandsTheErrorOnAsItIs) {
  EXPECT_EQ(digit(-1).error(), (Error{ErrorCode::kInvalidArgument, "negative", "number"}));
  EXPECT_EQ(digit(10).error().code, ErrorCode::kLimitExceeded);
}

TEST(TryTest, MovesWhatIsHandedOver) {
  const auto unwrap = [](Result<std::unique_ptr<int>> given) -> Result<int> {
    const std::unique_ptr<int> owned = TRY(std::move(given));
    return *owned;
  };
  EXPECT_EQ(unwrap(std::make_unique<int>(3)), 3);
}

TEST(TryTest, LeavesAVariableAsItIs) {
  const auto read = [](const Result<std::string>& given) -> Result<std::size_t> {
    const std::string copy = TRY(given);
    return copy.size() + given->size();
  };
  EXPECT_EQ(read("twice"), 10U);
}

TEST(TryTest, EvaluatesOnce) {
  int calls = 0;
  const auto run = [&]() -> Status {
    TRY(number(++calls));
    return {};
  };
  EXPECT_TRUE(run().has_value());
  EXPECT_EQ(calls, 1);
}

// Everything that the function has made is destroyed on the way out.
TEST(TryTest, DestroysWhatTheFunctionHolds) {
  const auto witness = std::make_shared<int>(0);
  const auto run = [&](const std::shared_ptr<int>& given) -> Status {
    const std::shared_ptr<int> held = given;
    for (const std::shared_ptr<int> inner = held;;) TRY(number(-1));
  };
  EXPECT_FALSE(run(witness).has_value());
  EXPECT_EQ(witness.use_count(), 1);
}

}  // namespace
}  // namespace drover
