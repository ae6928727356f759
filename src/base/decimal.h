// Decimal numbers of any length, exactly: what JSON numbers mean when no double may come between.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace drover {

class Decimal {
 public:
  // Requires the text of a JSON number. Exponents beyond ±kExponentMax count as that.
  [[nodiscard]] static Decimal parse(std::string_view json_number);

  [[nodiscard]] bool is_zero() const { return digits_.empty(); }
  [[nodiscard]] bool is_negative() const { return negative_; }
  // 3, 3.0 and 30e-1 are whole.
  [[nodiscard]] bool is_whole() const { return exponent_ >= 0; }
  [[nodiscard]] bool may_divide() const { return !is_zero() && !negative_ && digits_.size() <= kDivisorDigitsMax; }
  // Requires divisor.may_divide().
  [[nodiscard]] bool is_multiple_of(const Decimal& divisor) const;
  // One spelling for each number: 1.50, 15e-1 and 0.15e1 are all "15e-1".
  [[nodiscard]] std::string to_string() const;

  [[nodiscard]] std::strong_ordering operator<=>(const Decimal& other) const;
  bool operator==(const Decimal&) const = default;

  static constexpr std::int64_t kExponentMax = 1'000'000'000'000;
  static constexpr std::size_t kDivisorDigitsMax = 18;

 private:
  [[nodiscard]] std::strong_ordering compare_size(const Decimal& other) const;

  // The number is ±digits × 10^exponent, without zeros at either end of the digits; zero has none, and no sign.
  std::string digits_;
  std::int64_t exponent_ = 0;
  bool negative_ = false;
};

}  // namespace drover
