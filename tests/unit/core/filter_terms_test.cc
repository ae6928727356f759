#include "core/filter_terms.h"

#include <gtest/gtest.h>

#include "support/must.h"

namespace drover::test {
namespace {

constexpr Time kNow{Millis(1'700'000'000'000)};

TaskFilter parsed(std::string_view query) {
  TaskFilter filter;
  must(add_task_query(filter, query, kNow));
  return filter;
}

std::string refused(std::string_view query) {
  TaskFilter filter;
  const Status added = add_task_query(filter, query, kNow);
  EXPECT_FALSE(added) << query;
  if (added) return "";
  EXPECT_EQ(added.error().code, ErrorCode::kInvalidArgument);
  return added.error().message;
}

TEST(FilterTerms, AQueryHasTheNamesOfTheCommandLine) {
  const TaskFilter filter = parsed("state:failed,stalled queue:eng tag:x type:a,b worker:h:1:2 timed out");
  EXPECT_EQ(filter.states, (std::vector{TaskState::kFailed, TaskState::kStalled}));
  EXPECT_EQ(filter.queue, AnyOf("eng"));
  EXPECT_EQ(filter.tag, AnyOf("x"));
  EXPECT_EQ(filter.type.names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(filter.worker_id, "h:1:2");
  EXPECT_EQ(filter.search, "timed out");
}

TEST(FilterTerms, AnEmptyQueryFiltersNothing) {
  EXPECT_EQ(parsed(""), TaskFilter{});
  EXPECT_EQ(parsed("   "), TaskFilter{});
  EXPECT_EQ(parsed("\"\""), TaskFilter{});
}

TEST(FilterTerms, QuotesKeepBlanksAndColonsTogether) {
  EXPECT_EQ(parsed(R"("http://x y")").search, "http://x y");
  EXPECT_EQ(parsed(R"(model:"a b" rest)").model, "a b");
  EXPECT_EQ(parsed("12:30").search, "12:30") << "no name begins with a digit";
}

TEST(FilterTerms, TimesMayBeHowLongAgo) {
  EXPECT_EQ(parsed("since:2h").created_since, kNow - Millis(2 * 3'600'000));
  EXPECT_EQ(parsed("until:2026-01-01T00:00:00Z").created_until, parse_time("2026-01-01T00:00:00Z").value());
  TaskFilter filter;
  EXPECT_FALSE(add_filter_term(filter, "since", "2h", std::nullopt)) << "of a URL a time is absolute";
}

TEST(FilterTerms, ErrorsNameTheTerm) {
  EXPECT_EQ(refused("queue:eng state:faild"),
            "\"state:faild\": unknown state \"faild\"; the states are blocked, scheduled, pending, running, stalled, "
            "completed, failed, cancelled");
  EXPECT_EQ(refused("stat:failed"), "\"stat:failed\": there is no term \"stat\"; did you mean state?");
  EXPECT_EQ(refused("http://x"), "\"http://x\": there is no term \"http\"; to search for it, put it in quotes");
  EXPECT_EQ(refused("tag:"), "\"tag:\": a value is missing");
  EXPECT_EQ(refused("tag:\"open"), "\"tag:\\\"open\": the quote is not closed");
  EXPECT_EQ(refused("worker:a worker:b"), "\"worker:b\": it is given twice");
  EXPECT_EQ(refused("search:a b"), "\"b\": a text is searched for already");
  EXPECT_TRUE(refused("type:a,,b").starts_with("\"type:a,,b\": expected names"));
  EXPECT_EQ(refused("\xff"), "expected a query in UTF-8");
  EXPECT_EQ(refused(std::string(kQueryBytesMax + 1, 'a')), "expected a query of at most 2048 bytes");
}

TEST(FilterTerms, EveryTermComesBack) {
  const TaskFilter filter = parsed(
      "type:a,b queue:q owner:o state:failed,running tag:x,y spawner:0197b7d4-5c61-7cd5-8000-0123456789ab "
      "class:timeout fingerprint:0123456789abcdef worker:w model:m agent_id:a gate:lock:x since:2h until:1h id:0197 "
      "finished_after:2h finished_before:1h escalated:true order:oldest some words");
  TaskFilter again;
  for (const auto& [name, value] : filter_terms(filter)) must(add_filter_term(again, name, value, std::nullopt));
  EXPECT_EQ(again, filter);
}

}  // namespace
}  // namespace drover::test
