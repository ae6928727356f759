#include "agents/said_wait.h"

#include <gtest/gtest.h>

#include "unit/agents/fixture.h"

namespace drover::agents {
namespace {

// "retry 2000", "reset 2026-…", "" or both, for a text.
std::string said(std::string_view text) {
  const SaidWait wait = wait_in_text(text, kClock);
  std::string story;
  if (wait.retry_after) story += "retry " + std::to_string(wait.retry_after->count());
  if (wait.reset_at) story += (story.empty() ? "reset " : " reset ") + format_time(*wait.reset_at);
  return story;
}

TEST(SaidWait, ClockTimesAreTheNextOnes) {
  // It is 18:00 here.
  EXPECT_EQ(said("or try again at 6:56 PM."), "reset 2026-11-15T17:56:00.000Z");
  EXPECT_EQ(said("Try again at 5:30 PM."), "reset 2026-11-16T16:30:00.000Z");
  EXPECT_EQ(said("try again at 5:56 PM"), "reset 2026-11-15T16:56:00.000Z") << "it has only just passed";
  EXPECT_EQ(said("try again at 12:00 AM."), "reset 2026-11-15T23:00:00.000Z");
  EXPECT_EQ(said("try again at 12:30 PM."), "reset 2026-11-16T11:30:00.000Z");
  EXPECT_EQ(said("try again at 6:56\u202fPM"), "reset 2026-11-15T17:56:00.000Z");
  EXPECT_EQ(said("try again at 18:30"), "reset 2026-11-15T17:30:00.000Z");
  EXPECT_EQ(said("resets at 7 p.m."), "reset 2026-11-15T18:00:00.000Z");
}

TEST(SaidWait, ZonesAreThoseNamed) {
  EXPECT_EQ(said("You've hit your limit · resets 1pm (Europe/Lisbon)"), "reset 2026-11-16T13:00:00.000Z");
  EXPECT_EQ(said("resets 1:30pm (America/New_York)"), "reset 2026-11-15T18:30:00.000Z");
  EXPECT_EQ(said("resets 8pm UTC"), "reset 2026-11-15T20:00:00.000Z");
  EXPECT_EQ(said("resets 1pm (Nowhere/AtAll)"), "") << "better none than a wrong one";
  // Clocks there go forward between now and then.
  EXPECT_EQ(said("resets 5am (Test/Spring)"), "reset 2026-11-16T03:00:00.000Z");
}

TEST(SaidWait, Dates) {
  EXPECT_EQ(said("try again at Nov 20th, 2026 6:56 PM."), "reset 2026-11-20T17:56:00.000Z");
  EXPECT_EQ(said("resets Nov 20, 1pm (Europe/Lisbon)"), "reset 2026-11-20T13:00:00.000Z");
  EXPECT_EQ(said("resets Nov 20 at 1pm (Europe/Lisbon)"), "reset 2026-11-20T13:00:00.000Z");
  EXPECT_EQ(said("resets Jan 3, 9am (UTC)"), "reset 2027-01-03T09:00:00.000Z");
  EXPECT_EQ(said("resets Tuesday 9:00 AM"), "reset 2026-11-17T08:00:00.000Z");
  EXPECT_EQ(said("resets at 2026-11-18T00:00:00Z"), "reset 2026-11-18T00:00:00.000Z");
  EXPECT_EQ(said("resets Feb 30, 9am (UTC)"), "");
  EXPECT_EQ(said("resets 2026-13-18T00:00:00Z"), "");
}

TEST(SaidWait, Epochs) {
  EXPECT_EQ(said("Claude AI usage limit reached|1763236800"), "reset 2025-11-15T20:00:00.000Z");
  EXPECT_EQ(said("Claude AI usage limit reached|1763236800000"), "reset 2025-11-15T20:00:00.000Z");
  EXPECT_EQ(said(R"({"resets_at": 1763236800})"), "reset 2025-11-15T20:00:00.000Z");
  EXPECT_EQ(epoch_time(0), std::nullopt);
  EXPECT_EQ(epoch_time(-5), std::nullopt);
  EXPECT_EQ(epoch_time(INT64_MAX), std::nullopt);
}

TEST(SaidWait, Durations) {
  EXPECT_EQ(said("Please try again in 1.898s."), "retry 1898");
  EXPECT_EQ(said("Please retry in 32.598400293s."), "retry 32599");
  EXPECT_EQ(said("Try again in 2 days 3 hours 5 minutes."), "retry 183900000");
  EXPECT_EQ(said("Your quota will reset after 21h12m33s."), "retry 76353000");
  EXPECT_EQ(said("retry after 5 seconds"), "retry 5000");
  EXPECT_EQ(said("Please wait for 2 Minutes"), "retry 120000");
  EXPECT_EQ(said("retrying in 900ms"), "retry 900");
  EXPECT_EQ(said("retry-after: 30"), "retry 30000");
  EXPECT_EQ(said(R"("retryDelay": "32s")"), "retry 32000");
  EXPECT_EQ(said("resets in 3h"), "retry 10800000");
}

TEST(SaidWait, NothingWhereNothingIsSaid) {
  for (const std::string_view text :
       {"", "Please wait and try again later.", "try again in a moment", "retry 3 of 5", "resets 25:00", "resets 13pm",
        "try again at 6", "exceeded retry limit, last status: 429", "try again in 99999999999999999999 days"}) {
    EXPECT_EQ(said(text), "") << text;
  }
}

TEST(SaidWait, Headers) {
  EXPECT_EQ(wait_in_header("2", kClock), (SaidWait{.retry_after = Millis(2'000)}));
  EXPECT_EQ(wait_in_header("0.5", kClock), (SaidWait{.retry_after = Millis(500)}));
  EXPECT_EQ(wait_in_header("Sun, 15 Nov 2026 17:01:30 GMT", kClock),
            (SaidWait{.retry_after = Millis(90'000), .reset_at = kNow + Millis(90'000)}));
  const Time past = *parse_time("2026-11-01T00:00:30Z");
  EXPECT_EQ(wait_in_header("Sun, 01 Nov 2026 00:00:30 GMT", kClock),
            (SaidWait{.retry_after = Millis(0), .reset_at = past}));
  EXPECT_EQ(wait_in_header("Sun, 01 Nov 2026 00:00:30 GMT", kClock, "Sun, 01 Nov 2026 00:00:00 GMT"),
            (SaidWait{.retry_after = Millis(30'000), .reset_at = past}));
  for (const std::string_view text : {"", "soon", "-1", "1e300", "nan", "Sun, 32 Nov 2026 17:01:30 GMT",
                                      "Sun, 15 Nox 2026 17:01:30 GMT", "Sun, 15 Nov 2026 25:01:30 GMT"}) {
    EXPECT_EQ(wait_in_header(text, kClock), SaidWait{}) << text;
  }
}

TEST(SaidWait, UtcAloneIsKnownWithoutZones) {
  EXPECT_EQ(utc_only("", kNow), std::chrono::seconds(0));
  EXPECT_EQ(utc_only("Europe/Lisbon", kNow), std::nullopt);
}

}  // namespace
}  // namespace drover::agents
