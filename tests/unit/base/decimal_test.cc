#include "base/decimal.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"

namespace drover {
namespace {

Decimal decimal(std::string_view text) {
  return Decimal::parse(text);
}

TEST(DecimalTest, EachNumberHasOneSpelling) {
  for (const std::string_view text : {"1.5", "1.50", "15e-1", "0.15e1", "0.015E+2", "150e-2"}) {
    EXPECT_EQ(decimal(text).to_string(), "15e-1") << text;
  }
  for (const std::string_view text : {"0", "-0", "0.000", "0e99", "-0.0E-7"}) {
    EXPECT_EQ(decimal(text).to_string(), "0") << text;
  }
  EXPECT_EQ(decimal("-100").to_string(), "-1e2");
  EXPECT_EQ(decimal("12345678901234567890123").to_string(), "12345678901234567890123");
}

TEST(DecimalTest, Compares) {
  const std::vector<std::string_view> ascending{"-1e400",
                                                "-12345678901234567890124",
                                                "-12345678901234567890123",
                                                "-2",
                                                "-1.5",
                                                "-1",
                                                "-1e-400",
                                                "0",
                                                "1e-400",
                                                "0.1",
                                                "0.10000000000000000000001",
                                                "1",
                                                "1.5",
                                                "9",
                                                "10",
                                                "99",
                                                "1e2",
                                                "9007199254740992",
                                                "9007199254740993",
                                                "12345678901234567890123",
                                                "1e400",
                                                "2e400"};
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    for (std::size_t j = 0; j < ascending.size(); ++j) {
      EXPECT_EQ(decimal(ascending[i]) <=> decimal(ascending[j]), i <=> j) << ascending[i] << " " << ascending[j];
      EXPECT_EQ(decimal(ascending[i]) == decimal(ascending[j]), i == j) << ascending[i] << " " << ascending[j];
    }
  }
}

TEST(DecimalTest, ExponentsBeyondTheBoundCountAsTheBound) {
  EXPECT_EQ(decimal("1e99999999999999999999999"), decimal("1e1000000000000"));
  EXPECT_EQ(decimal("1e-99999999999999999999999"), decimal("1e-1000000000000"));
  EXPECT_GT(decimal("1e99999999999999999999999"), decimal("9e999999"));
}

TEST(DecimalTest, IsWhole) {
  for (const std::string_view text : {"0", "3", "3.0", "30e-1", "1e400", "-7", "12345678901234567890123"}) {
    EXPECT_TRUE(decimal(text).is_whole()) << text;
  }
  for (const std::string_view text : {"0.5", "3.01", "1e-400", "-7.5", "31e-1"}) {
    EXPECT_FALSE(decimal(text).is_whole()) << text;
  }
}

TEST(DecimalTest, IsMultipleOf) {
  struct Row {
    std::string_view number;
    std::string_view divisor;
    bool multiple;
  };
  for (const Row& row : std::initializer_list<Row>{{"0", "7", true},
                                                   {"21", "7", true},
                                                   {"-21", "7", true},
                                                   {"22", "7", false},
                                                   {"0.3", "0.1", true},
                                                   {"0.10", "0.01", true},
                                                   {"0.105", "0.01", false},
                                                   {"1e400", "7", false},
                                                   {"7e400", "7", true},
                                                   {"5", "10", false},
                                                   {"10", "10", true},
                                                   {"1e-1", "1", false},
                                                   {"12345678901234567890123", "3", true},
                                                   {"12345678901234567890124", "3", false},
                                                   {"999999999999999999", "999999999999999999", true}}) {
    EXPECT_EQ(decimal(row.number).is_multiple_of(decimal(row.divisor)), row.multiple)
        << row.number << " " << row.divisor;
  }
  EXPECT_FALSE(decimal("0").may_divide());
  EXPECT_FALSE(decimal("-2").may_divide());
  EXPECT_FALSE(decimal("1234567890123456789").may_divide());
}

TEST(DecimalTest, AgreesWithWholeNumbers) {
  SeededRng rng(11);
  for (int i = 0; i < 5'000; ++i) {
    const auto a = static_cast<std::int64_t>(rng.below(2'000)) - 1'000;
    const auto b = static_cast<std::int64_t>(rng.below(2'000)) - 1'000;
    const Decimal first = decimal(std::to_string(a) + "e-2");
    const Decimal second = decimal(std::to_string(b) + "e-2");
    EXPECT_EQ(first <=> second, a <=> b) << a << " " << b;
    if (b > 0) {
      EXPECT_EQ(first.is_multiple_of(second), a % b == 0) << a << " " << b;
    }
  }
}

}  // namespace
}  // namespace drover
