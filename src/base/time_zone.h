// Time zones, from the system's own files (RFC 8536).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/error.h"
#include "drover/time.h"

namespace drover {

class TimeZone {
 public:
  // The bytes of a zone file.
  [[nodiscard]] static Result<TimeZone> parse(std::string_view file);
  // A zone by its name ("Europe/Lisbon") from /usr/share/zoneinfo. kNotFound if there is none.
  [[nodiscard]] static Result<TimeZone> load(std::string_view name);
  // The zone of this machine's clocks: `tz` is the variable TZ (empty: unset), which may be a name or a rule.
  [[nodiscard]] static Result<TimeZone> local(std::string_view tz);

  // How far its clocks are ahead of UTC.
  [[nodiscard]] std::chrono::seconds offset_at(Time time) const;

 private:
  struct Change {
    std::int64_t at;  // seconds since 1970
    std::int32_t offset;
  };
  // A day of each year, as POSIX writes it, and the time of that day.
  struct YearDay {
    enum class Kind : std::uint8_t { kJulian, kZeroBased, kWeekday } kind = Kind::kWeekday;
    int month = 0, week = 0, day = 0;
    std::int64_t second = 7'200;
  };
  // What holds after the last change: "WET0WEST,M3.5.0/1,M10.5.0".
  struct Rule {
    std::int32_t standard = 0;
    std::int32_t summer = 0;
    bool has_summer = false;
    YearDay begin{}, end{};
  };
  class RuleReader;

  [[nodiscard]] static std::int64_t start_of(const YearDay& day, int year, std::int32_t offset);
  [[nodiscard]] static std::int32_t offset_by_rule(const Rule& rule, std::int64_t second);

  std::int32_t first_offset_ = 0;
  std::vector<Change> changes_;  // ascending
  std::optional<Rule> rule_;
};

// Offsets of zones by name, whose files are read once. The empty name is this machine's own zone. One thread.
class ZoneFiles {
 public:
  // `tz` as for TimeZone::local.
  explicit ZoneFiles(std::string tz) : tz_(std::move(tz)) {}
  // Nothing for a zone that is not known.
  [[nodiscard]] std::optional<std::chrono::seconds> operator()(std::string_view name, Time at);

 private:
  std::string tz_;
  std::map<std::string, TimeZone, std::less<>> read_;
};

}  // namespace drover
