#include "base/time_zone.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "base/rng.h"

namespace drover {
namespace {

std::int64_t minutes_at(const TimeZone& zone, std::string_view time) {
  return std::chrono::floor<std::chrono::minutes>(zone.offset_at(*parse_time(time))).count();
}

TEST(TimeZone, Rules) {
  const TimeZone berlin = *TimeZone::local("CET-1CEST,M3.5.0,M10.5.0/3");
  EXPECT_EQ(minutes_at(berlin, "2026-11-15T12:00:00Z"), 60);
  EXPECT_EQ(minutes_at(berlin, "2026-07-15T12:00:00Z"), 120);
  EXPECT_EQ(minutes_at(berlin, "2026-03-29T00:59:59Z"), 60);
  EXPECT_EQ(minutes_at(berlin, "2026-03-29T01:00:00Z"), 120);
  EXPECT_EQ(minutes_at(berlin, "2026-10-25T00:59:59Z"), 120);
  EXPECT_EQ(minutes_at(berlin, "2026-10-25T01:00:00Z"), 60);
  const TimeZone sydney = *TimeZone::local("AEST-10AEDT,M10.1.0,M4.1.0/3");
  EXPECT_EQ(minutes_at(sydney, "2026-01-15T12:00:00Z"), 660);
  EXPECT_EQ(minutes_at(sydney, "2026-07-15T12:00:00Z"), 600);
  EXPECT_EQ(minutes_at(*TimeZone::local("<+0545>-5:45"), "2026-01-01T00:00:00Z"), 345);
  EXPECT_EQ(minutes_at(*TimeZone::local("UTC0"), "2026-01-01T00:00:00Z"), 0);
  const TimeZone by_days = *TimeZone::local("EST5EDT4,J60/0,300/0");
  EXPECT_EQ(minutes_at(by_days, "2028-03-01T05:00:00Z"), -240);
  EXPECT_EQ(minutes_at(by_days, "2028-03-01T04:59:59Z"), -300);
  EXPECT_EQ(minutes_at(by_days, "2027-10-28T04:00:00Z"), -300);
}

TEST(TimeZone, RulesThatAreNone) {
  for (const char* text :
       {"no such zone", "X", "ABC", "CET-1CEST", "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.5.0", "<AB>1x",
        "CET-1CEST,M3.0.0,M10.5.0", "CET-1CEST,M3.5.0,M10.5.0x", "../etc/passwd", "CET999999999999"}) {
    EXPECT_FALSE(TimeZone::local(text)) << text;
  }
  EXPECT_EQ(TimeZone::load("Nowhere/AtAll").error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(TimeZone::load("/etc/localtime"));
  EXPECT_FALSE(TimeZone::load(""));
}

// As the C library reads the same files.
TEST(TimeZone, AgreesWithTheSystem) {
  const char* before = std::getenv("TZ");
  const std::string kept = before != nullptr ? before : "";
  SeededRng rng(1);
  for (const char* name :
       {"UTC", "Europe/Lisbon", "America/New_York", "Australia/Sydney", "Asia/Kolkata", "America/Sao_Paulo",
        "Pacific/Apia", "Africa/Casablanca", "America/Nuuk", "Antarctica/Troll"}) {
    const auto zone = TimeZone::load(name);
    if (!zone) continue;  // a small system may lack it
    setenv("TZ", name, 1);
    tzset();
    for (int i = 0; i < 2'000; ++i) {
      const auto second = static_cast<std::time_t>(rng.below(4'000'000'000));  // until 2096
      std::tm local{};
      localtime_r(&second, &local);
      EXPECT_EQ(zone->offset_at(Time(std::chrono::seconds(second))).count(), local.tm_gmtoff) << name << " " << second;
    }
  }
  before != nullptr ? setenv("TZ", kept.c_str(), 1) : unsetenv("TZ");
  tzset();
}

TEST(ZoneFiles, AreReadByName) {
  ZoneFiles zones("CET-1");
  const Time winter = *parse_time("2026-11-15T12:00:00Z");
  EXPECT_EQ(zones("", winter), std::chrono::hours(1));
  EXPECT_EQ(zones("Nowhere/AtAll", winter), std::nullopt);
  EXPECT_EQ(ZoneFiles("no such zone")("", winter), std::nullopt);
  if (TimeZone::load("America/New_York")) {
    EXPECT_EQ(zones("America/New_York", winter), std::chrono::hours(-5));
    EXPECT_EQ(zones("America/New_York", winter), std::chrono::hours(-5));
  }
}

TEST(TimeZone, FilesThatAreNone) {
  EXPECT_FALSE(TimeZone::parse(""));
  EXPECT_FALSE(TimeZone::parse("TZif"));
  EXPECT_FALSE(TimeZone::parse(std::string("TZif1") + std::string(60, '\0')));
  EXPECT_FALSE(TimeZone::parse(std::string("TZif2") + std::string(100, '\xff')));
}

}  // namespace
}  // namespace drover
