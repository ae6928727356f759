#include "base/time_zone.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/text.h"

namespace drover {
namespace {

constexpr std::string_view kFolder = "/usr/share/zoneinfo/";
constexpr std::size_t kFileBytesMax = 1 << 20;
constexpr std::int64_t kSecondsOfDay = 86'400;

// Takes big-endian numbers and pieces off the front of the bytes; once some are missing, ok() stays false.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::string_view rest() const { return rest_; }
  std::string_view take(std::size_t count) {
    ok_ = ok_ && count <= rest_.size();
    if (!ok_) return {};
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::int64_t number(std::size_t bytes) {
    const std::string_view taken = take(bytes);
    std::uint64_t value = !taken.empty() && (taken.front() & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    for (const char byte : taken) value = value << 8 | static_cast<unsigned char>(byte);
    return static_cast<std::int64_t>(value);
  }
  std::size_t count() { return static_cast<std::uint32_t>(number(4)); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

struct Counts {
  std::size_t utc, standard, leaps, changes, types, letters;

  [[nodiscard]] std::size_t bytes(std::size_t time_bytes) const {
    return changes * (time_bytes + 1) + types * 6 + letters + leaps * (time_bytes + 4) + standard + utc;
  }
};

Counts read_header(Bytes& bytes) {
  bytes.take(20);
  Counts counts{};
  for (std::size_t* count :
       {&counts.utc, &counts.standard, &counts.leaps, &counts.changes, &counts.types, &counts.letters}) {
    *count = bytes.count();
  }
  return counts;
}

std::unexpected<Error> damaged() {
  return fail(ErrorCode::kInvalidArgument, "this is not a time zone file (RFC 8536, version 2 or later)");
}

bool is_zone_name(std::string_view name) {
  const auto is_fit = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_+-/").contains(c);
  };
  return !name.empty() && name.front() != '/' && std::ranges::all_of(name, is_fit);
}

Result<TimeZone> load_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return fail(ErrorCode::kNotFound, fmt::format("there is no time zone file {}", path.string()));
  }
  std::ifstream in(path, std::ios::binary);
  std::string bytes;
  for (auto at = std::istreambuf_iterator<char>(in); at != std::istreambuf_iterator<char>(); ++at) {
    if (bytes.size() == kFileBytesMax) return damaged();
    bytes += *at;
  }
  return TimeZone::parse(bytes);
}

}  // namespace

// "CET-1CEST,M3.5.0,M10.5.0/3"
class TimeZone::RuleReader {
 public:
  explicit RuleReader(std::string_view text) : rest_(text) {}

  std::optional<Rule> read() {
    Rule rule;
    take_name();
    rule.standard = static_cast<std::int32_t>(-take_time());
    if (!ok_ || rest_.empty()) return ok_ ? std::optional(rule) : std::nullopt;
    rule.has_summer = true;
    take_name();
    rule.summer = rest_.starts_with(',') ? rule.standard + 3'600 : static_cast<std::int32_t>(-take_time());
    rule.begin = take_day();
    rule.end = take_day();
    return ok_ && rest_.empty() ? std::optional(rule) : std::nullopt;
  }

