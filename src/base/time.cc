#include "drover/time.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "base/text.h"

namespace drover {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::year_month_day;

constexpr Time kTimeMin{sys_days{std::chrono::year{0} / 1 / 1}};
constexpr Time kTimeMax{sys_days{std::chrono::year{10'000} / 1 / 1} - Millis{1}};

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Takes the parts of a timestamp off the front of a text; once a part is missing, ok() stays false.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

  // The one of these characters that comes next, or 0.
  char take_any(std::string_view characters) {
    if (rest_.empty() || !characters.contains(rest_.front())) return 0;
    const char found = rest_.front();
    rest_.remove_prefix(1);
    return found;
  }
  char expect_any(std::string_view characters) {
    const char found = take_any(characters);
    ok_ = ok_ && found != 0;
    return found;
  }
  // Exactly that many digits, within the bounds.
  int expect_number(std::size_t digits, int min, int max) {
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const char digit = expect_any("0123456789");
      if (digit == 0) return min;
      value = value * 10 + (digit - '0');
    }
    ok_ = ok_ && value >= min && value <= max;
    return value;
  }
  // One to nine digits after the point, as nanoseconds.
  std::chrono::nanoseconds expect_fraction() {
    std::int64_t value = expect_number(1, 0, 9);
    for (int digits = 1; digits < 9; ++digits) {
      const char digit = take_any("0123456789");
      value = value * 10 + (digit == 0 ? 0 : digit - '0');
    }
    return std::chrono::nanoseconds(value);
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

minutes expect_offset(Scanner& scan) {
  const char sign = scan.expect_any("Zz+-");
  if (sign != '+' && sign != '-') return minutes{0};
  const hours offset_hours{scan.expect_number(2, 0, 23)};
  scan.expect_any(":");
  const minutes offset = offset_hours + minutes{scan.expect_number(2, 0, 59)};
  return sign == '+' ? offset : -offset;
}

std::optional<Time> scan_time(std::string_view text) {
  Scanner scan(text);
  const int year = scan.expect_number(4, 0, 9999);
  scan.expect_any("-");
  const int month = scan.expect_number(2, 1, 12);
  scan.expect_any("-");
  const int day = scan.expect_number(2, 1, 31);
  scan.expect_any("Tt");
  const hours hour{scan.expect_number(2, 0, 23)};
  scan.expect_any(":");
  const minutes minute{scan.expect_number(2, 0, 59)};
  scan.expect_any(":");
  const seconds second{scan.expect_number(2, 0, 60)};
  std::chrono::nanoseconds fraction{0};
  if (scan.take_any(".") != 0) fraction = scan.expect_fraction();
  const minutes offset = expect_offset(scan);

  const year_month_day date = std::chrono::year{year} / month / day;
  if (!scan.ok() || !scan.at_end() || !date.ok()) return std::nullopt;
  const auto utc_minute = sys_days{date} + hour + minute - offset;
  // Leap seconds come only at the end of a day in UTC.
  if (second == seconds{60} && utc_minute != std::chrono::floor<days>(utc_minute) + hours{24} - minutes{1}) {
    return std::nullopt;
  }
  const Time time = utc_minute + second + std::chrono::floor<Millis>(fraction);
  if (time < kTimeMin || time > kTimeMax) return std::nullopt;
  return time;
}

struct Unit {
  std::string_view name;
  Millis length;
};
// Largest first; "ms" is told from "m" by the letters that follow the number, taken whole.
constexpr std::array<Unit, 5> kUnits{{
    {"d", days{1}},
    {"h", hours{1}},
    {"m", minutes{1}},
    {"s", seconds{1}},
    {"ms", Millis{1}},
}};

std::string_view take_while(std::string_view& text, bool (*wanted)(char)) {
  const auto size = static_cast<std::size_t>(std::ranges::find_if_not(text, wanted) - text.begin());
  const std::string_view taken = text.substr(0, size);
  text.remove_prefix(size);
  return taken;
}

// The number, or nothing when it is missing or exceeds kDurationMax in the smallest unit.
std::optional<std::int64_t> to_count(std::string_view digits) {
  if (digits.empty()) return std::nullopt;
  std::int64_t value = 0;
  for (const char digit : digits) {
    value = value * 10 + (digit - '0');
    if (value > kDurationMax.count()) return std::nullopt;
  }
  return value;
}

std::optional<Millis> scan_duration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  Millis total{0};
  auto units_left = kUnits.begin();
  while (!text.empty()) {
    const auto count = to_count(take_while(text, is_digit));
    const std::string_view name = take_while(text, [](char c) { return c >= 'a' && c <= 'z'; });
    const auto unit = std::find_if(units_left, kUnits.end(), [name](const Unit& u) { return u.name == name; });
    if (!count || unit == kUnits.end()) return std::nullopt;
    if (*count > (kDurationMax - total) / unit->length) return std::nullopt;
    total += *count * unit->length;
    units_left = std::next(unit);
  }
  return total;
}

}  // namespace

std::string format_time(Time time) {
  time = std::clamp(time, kTimeMin, kTimeMax);
  const sys_days day = std::chrono::floor<days>(time);
  const year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

Result<Time> parse_time(std::string_view text) {
  if (const auto time = scan_time(text)) return *time;
  return fail(
      ErrorCode::kInvalidArgument,
      "a time is written like 2026-11-15T19:50:37.123Z or 2026-11-15T20:50:37+01:00, not " + quoted_excerpt(text));
}

Result<Millis> parse_duration(std::string_view text) {
  if (text == "0") return Millis{0};  // the one number that needs no unit
  if (const auto duration = scan_duration(text)) return *duration;
  return fail(ErrorCode::kInvalidArgument,
              "a duration is a whole number with its unit, like 500ms, 30s, 5m, 2h, 7d or 1h30m, and at most " +
                  format_duration(kDurationMax) + ", not " + quoted_excerpt(text));
}

std::string format_duration(Millis duration) {
  if (duration == Millis{0}) return "0s";
  std::string text = duration < Millis{0} ? "-" : "";
  // Unsigned, because the smallest number has no positive counterpart.
  auto rest = static_cast<std::uint64_t>(duration.count());
  if (duration < Millis{0}) rest = 0 - rest;
  const auto append = [&](const Unit& unit) {
    const auto length = static_cast<std::uint64_t>(unit.length.count());
    if (rest >= length) text += fmt::format("{}{}", rest / length, unit.name);
    rest %= length;
  };
  for (const Unit& unit : kUnits) {
    // "1500ms" reads better than "1s500ms".
    if (unit.length == seconds{1} && rest % 1000 != 0) continue;
    append(unit);
  }
  return text;
}

}  // namespace drover
