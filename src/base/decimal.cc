#include "base/decimal.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"

namespace drover {
namespace {

__extension__ typedef unsigned __int128 Wide;  // NOLINT(modernize-use-using): takes no __extension__

std::int64_t clamp_exponent(std::int64_t exponent) {
  return std::clamp(exponent, -Decimal::kExponentMax, Decimal::kExponentMax);
}

// "e+12"; nothing is 0.
std::int64_t parse_exponent(std::string_view text) {
  if (text.empty()) return 0;
  text.remove_prefix(1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec == std::errc::result_out_of_range) value = Decimal::kExponentMax;
  value = clamp_exponent(value);
  return negative ? -value : value;
}

std::uint64_t remainder_of(std::string_view digits, std::uint64_t divisor) {
  std::uint64_t rest = 0;
  for (const char digit : digits) {
    rest = static_cast<std::uint64_t>((Wide{rest} * 10 + static_cast<unsigned>(digit - '0')) % divisor);
  }
  return rest;
}

std::uint64_t power_of_ten(std::int64_t exponent, std::uint64_t modulus) {
  std::uint64_t power = 1 % modulus;
  std::uint64_t base = 10 % modulus;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) power = static_cast<std::uint64_t>(Wide{power} * base % modulus);
    base = static_cast<std::uint64_t>(Wide{base} * base % modulus);
  }
  return power;
}

}  // namespace

Decimal Decimal::parse(std::string_view json_number) {
  Decimal number;
  const bool negative = json_number.starts_with('-');
  if (negative) json_number.remove_prefix(1);
  const std::size_t mantissa_end = std::min(json_number.find_first_of("eE"), json_number.size());
  const std::string_view mantissa = json_number.substr(0, mantissa_end);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  number.digits_ = mantissa.substr(0, point);
  std::int64_t exponent = parse_exponent(json_number.substr(mantissa_end));
  if (point < mantissa.size()) {
    number.digits_ += mantissa.substr(point + 1);
    exponent -= static_cast<std::int64_t>(mantissa.size() - point - 1);
  }
  const std::size_t last = number.digits_.find_last_not_of('0');
  if (last == std::string::npos) return {};
  exponent += static_cast<std::int64_t>(number.digits_.size() - last - 1);
  number.digits_.resize(last + 1);
  number.digits_.erase(0, number.digits_.find_first_not_of('0'));
  number.exponent_ = clamp_exponent(exponent);
  number.negative_ = negative;
  return number;
}

bool Decimal::is_multiple_of(const Decimal& divisor) const {
  CHECK(divisor.may_divide());
  if (is_zero()) return true;
  // Our digits end in no zero, so no power of ten divides them.
  const std::int64_t shift = exponent_ - divisor.exponent_;
  if (shift < 0) return false;
  std::uint64_t modulus = 0;
  std::from_chars(divisor.digits_.data(), divisor.digits_.data() + divisor.digits_.size(), modulus);
  const Wide product = Wide{remainder_of(digits_, modulus)} * power_of_ten(shift, modulus);
  return product % modulus == 0;
}

std::string Decimal::to_string() const {
  if (is_zero()) return "0";
  std::string text = negative_ ? "-" : "";
  text += digits_;
  if (exponent_ != 0) text += "e" + std::to_string(exponent_);
  return text;
}

// Of the absolute values; neither is zero.
std::strong_ordering Decimal::compare_size(const Decimal& other) const {
  const auto magnitude = [](const Decimal& number) {
    return static_cast<std::int64_t>(number.digits_.size()) + number.exponent_;
  };
  if (const auto order = magnitude(*this) <=> magnitude(other); order != 0) return order;
  return digits_ <=> other.digits_;
}

std::strong_ordering Decimal::operator<=>(const Decimal& other) const {
  const auto sign = [](const Decimal& number) { return number.is_zero() ? 0 : number.negative_ ? -1 : 1; };
  if (const auto order = sign(*this) <=> sign(other); order != 0) return order;
  if (is_zero()) return std::strong_ordering::equal;
  return negative_ ? other.compare_size(*this) : compare_size(other);
}

}  // namespace drover
