#include "core/ledger.h"

#include <gtest/gtest.h>

#include "core/run_report.h"
#include "support/must.h"
#include "unit/core/records.h"

namespace drover {
namespace {

const LedgerKey kUnder{.day = "2026-11-18", .owner = "ann", .type = "fix", .runner = "claude"};

Usage two_models() {
  Usage usage{.tokens = {.input = 30, .output = 12}, .turns = 2, .tool_calls = 1, .cost = 500};
  usage.basis = CostBasis::kReported;
  usage.models["haiku"] = {.tokens = {.input = 10, .output = 2}, .cost = 50};
  usage.models["opus"] = {.tokens = {.input = 20, .output = 10}, .cost = 400};
  return usage;
}

TEST(Ledger, BooksEachModelAndLeavesTheRestWithTheMainOne) {
  const auto entries = booked(kUnder, {}, two_models());
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].key.model, "haiku");
  EXPECT_EQ(entries[0].amounts.reported_cost, 50);
  EXPECT_EQ(entries[0].amounts.turns, 0);
  EXPECT_EQ(entries[1].key.model, "opus");
  EXPECT_EQ(entries[1].amounts.reported_cost, 450) << "what no model has is the main one's";
  EXPECT_EQ(entries[1].amounts.turns, 2);
  EXPECT_EQ(entries[1].amounts.tool_calls, 1);
}

TEST(Ledger, BooksTheDifference) {
  Usage later = two_models();
  later.tokens.output += 5;
  later.models["opus"].tokens.output += 5;
  later.turns = 3;
  const auto entries = booked(kUnder, two_models(), later);
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].amounts, (UsageAmounts{.tokens = {.output = 5}, .turns = 1}));
  EXPECT_TRUE(booked(kUnder, later, later).empty());
}

TEST(Ledger, CountsTokensThatNobodyKnowsThePriceOf) {
  Usage usage{.tokens = {.input = 7, .cached_input = 2, .output = 3}};
  const auto nameless = booked(kUnder, {}, usage);
  ASSERT_EQ(nameless.size(), 1U);
  EXPECT_EQ(nameless[0].key.model, "");
  EXPECT_EQ(nameless[0].amounts.unpriced_tokens, 12);
  usage.cost = 9;
  usage.basis = CostBasis::kTable;
  const auto priced = booked(kUnder, {}, usage);
  EXPECT_EQ(priced[0].amounts.unpriced_tokens, 0);
  EXPECT_EQ(priced[0].amounts.table_cost, 9);
}

TEST(Ledger, ACostThatIsNotDividedCoversAllModels) {
  Usage usage = two_models();
  for (auto& [name, model] : usage.models) model.cost.reset();
  for (const LedgerEntry& entry : booked(kUnder, {}, usage)) EXPECT_EQ(entry.amounts.unpriced_tokens, 0);
  EXPECT_EQ(amounts_of(usage).reported_cost, 500);
}

TEST(Ledger, CountsTheTokensThatAKnownCostLeavesOut) {
  Usage usage = two_models();
  usage.unpriced_tokens = 5;
  usage.models["haiku"] = {.tokens = {.input = 10, .output = 2}};
  const auto entries = booked(kUnder, {}, usage);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].amounts.unpriced_tokens, 5) << "of the model without a cost";
  EXPECT_EQ(entries[1].amounts.unpriced_tokens, 0);
  EXPECT_EQ(amounts_of(usage).unpriced_tokens, 5);
}

TEST(Ledger, DaysAreDays) {
  EXPECT_EQ(day_of(Time(Millis(0))), "1970-01-01");
  EXPECT_EQ(day_of(Time(Millis(-1))), "1969-12-31");
  for (const char* good : {"2026-11-18", "2024-02-29", "0000-01-01", "9999-12-31"}) EXPECT_TRUE(is_day(good)) << good;
  for (const char* bad : {"", "2026-11-8", "2026-02-30", "2026-11-18T", "20261118", "yesterday", "2026/11/18",
                          "2026-13-01", "202:-11-18"}) {
    EXPECT_FALSE(is_day(bad)) << bad;
  }
}

TEST(Ledger, DimensionsAreReadAndChecked) {
  EXPECT_EQ(join_names(test::must(parse_usage_dimensions("day,model"))), "day,model");
  EXPECT_FALSE(parse_usage_dimensions("day,moon"));
  EXPECT_FALSE(check_usage_query({}));
  EXPECT_FALSE(check_usage_query({.by = {UsageDimension::kDay, UsageDimension::kDay}}));
  EXPECT_TRUE(check_usage_query({.by = {UsageDimension::kDay}, .from = "2026-11-18", .owner = "ann", .type = "fix"}));
  EXPECT_FALSE(check_usage_query({.by = {UsageDimension::kDay}, .to = "2026-11"}));
  EXPECT_FALSE(check_usage_query({.by = {UsageDimension::kDay}, .owner = "a/b"}));
  EXPECT_FALSE(check_usage_query({.by = {UsageDimension::kDay}, .type = std::string(1, '\0')}));
  const auto unknown = parse_usage_dimensions("moon");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message,
            "by \"moon\" is unknown; choose among day, owner, type, runner, model, class, tag");
}

