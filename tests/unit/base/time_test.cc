#include "drover/time.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/rng.h"

namespace drover {
namespace {

TEST(FormatTimeTest, ShowsUtcWithMilliseconds) {
  const struct {
    std::int64_t ms;
    std::string_view text;
  } rows[] = {
      {0, "1970-01-01T00:00:00.000Z"},
      {-1, "1969-12-31T23:59:59.999Z"},
      {1'794'772'237'123, "2026-11-15T19:50:37.123Z"},
      {951'782'400'000, "2000-02-29T00:00:00.000Z"},
      {253'402'300'799'999, "9999-12-31T23:59:59.999Z"},
      {-62'167'219'200'000, "0000-01-01T00:00:00.000Z"},
      {253'402'300'800'000, "9999-12-31T23:59:59.999Z"},
      {std::numeric_limits<std::int64_t>::max(), "9999-12-31T23:59:59.999Z"},
      {std::numeric_limits<std::int64_t>::min(), "0000-01-01T00:00:00.000Z"},
  };
  for (const auto& row : rows) EXPECT_EQ(format_time(Time{Millis{row.ms}}), row.text) << row.ms;
}

TEST(ParseTimeTest, ReadsRfc3339) {
  const struct {
    std::string_view text;
    std::string_view utc;
  } rows[] = {
      {"2026-11-15T19:50:37.123Z", "2026-11-15T19:50:37.123Z"},
      {"2026-11-15T19:50:37Z", "2026-11-15T19:50:37.000Z"},
      {"2026-11-15t19:50:37z", "2026-11-15T19:50:37.000Z"},
      {"2026-11-15T19:50:37.1Z", "2026-11-15T19:50:37.100Z"},
      {"2026-11-15T19:50:37.123456789Z", "2026-11-15T19:50:37.123Z"},
      {"2026-11-15T19:50:37.999999999Z", "2026-11-15T19:50:37.999Z"},
      {"1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z"},
      {"2026-11-15T19:50:37+00:00", "2026-11-15T19:50:37.000Z"},
      {"2026-11-15T19:50:37-00:00", "2026-11-15T19:50:37.000Z"},
      {"2026-11-15T19:50:37+01:00", "2026-11-15T18:50:37.000Z"},
      {"2026-11-15T19:50:37.5-08:30", "2026-11-16T04:20:37.500Z"},
      {"2027-01-01T00:00:00+23:59", "2026-12-31T00:01:00.000Z"},
      {"2024-02-29T12:00:00Z", "2024-02-29T12:00:00.000Z"},
      {"2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"},
      {"2017-01-01T00:59:60.5+01:00", "2017-01-01T00:00:00.500Z"},
      {"0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000Z"},
      {"9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"},
  };
  for (const auto& row : rows) {
    const auto time = parse_time(row.text);
    ASSERT_TRUE(time.has_value()) << row.text;
    EXPECT_EQ(format_time(*time), row.utc) << row.text;
  }
}

TEST(ParseTimeTest, RefusesEverythingElse) {
  for (const std::string_view text : {
           "",
           "2026",
           "2026-11-15",
           "19:50:37Z",
           "2026-11-15T19:50:37",
           "2026-11-15 19:50:37Z",
           "2026-11-15T19:50Z",
           "2026-11-15T19:50:37.Z",
           "2026-11-15T19:50:37,5Z",
           "2026-11-15T19:50:37.1234567890Z",
           "2026-11-15T19:50:37Z ",
           " 2026-11-15T19:50:37Z",
           "2026-11-15T19:50:37ZZ",
           "2026-11-15T19:50:37+1:00",
           "2026-11-15T19:50:37+0100",
           "2026-11-15T19:50:37+01",
           "2026-11-15T19:50:37+24:00",
           "2026-11-15T19:50:37+01:60",
           "2026-00-15T19:50:37Z",
           "2026-13-15T19:50:37Z",
           "2026-11-00T19:50:37Z",
           "2026-11-31T19:50:37Z",
           "2026-02-29T19:50:37Z",
           "1900-02-29T19:50:37Z",
           "2026-11-15T24:00:00Z",
           "2026-11-15T19:60:37Z",
           "2026-11-15T19:50:61Z",
           "2026-11-15T19:50:60Z",
           "2016-12-31T23:59:60+01:00",
           "+2026-11-15T19:50:37Z",
           "-026-11-15T19:50:37Z",
           "12026-11-15T19:50:37Z",
           "26-11-15T19:50:37Z",
           "2026-1-15T19:50:37Z",
           "0000-01-01T00:00:00+00:01",
           "9999-12-31T23:59:59-00:01",
           "9999-12-31T23:59:60Z",
           "1794772237",
           "now",
       }) {
    const auto time = parse_time(text);
    ASSERT_FALSE(time.has_value()) << text;
    EXPECT_EQ(time.error().code, ErrorCode::kInvalidArgument);
    EXPECT_TRUE(time.error().message.contains("2026-11-15T19:50:37.123Z")) << time.error().message;
  }
  EXPECT_FALSE(parse_time(std::string_view("2026-11-15T19:50:37Z\0", 21)).has_value());
}

TEST(ParseTimeTest, ReadsBackWhatFormatTimeWrites) {
  SeededRng rng(20261115);
  for (int i = 0; i < 2000; ++i) {
    const Time time{Millis{static_cast<std::int64_t>(rng.below(315'569'520'000'000)) - 62'167'219'200'000}};
    const auto back = parse_time(format_time(time));
    ASSERT_TRUE(back.has_value()) << format_time(time);
    EXPECT_EQ(*back, time);
  }
}

TEST(ParseDurationTest, ReadsNumbersWithUnits) {
  const struct {
    std::string_view text;
    std::int64_t ms;
  } rows[] = {
      {"0", 0},
      {"0s", 0},
      {"0ms", 0},
      {"500ms", 500},
      {"30s", 30'000},
      {"5m", 300'000},
      {"2h", 7'200'000},
      {"7d", 604'800'000},
      {"1h30m", 5'400'000},
      {"1d2h3m4s5ms", 93'784'005},
      {"1m5ms", 60'005},
      {"1h90m", 9'000'000},
      {"0090s", 90'000},
      {"36500d", 3'153'600'000'000},
      {"3153600000000ms", 3'153'600'000'000},
      {"36499d24h", 3'153'600'000'000},
  };
  for (const auto& row : rows) {
    const auto duration = parse_duration(row.text);
    ASSERT_TRUE(duration.has_value()) << row.text;
    EXPECT_EQ(duration->count(), row.ms) << row.text;
  }
}

TEST(ParseDurationTest, RefusesEverythingElse) {
  for (const std::string_view text : {
           "",
           "5",
           "s",
           "ms",
           "-5s",
           "+5s",
           " 5s",
           "5s ",
           "5 s",
           "1.5s",
           "1e3s",
           "5S",
           "5sec",
           "5us",
           "5w",
           "1h30",
           "30m1h",
           "1h1h",
           "5s5s",
           "5ms5s",
           "0x5s",
           "infinite",
           "36500d1ms",
           "36501d",
           "876001h",
           "3153600000001ms",
           "9223372036854775807ms",
           "9223372036854775808ms",
           "18446744073709551617s",
           "99999999999999999999999999999999999999999999d",
           "36500d36500d",
       }) {
    const auto duration = parse_duration(text);
    ASSERT_FALSE(duration.has_value()) << text;
    EXPECT_EQ(duration.error().code, ErrorCode::kInvalidArgument);
    EXPECT_TRUE(duration.error().message.contains("500ms, 30s, 5m, 2h, 7d")) << duration.error().message;
  }
}

TEST(ParseDurationTest, TheErrorShowsWhatWasGivenWithoutControlCharacters) {
  const auto duration = parse_duration("5\x1b[31m");
  ASSERT_FALSE(duration.has_value());
  EXPECT_TRUE(duration.error().message.ends_with(R"(not "5\u001b[31m")")) << duration.error().message;
}

TEST(FormatDurationTest, IsExact) {
  const struct {
    std::int64_t ms;
    std::string_view text;
  } rows[] = {
      {0, "0s"},
      {1, "1ms"},
      {999, "999ms"},
      {1'000, "1s"},
      {1'500, "1500ms"},
      {60'000, "1m"},
      {61'500, "1m1500ms"},
      {5'400'000, "1h30m"},
      {3'600'001, "1h1ms"},
      {86'400'000, "1d"},
      {90'061'000, "1d1h1m1s"},
      {3'153'600'000'000, "36500d"},
      {-1'500, "-1500ms"},
      {std::numeric_limits<std::int64_t>::min(), "-106751991167d7h12m55808ms"},
  };
  for (const auto& row : rows) EXPECT_EQ(format_duration(Millis{row.ms}), row.text);
}

TEST(FormatDurationTest, ParseDurationReadsItBack) {
  SeededRng rng(7);
  for (int i = 0; i < 2000; ++i) {
    const auto bound = std::uint64_t{1} << (1 + rng.below(41));
    const Millis duration{static_cast<std::int64_t>(rng.below(bound))};
    const auto back = parse_duration(format_duration(duration));
    ASSERT_TRUE(back.has_value()) << format_duration(duration);
    EXPECT_EQ(*back, duration);
  }
}

}  // namespace
}  // namespace drover
