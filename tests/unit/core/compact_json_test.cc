// One value of a task in compact JSON comes back, and nothing else passes for it.
#include "core/compact_json.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "support/must.h"

namespace drover {
namespace {

template <class T>
std::string written(const T& value) {
  json::Writer out;
  compact::write(out, value);
  return std::move(out).take();
}

template <class T>
std::optional<T> read(std::string_view text) {
  std::optional<T> value;
  return compact::read(test::must(json::parse(text)), value) ? value : std::nullopt;
}

TEST(CompactJson, KeepsNumbersWithinTheirType) {
  EXPECT_EQ(read<int>("-2147483648"), std::numeric_limits<int>::min());
  EXPECT_EQ(read<int>("-2147483649"), std::nullopt);
  EXPECT_EQ(read<int>("2147483648"), std::nullopt);
  EXPECT_EQ(read<int>("1.0"), std::nullopt);
  EXPECT_EQ(read<Millis>("-5"), Millis{-5});
  EXPECT_EQ(read<Millis>(R"("5")"), std::nullopt);
}

TEST(CompactJson, KeepsALostRun) {
  LeaseId::Bytes bytes{};
  bytes[0] = 7;
  const LostRun lost{.run = 3, .lease = LeaseId(bytes)};
  EXPECT_EQ(read<LostRun>(written(lost)), lost);
  EXPECT_EQ(read<LostRun>("3"), std::nullopt);
  EXPECT_EQ(read<LostRun>(R"("3")"), std::nullopt);
}

}  // namespace
}  // namespace drover
