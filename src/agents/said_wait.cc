#include "agents/said_wait.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace drover::agents {
namespace {

using re2::RE2;
using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::sys_days;
using std::chrono::year_month_day;

// A clock time is told in whole minutes, and takes a while to get here.
constexpr minutes kJustPassed{5};
// What stands further on in an error is not about waiting.
constexpr std::size_t kTextBytesMax = 16 * 1024;

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

int whole(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::optional<Millis> millis(double seconds) {
  const double told = std::ceil(seconds * 1'000);
  if (!(told >= 0 && told <= static_cast<double>(kDurationMax.count()))) return std::nullopt;
  return Millis(static_cast<std::int64_t>(told));
}

double seconds_in(std::string_view unit) {
  if (unit == "ms" || unit == "milli") return 0.001;
  if (unit == "m") return 60;
  if (unit == "h") return 3'600;
  if (unit == "d") return 86'400;
  return 1;
}

// "2 days 3 hours", "1m30s", "32.5s"
std::optional<Millis> sum_of_parts(std::string_view text) {
  static const RE2 kPart(R"((?i)(\d+(?:\.\d+)?)\s*(milli|ms|s|m|h|d)[a-z]*)");
  double total = 0;
  re2::StringPiece rest(text.data(), text.size());
  std::string amount;
  std::string unit;
  while (RE2::FindAndConsume(&rest, kPart, &amount, &unit)) {
    std::ranges::transform(unit, unit.begin(), [](char c) { return static_cast<char>(c | 0x20); });
    total += number(amount).value_or(0) * seconds_in(unit);
  }
  return millis(total);
}

std::optional<Millis> relative_wait(const std::string& text) {
  static const RE2 kIn(
      R"((?i)(?:again|retry|retrying|resets?|wait|available)\s+(?:in|after|for)[:\s]+(?:about |approximately )?)"
      R"(((?:\d+(?:\.\d+)?\s*(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)[,\s]*(?:and\s+)?)+)(?:[^a-z]|$))");
  static const RE2 kHeader(
      R"((?i)retry[-_ ]?(?:after|delay)["']?\s*[:=]?\s*["']?(\d+(?:\.\d+)?)(ms|s)?(?:[^a-z\d]|$))");
  std::string amount;
  std::string unit;
  if (RE2::PartialMatch(text, kIn, &amount)) return sum_of_parts(amount);
  if (RE2::PartialMatch(text, kHeader, &amount, &unit)) return millis(number(amount).value_or(0) * seconds_in(unit));
  return std::nullopt;
}

// Of a time on the clocks of a zone, as if that zone were UTC.
std::optional<Time> to_utc(std::chrono::sys_time<minutes> local, std::string_view zone, const WallClock& clock) {
  Time utc = local;
  for (int round = 0; round < 2; ++round) {  // the first guess may be on the other side of a change of clocks
    const auto offset = clock.offset(zone, utc);
    if (!offset) return std::nullopt;
    utc = Time(local) - *offset;
  }
  return utc;
}

constexpr std::array<std::string_view, 12> kMonths{"jan", "feb", "mar", "apr", "may", "jun",
                                                   "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kWeekdays{"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

template <std::size_t N>
unsigned index_of(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto is_it = [&](std::string_view known) {
    return std::ranges::equal(known, name.substr(0, 3), [](char a, char b) { return a == (b | 0x20); });
  };
  return static_cast<unsigned>(std::ranges::find_if(names, is_it) - names.begin());
}

struct ClockText {
  std::string month, day, year;
  std::string weekday;
  std::string hour, minute, half;  // half: a, p or none
  std::string zone;
};

std::optional<minutes> time_of_day(const ClockText& said) {
  int hour = whole(said.hour);
  if (!said.half.empty()) {
    if (hour < 1 || hour > 12) return std::nullopt;
    hour = hour % 12 + ((said.half.front() | 0x20) == 'p' ? 12 : 0);
  }
  const minutes found = hours(hour) + minutes(whole(said.minute));
  if (hour > 23 || whole(said.minute) > 59) return std::nullopt;
  return found;
}

std::optional<Time> on_date(const ClockText& said, minutes at, std::chrono::year year, const WallClock& clock) {
  const std::chrono::month month(index_of(kMonths, said.month) + 1);
  const year_month_day date = year / month / whole(said.day);
  if (!date.ok()) return std::nullopt;
  return to_utc(sys_days(date) + at, said.zone, clock);
}

// The first time that fits the text and is not long past.
std::optional<Time> next_time(const ClockText& said, const WallClock& clock) {
  const auto at = time_of_day(said);
  const auto offset = clock.offset(said.zone, clock.now);
  if (!at || !offset) return std::nullopt;
  const sys_days today = std::chrono::floor<days>(clock.now + *offset);
  if (!said.month.empty()) {
    if (!said.year.empty()) return on_date(said, *at, std::chrono::year(whole(said.year)), clock);
    const auto year = year_month_day(today).year();
    const auto found = on_date(said, *at, year, clock);
    return found && *found < clock.now - days(1) ? on_date(said, *at, year + std::chrono::years(1), clock) : found;
  }
  for (sys_days day = today; day <= today + days(7); day += days(1)) {
    const unsigned weekday = std::chrono::weekday(day).c_encoding();
    if (!said.weekday.empty() && weekday != index_of(kWeekdays, said.weekday)) continue;
    const auto found = to_utc(day + *at, said.zone, clock);
    if (!found || *found >= clock.now - kJustPassed) return found;
  }
  return std::nullopt;
}

std::optional<Time> clock_time(const std::string& text, const WallClock& clock) {
  static const RE2 kAt(
      R"((?i)(?:again|resets?|available|retry)(?: at| on)?:?\s+)"
      R"((?:(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?,?(?: at)?\s+)?)"
      R"((?:(sun|mon|tue|wed|thu|fri|sat)[a-z]*,?(?: at)?\s+)?)"
      R"((\d{1,2})(?::(\d\d)(?::\d\d)?)?\s*(?:([ap])\.?m\b\.?)?(?:\s*\(([a-z0-9_+/-]+)\)|\s+(UTC|GMT)\b)?)");
  ClockText said;
  std::string bare_zone;
  if (!RE2::PartialMatch(text, kAt, &said.month, &said.day, &said.year, &said.weekday, &said.hour, &said.minute,
                         &said.half, &said.zone, &bare_zone)) {
    return std::nullopt;
  }
  if (said.half.empty() && said.minute.empty()) return std::nullopt;  // a number, not a time
  if (said.zone.empty()) said.zone = bare_zone;
  return next_time(said, clock);
}

std::optional<Time> absolute_time(const std::string& text, const WallClock& clock) {
  static const RE2 kEpoch(R"((?i)limit reached\|(\d{9,13})\b)");
  static const RE2 kEpochMember(R"((?i)resets?_?at["']?\s*[:=]\s*["']?(\d{9,13})\b)");
  static const RE2 kIso(
      R"((?i)(?:again|resets?|available|retry)[^\n]{0,24}?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)))");
  std::int64_t epoch = 0;
  if (RE2::PartialMatch(text, kEpoch, &epoch) || RE2::PartialMatch(text, kEpochMember, &epoch)) {
    return epoch_time(epoch);
  }
  std::string iso;
  if (RE2::PartialMatch(text, kIso, &iso)) {
    const auto time = parse_time(iso);
    return time ? std::optional(*time) : std::nullopt;
  }
  return clock_time(text, clock);
}

}  // namespace

std::optional<std::chrono::seconds> utc_only(std::string_view zone, Time /*at*/) {
  if (zone.empty() || zone == "UTC" || zone == "GMT") return std::chrono::seconds(0);
  return std::nullopt;
}

std::optional<Millis> SaidWait::from(Time now) const {
  if (retry_after) return retry_after;
  return reset_at.transform([&](Time reset) { return std::max(reset - now, Millis(0)); });
}

SaidWait wait_in_time(std::string_view time, const WallClock& clock) {
  const SaidWait said = wait_in_header(time, clock);
  return said == SaidWait{} ? wait_in_text("resets " + std::string(time), clock) : said;
}

SaidWait wait_in_text(std::string_view text, const WallClock& clock) {
  const std::string plain = plain_text(text.substr(0, kTextBytesMax));
  return {.retry_after = relative_wait(plain), .reset_at = absolute_time(plain, clock)};
}

SaidWait wait_in_header(std::string_view value, const WallClock& clock, std::string_view answered) {
  if (const auto seconds = number(value)) return {.retry_after = millis(*seconds)};
  const auto until = http_date(value);
  if (!until) return {};
  // An output that is read long after it was written: how long the wait was then.
  const Time from = *until > clock.now ? clock.now : http_date(answered).value_or(clock.now);
  return {.retry_after = std::max(*until - from, Millis(0)), .reset_at = until};
}

std::optional<Time> epoch_time(std::int64_t number) {
  constexpr std::int64_t kSecondsMax = 100'000'000'000;  // the year 5138; in milliseconds, 1973
  constexpr std::int64_t kMillisMax = 1'000 * kSecondsMax;
  if (number <= 0 || number > kMillisMax) return std::nullopt;
  return Time(Millis(number < kSecondsMax ? number * 1'000 : number));
}

std::optional<Time> http_date(std::string_view text) {
  static const RE2 kDate(
      R"((?i)\s*(?:[a-z]+,\s*)?(\d{1,2})[ -]([a-z]{3})[ -](\d{4}) (\d\d):(\d\d):(\d\d) (?:GMT|UTC)\s*)");
  int day = 0;
  int year = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  std::string month;
  const re2::StringPiece whole_text(text.data(), text.size());
  if (!RE2::FullMatch(whole_text, kDate, &day, &month, &year, &hour, &minute, &second)) return std::nullopt;
  const year_month_day date = std::chrono::year(year) / std::chrono::month(index_of(kMonths, month) + 1) / day;
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  return Time(sys_days(date) + hours(hour) + minutes(minute) + std::chrono::seconds(second));
}

std::string plain_text(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 4> kForms{{
      {"\u2019", '\''},  // right single quotation mark
      {"\u2018", '\''},
      {"\u00a0", ' '},  // no-break space
      {"\u202f", ' '},  // its narrow form, before AM and PM
  }};
  std::string plain;
  while (!text.empty()) {
    const auto form = std::ranges::find_if(kForms, [&](const auto& entry) { return text.starts_with(entry.first); });
    plain += form != kForms.end() ? form->second : text.front();
    text.remove_prefix(form != kForms.end() ? form->first.size() : 1);
  }
  return plain;
}

}  // namespace drover::agents