TEST(Ledger, SumsByWhatIsAskedFor) {
  UsageQuery query{.by = {UsageDimension::kModel}};
  UsageSum by_model(query);
  for (const LedgerEntry& entry : booked(kUnder, {}, two_models())) EXPECT_TRUE(by_model.add(entry));
  LedgerKey ended = kUnder;
  ended.error_class = "completed";
  EXPECT_TRUE(by_model.add({.key = ended, .amounts = {.runs = 1}}));
  EXPECT_EQ(std::move(by_model).take().size(), 2U) << "a run has no model";
  query = {.by = {UsageDimension::kClass}};
  UsageSum by_class(query);
  for (const LedgerEntry& entry : booked(kUnder, {}, two_models())) EXPECT_TRUE(by_class.add(entry));
  EXPECT_TRUE(by_class.add({.key = ended, .amounts = {.runs = 1}}));
  const auto rows = std::move(by_class).take();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].amounts, (UsageAmounts{.runs = 1}));
}

TEST(Ledger, RowsTellWhatTheirDimensionsAllow) {
  using enum UsageDimension;
  EXPECT_TRUE(tells_runs(std::array{kDay, kOwner, kClass}));
  EXPECT_FALSE(tells_runs(std::array{kDay, kModel}));
  EXPECT_FALSE(tells_runs(std::array{kTag}));
  EXPECT_TRUE(tells_usage(std::array{kModel}));
  EXPECT_FALSE(tells_usage(std::array{kClass}));
}

TEST(RunReport, IsReadAsItWasWritten) {
  const AgentState agent{.preset = "claude",
                         .session_id = "s",
                         .host = "h",
                         .workspace = "/w",
                         .model = "opus",
                         .resumed = true,
                         .session_totals = two_models()};
  AgentState read;
  ASSERT_TRUE(read_json(agent_json(agent), read));
  EXPECT_EQ(read, agent);
  const NextRun next{.session = SessionUse::kResume, .model = "opus", .timeout = Millis(5)};
  NextRun read_next;
  ASSERT_TRUE(read_json(next_run_json(next), read_next));
  EXPECT_EQ(read_next, next);
  EXPECT_FALSE(read_json(R"({"session":"old"})", read_next));
}

TEST(RunReport, ACallerSaysOnlyWhatWeKnow) {
  const AgentState agent{.preset = "claude", .session_id = "s", .session_totals = two_models()};
  Said<AgentState> said;
  ASSERT_TRUE(read_json(agent_json(agent), said));
  EXPECT_EQ(said.what, agent);
  for (const char* json : {R"({"preset":"claude","mood":"good"})", R"({"preset":"claude","totals":{"moods":1}})"}) {
    AgentState stored;
    EXPECT_TRUE(read_json(json, stored)) << json;
    EXPECT_FALSE(read_json(json, said)) << json;
  }
}

TEST(RunReport, IsChecked) {
  const auto agent = [](auto change) {
    AgentState state{.preset = "claude"};
    change(state);
    return RunReport{.agent = std::move(state)};
  };
  EXPECT_TRUE(check_report({}));
  EXPECT_TRUE(check_report(agent([](AgentState& state) { state.session_id = state.model = "s"; })));
  EXPECT_TRUE(check_report({.usage = two_models(), .evidence = R"({"exit_code":0,"duration_ms":12,"more":[1]})"}));
  EXPECT_TRUE(check_report({.evidence = R"({"exit_code":null})"}));
  const std::string long_text(5'000, 'x');
  const std::vector<RunReport> bad{
      agent([](AgentState& state) { state.preset = "no name"; }),
      agent([](AgentState& state) { state.session_id = "-p"; }),
      agent([](AgentState& state) { state.session_id = "a\tb"; }),
      agent([](AgentState& state) { state.model = "--model"; }),
      agent([&](AgentState& state) { state.host = long_text; }),
      agent([](AgentState& state) { state.workspace = "\xff"; }),
      agent([](AgentState& state) { state.session_totals.turns = -1; }),
      {.usage = Usage{.turns = -1}},
      {.evidence = "[]"},
      {.evidence = "{"},
      {.evidence = R"({"exit_code":"0"})"},
      {.evidence = R"({"duration_ms":-1})"},
      {.evidence = R"({"duration_ms":9000000000000000000})"},
      {.evidence = R"({"duration_ms":1.5})"},
      {.evidence = "\"" + std::string(70'000, 'x') + "\""},
  };
  for (const RunReport& report : bad) EXPECT_FALSE(check_report(report)) << report.evidence.value_or("");
}

TEST(RunReport, IsProofWhereTheTypeWantsIt) {
  const RunReport passed{.evidence = R"({"exit_code":0})"};
  EXPECT_FALSE(why_unverified(VerifyRule::kOptional, {}));
  EXPECT_TRUE(why_unverified(VerifyRule::kRequired, {}));
  EXPECT_FALSE(why_unverified(VerifyRule::kRequired, passed.evidence));
}

TEST(RunReport, EvidencePassesWithExitCodeZero) {
  EXPECT_TRUE(has_passed(R"({"exit_code":0})"));
  for (const char* bad : {R"({"exit_code":1})", R"({"exit_code":null})", "{}", "[", "0"}) {
    EXPECT_FALSE(has_passed(bad)) << bad;
  }
  EXPECT_FALSE(has_passed(std::nullopt));
}

}  // namespace
}  // namespace drover