 private:
  void take_name() {
    const bool is_quoted = skip('<');
    const auto is_part = [&](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (is_quoted && c != '>');
    };
    const auto length = std::ranges::find_if_not(rest_, is_part) - rest_.begin();
    ok_ = ok_ && length >= 3;
    rest_.remove_prefix(static_cast<std::size_t>(length));
    if (is_quoted) ok_ = skip('>') && ok_;
  }
  bool skip(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  int take_number(int max) {
    int value = 0;
    bool any = false;
    for (; !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9' && value <= max; rest_.remove_prefix(1)) {
      value = value * 10 + (rest_.front() - '0');
      any = true;
    }
    ok_ = ok_ && any && value <= max;
    return value;
  }
  std::int64_t take_time() {
    const bool is_negative = skip('-');
    if (!is_negative) skip('+');
    std::int64_t seconds = std::int64_t{take_number(167)} * 3'600;
    if (skip(':')) seconds += std::int64_t{take_number(59)} * 60;
    if (skip(':')) seconds += take_number(59);
    return is_negative ? -seconds : seconds;
  }
  YearDay take_day() {
    YearDay day;
    ok_ = skip(',') && ok_;
    if (skip('M')) {
      day.month = take_number(12);
      ok_ = skip('.') && day.month >= 1 && ok_;
      day.week = take_number(5);
      ok_ = skip('.') && day.week >= 1 && ok_;
      day.day = take_number(6);
    } else {
      day.kind = skip('J') ? YearDay::Kind::kJulian : YearDay::Kind::kZeroBased;
      day.day = take_number(365);
    }
    if (skip('/')) day.second = take_time();
    return day;
  }

  std::string_view rest_;
  bool ok_ = true;
};

// In UTC; `offset` holds until then.
std::int64_t TimeZone::start_of(const YearDay& day, int year, std::int32_t offset) {
  using namespace std::chrono;
  sys_days date = sys_days(std::chrono::year(year) / January / 1);
  switch (day.kind) {
    case YearDay::Kind::kJulian: {  // 29 February is never counted
      const bool is_after_leap_day = std::chrono::year(year).is_leap() && day.day >= 60;
      date += days(day.day - 1 + (is_after_leap_day ? 1 : 0));
      break;
    }
    case YearDay::Kind::kZeroBased:
      date += days(day.day);
      break;
    case YearDay::Kind::kWeekday: {
      const year_month month = std::chrono::year(year) / std::chrono::month(static_cast<unsigned>(day.month));
      const weekday wanted(static_cast<unsigned>(day.day));
      date = day.week == 5 ? sys_days(month / wanted[last]) : sys_days(month / wanted[static_cast<unsigned>(day.week)]);
      break;
    }
  }
  return date.time_since_epoch().count() * kSecondsOfDay + day.second - offset;
}

std::int32_t TimeZone::offset_by_rule(const Rule& rule, std::int64_t second) {
  if (!rule.has_summer) return rule.standard;
  using namespace std::chrono;
  const sys_days day = floor<days>(sys_seconds(seconds(second + rule.standard)));
  const int year = static_cast<int>(year_month_day(day).year());
  const std::int64_t begin = start_of(rule.begin, year, rule.standard);
  const std::int64_t end = start_of(rule.end, year, rule.summer);
  // South of the equator summer is at both ends of the year.
  const bool is_summer = begin < end ? second >= begin && second < end : second >= begin || second < end;
  return is_summer ? rule.summer : rule.standard;
}

std::chrono::seconds TimeZone::offset_at(Time time) const {
  const std::int64_t second = std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  const auto next = std::ranges::upper_bound(changes_, second, {}, &Change::at);
  if (next == changes_.end() && rule_) return std::chrono::seconds(offset_by_rule(*rule_, second));
  return std::chrono::seconds(next == changes_.begin() ? first_offset_ : std::prev(next)->offset);
}

Result<TimeZone> TimeZone::parse(std::string_view file) {
  constexpr std::size_t kCountMax = 10'000;
  if (!file.starts_with("TZif") || file.size() < 44 || file[4] < '2') return damaged();
  Bytes bytes(file);
  const Counts old = read_header(bytes);
  if (std::max({old.utc, old.standard, old.leaps, old.changes, old.types, old.letters}) > kCountMax) return damaged();
  bytes.take(old.bytes(4));  // the same in 32 bits
  const Counts counts = read_header(bytes);
  if (!bytes.ok() || counts.changes > kCountMax || counts.types == 0 || counts.types > 256) return damaged();

  TimeZone zone;
  for (std::size_t i = 0; i < counts.changes; ++i) zone.changes_.push_back({bytes.number(8), 0});
  const std::string_view types = bytes.take(counts.changes);
  std::vector<std::int32_t> offsets;
  for (std::size_t i = 0; i < counts.types; ++i) {
    offsets.push_back(static_cast<std::int32_t>(bytes.number(4)));
    bytes.take(2);  // whether it is summer, and where its letters are
  }
  const Counts rest{counts.utc, counts.standard, counts.leaps, 0, 0, counts.letters};
  if (std::max({rest.utc, rest.standard, rest.leaps, rest.letters}) > kCountMax) return damaged();
  bytes.take(rest.bytes(8));
  if (!bytes.ok() || !std::ranges::is_sorted(zone.changes_, {}, &Change::at)) return damaged();
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto type = static_cast<unsigned char>(types[i]);
    if (type >= offsets.size()) return damaged();
    zone.changes_[i].offset = offsets[type];
  }
  zone.first_offset_ = offsets.front();
  std::string_view footer = bytes.rest();
  if (footer.starts_with('\n')) footer.remove_prefix(1);
  zone.rule_ = RuleReader(footer.substr(0, footer.find('\n'))).read();
  return zone;
}

Result<TimeZone> TimeZone::load(std::string_view name) {
  if (!is_zone_name(name))
    return fail(ErrorCode::kNotFound, fmt::format("there is no time zone {}", quoted_excerpt(name)));
  return load_file(std::filesystem::path(kFolder) / name);
}

Result<TimeZone> TimeZone::local(std::string_view tz) {
  if (tz.starts_with(':')) tz.remove_prefix(1);
  if (tz.empty()) return load_file("/etc/localtime");
  if (tz.starts_with('/')) return load_file(tz);
  if (auto named = load(tz)) return named;
  TimeZone zone;
  zone.rule_ = RuleReader(tz).read();
  if (zone.rule_) return zone;
  return fail(ErrorCode::kNotFound, fmt::format("TZ={} names no time zone", quoted_excerpt(tz)));
}

std::optional<std::chrono::seconds> ZoneFiles::operator()(std::string_view name, Time at) {
  auto known = read_.find(name);
  if (known == read_.end()) {
    auto zone = name.empty() ? TimeZone::local(tz_) : TimeZone::load(name);
    // Without a file, a machine's clocks show UTC.
    if (!zone && name.empty() && tz_.empty()) zone = TimeZone::local("UTC0");
    if (!zone) return std::nullopt;
    known = read_.emplace(name, *std::move(zone)).first;
  }
  return known->second.offset_at(at);
}

}  // namespace drover
