// Why a program failed, as its output says it.
#include "agents/output_trouble.h"

#include <gtest/gtest.h>

#include <sstream>

#include "unit/agents/fixture.h"

namespace drover::agents {
namespace {

// Clocks are in UTC here, so that the waits of the corpus are easy to check by hand.
const WallClock kUtc{.now = kNow};

std::vector<std::string> corpus_lines(const std::string& file) {
  std::istringstream in(read_file(DROVER_FIXTURES "/outputs/" + file));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("# ")) lines.push_back(line);
  }
  return lines;
}

std::string told_by(const std::vector<std::string>& lines, std::span<const OutputPattern> patterns = {}) {
  auto trouble = trouble_by_pattern(lines, patterns, kUtc);
  if (!trouble) trouble = usual_trouble(lines, kUtc);
  if (!trouble) return "nothing";
  const auto wait = trouble->wait.from(kNow);
  return std::string(name_of(trouble->error_class)) + " " + (wait ? std::to_string(wait->count()) : "-");
}

TEST(OutputTrouble, ClassifiesFailuresAsAPersonWould) {
  const std::vector<std::string> rows = corpus_lines("failures.tsv");
  EXPECT_GE(rows.size(), 40U);
  for (const std::string& row : rows) {
    const std::size_t wait_at = row.find('\t') + 1;
    const std::size_t line_at = row.find('\t', wait_at) + 1;
    const std::string wait = row.substr(wait_at, line_at - wait_at - 1);
    const std::string expected =
        row.substr(0, wait_at - 1) + " " + (wait == "-" ? wait : std::to_string(parse_duration(wait).value().count()));
    EXPECT_EQ(told_by({"Starting.", row.substr(line_at), "Goodbye."}), expected) << row.substr(line_at);
  }
}

TEST(OutputTrouble, LeavesHarmlessLinesAlone) {
  const std::vector<std::string> lines = corpus_lines("harmless.txt");
  EXPECT_GE(lines.size(), 40U);
  for (const std::string& line : lines) EXPECT_EQ(told_by({line}), "nothing") << line;
  EXPECT_EQ(told_by(lines), "nothing");
}

TEST(OutputTrouble, TheLastRefusalCounts) {
  EXPECT_EQ(told_by({"Error: 429 Too Many Requests", "Error: 401 Unauthorized", "bye"}), "auth -");
  EXPECT_EQ(told_by({"Error: 401 Unauthorized", "Error: 429 Too Many Requests"}), "rate_limited -");
}

TEST(OutputTrouble, AWaitMayStandInAnotherLine) {
  EXPECT_EQ(told_by({"< HTTP/2 429", "< retry-after: 30", "curl: (22) The requested URL returned error: 429"}),
            "rate_limited 30000");
  EXPECT_EQ(told_by({"RateLimitError: 429 Slow down", "  headers: {", "    'retry-after': '12',", "  }"}),
            "rate_limited 12000");
  EXPECT_EQ(told_by({"retrying in 2s", "Error: 429 Too Many Requests"}), "rate_limited -")
      << "what it waited before is not what is asked for at the end";
  EXPECT_EQ(told_by({"retry-after: 30", "HTTP 401: Bad credentials"}), "auth -");
}

TEST(OutputTrouble, ColoursAndCarriageReturnsDoNotMatter) {
  EXPECT_EQ(told_by({"\x1b[31;1mError:\x1b[0m 429 Too Many Requests\r"}), "rate_limited -");
}

TEST(OutputTrouble, PatternsComeFirstAndInTheirOrder) {
  const std::vector<OutputPattern> patterns{
      {R"(busy, back in (?P<seconds>\d+))", ErrorClass::kOverloaded},
      {R"(busy until (?P<time>.+)$)", ErrorClass::kQuotaExhausted},
      {"(?i)busy", ErrorClass::kRateLimited},
      {"no rate limit", ErrorClass::kAgentError},
  };
  EXPECT_EQ(told_by({"busy, back in 90 seconds"}, patterns), "overloaded 90000");
  EXPECT_EQ(told_by({"busy until 6:30 PM"}, patterns), "quota_exhausted 5400000");
  EXPECT_EQ(told_by({"busy until 2026-11-15T17:00:10Z"}, patterns), "quota_exhausted 10000");
  EXPECT_EQ(told_by({"busy until Sun, 15 Nov 2026 17:01:00 GMT"}, patterns), "quota_exhausted 60000");
  EXPECT_EQ(told_by({"busy until the cows come home"}, patterns), "quota_exhausted -");
  EXPECT_EQ(told_by({"BUSY", "retry-after: 7"}, patterns), "rate_limited 7000");
  EXPECT_EQ(told_by({"busy, back in 90", "BUSY"}, patterns), "overloaded 90000") << "an earlier pattern wins";
  EXPECT_EQ(told_by({"busy, back in 1", "busy, back in 2"}, patterns), "overloaded 2000") << "and its last line";
  EXPECT_EQ(told_by({"Error: 429 no rate limit"}, patterns), "agent_error -") << "Drover's own rules come last";
  EXPECT_EQ(told_by({"Error: 429 Too Many Requests"}, patterns), "rate_limited -");
}

TEST(OutputTrouble, ChecksPatterns) {
  EXPECT_TRUE(check_output_pattern("(?P<seconds>[0-9]+)"));
  EXPECT_FALSE(check_output_pattern(""));
  EXPECT_FALSE(check_output_pattern(std::string(1'025, 'x')));
  EXPECT_FALSE(check_output_pattern("("));
  EXPECT_FALSE(check_output_pattern("(?:(?:a{1000}){1000}){1000}")) << "more memory than a pattern needs";
}

TEST(OutputTail, KeepsTheLastLinesOfBothStreamsWithinBounds) {
  OutputTail tail;
  EXPECT_TRUE(tail.lines().empty());
  tail.feed(LogStream::kOut, "one\ntw");
  tail.feed(LogStream::kErr, "oops\nno");
  tail.feed(LogStream::kOut, "o\n\n");
  EXPECT_EQ(tail.lines(), (std::vector<std::string>{"one", "oops", "two", "no"}));
  for (int i = 0; i < 1'000; ++i) tail.feed(LogStream::kOut, std::to_string(i) + "\n");
  EXPECT_EQ(tail.lines().size(), 40U);
  EXPECT_EQ(tail.lines().front(), "961");
  EXPECT_EQ(tail.lines().back(), "no") << "the line that has not ended is the last";
  tail.feed(LogStream::kErr, std::string(5'000'000, 'x'));
  EXPECT_EQ(tail.lines().back().size(), 4'096U);
}

}  // namespace
}  // namespace drover::agents
