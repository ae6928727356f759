#include "core/usage.h"

#include <gtest/gtest.h>

#include <limits>

namespace drover {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr MicroDollars kCostMax = 1'000'000'000'000'000;

Usage reported(std::int64_t input, MicroDollars cost) {
  return {.tokens = {.input = input},
          .cost = cost,
          .basis = CostBasis::kReported,
          .models = {{"m", {.tokens = {.input = input}, .cost = cost}}}};
}

TEST(Usage, Sums) {
  const Usage a{.tokens = {1, 2, 3, 4, 5}, .turns = 6, .tool_calls = 7};
  const Usage b{.tokens = {10, 20, 30, 40, 50}, .turns = 60, .tool_calls = 70};
  EXPECT_EQ(a + b, (Usage{.tokens = {11, 22, 33, 44, 55}, .turns = 66, .tool_calls = 77}));
  EXPECT_EQ(reported(1, 10) + reported(2, 5), reported(3, 15));
  EXPECT_EQ((Usage{.tokens = {.input = kMost}} + Usage{.tokens = {.input = 1}}).tokens.input, kMost);
  EXPECT_TRUE(Usage{}.is_empty());
  EXPECT_FALSE(a.is_empty());
}

TEST(Usage, ASumCostsWhatIsKnownAndCountsTheTokensThatItLeavesOut) {
  const Usage unknown{.tokens = {.input = 5}, .models = {{"m", {.tokens = {.input = 5}}}}};
  EXPECT_EQ(unpriced_tokens(unknown), 5);
  EXPECT_EQ(unpriced_tokens(reported(1, 10)), 0);
  EXPECT_EQ((reported(1, 10) + Usage{}).cost, 10);
  EXPECT_EQ((Usage{} + reported(1, 10)).basis, CostBasis::kReported);
  EXPECT_EQ((unknown + unknown).cost, std::nullopt);
  EXPECT_EQ(unpriced_tokens(unknown + unknown), 10);
  for (const Usage& part : {reported(1, 10) + unknown, unknown + reported(1, 10)}) {
    EXPECT_EQ(part.cost, 10);
    EXPECT_EQ(part.basis, CostBasis::kReported);
    EXPECT_EQ(unpriced_tokens(part), 5);
    EXPECT_EQ(part.models.at("m"), (ModelUsage{.tokens = {.input = 6}, .cost = 10, .unpriced_tokens = 5}));
    EXPECT_EQ(unpriced_tokens(part + unknown), 10);
  }
  EXPECT_EQ((reported(1, kCostMax) + reported(1, kCostMax)).cost, kCostMax) << "a sum can be written and read";
  Usage table = reported(1, 10);
  table.basis = CostBasis::kTable;
  EXPECT_EQ((table + reported(1, 1)).basis, CostBasis::kTable);
  EXPECT_EQ((reported(1, 1) + table).basis, CostBasis::kTable);
}

TEST(Usage, OfOneRunIsTheMostThatItHasSaid) {
  const Usage early{
      .tokens = {1, 9, 0, 4, 0}, .turns = 1, .tool_calls = 3, .models = {{"a", {.tokens = {.input = 1}}}}};
  const Usage late{.tokens = {2, 8, 0, 5, 0}, .turns = 2, .tool_calls = 2, .models = {{"b", {.tokens = {.input = 2}}}}};
  const Usage most{.tokens = {2, 9, 0, 5, 0},
                   .turns = 2,
                   .tool_calls = 3,
                   .models = {{"a", {.tokens = {.input = 1}}}, {"b", {.tokens = {.input = 2}}}}};
  EXPECT_EQ(most_of(early, late), most);
  EXPECT_EQ(most_of(late, early), most);
  EXPECT_EQ(most_of(reported(5, 50), reported(2, 20)), reported(5, 50));
}

TEST(Usage, ACostOfSomeTokensLeavesTheOthersOut) {
  const Usage unknown{.tokens = {.input = 8}, .models = {{"m", {.tokens = {.input = 8}}}}};
  for (const Usage& most : {most_of(reported(5, 50), unknown), most_of(unknown, reported(5, 50))}) {
    EXPECT_EQ(most.cost, 50);
    EXPECT_EQ(most.basis, CostBasis::kReported);
    EXPECT_EQ(unpriced_tokens(most), 3);
    EXPECT_EQ(unpriced_tokens(most.models.at("m")), 3);
  }
}

TEST(Usage, AReportedCostTakesThePlaceOfTheTable) {
  Usage table = reported(5, 90);
  table.basis = CostBasis::kTable;
  EXPECT_EQ(most_of(table, reported(5, 50)), reported(5, 50));
  EXPECT_EQ(most_of(reported(5, 50), table), reported(5, 50));
  EXPECT_EQ(most_of(table, {}), table);
}

TEST(Usage, OfOneRunIsTheDifferenceOfTotals) {
  EXPECT_EQ(used_since(reported(5, 50), reported(2, 20)), reported(3, 30));
  EXPECT_EQ(used_since(reported(5, 50), {}), reported(5, 50));
  Usage partly = reported(5, 50);
  partly.unpriced_tokens = 4;
  EXPECT_EQ(used_since(partly, reported(3, 20)).unpriced_tokens, 2) << "no more than there are";
  const Usage later{.tokens = {.output = 9}, .turns = 3, .tool_calls = 2};
  const Usage earlier{.tokens = {.output = 4}, .turns = 5, .tool_calls = 1};
  EXPECT_EQ(used_since(later, earlier), (Usage{.tokens = {.output = 5}, .tool_calls = 1}));
}

TEST(Usage, ACounterThatBeganAgainCountsWhole) {
  EXPECT_EQ(used_since(reported(1, 50), reported(2, 20)), reported(1, 50));
  EXPECT_EQ(used_since(reported(5, 10), reported(2, 20)), reported(5, 10));
  Usage total = reported(5, 50);
  Usage earlier = reported(2, 20);
  total.models["m"].tokens.input = 1;
  EXPECT_EQ(used_since(total, earlier).models.at("m"), total.models.at("m"));
}

TEST(Usage, ModelsThatWereNotUsedAgainAreLeftOut) {
  Usage earlier = reported(2, 20);
  earlier.models["old"] = {.tokens = {.input = 7}, .cost = 3};
  earlier.models["free"] = {.tokens = {.input = 1}, .cost = 3};
  Usage total = reported(5, 50);
  total.models["old"] = {.tokens = {.input = 7}, .cost = 3};
  total.models["free"] = {.tokens = {.input = 1}, .cost = 4};
  Usage used = reported(3, 30);
  used.models["free"] = {.cost = 1};
  EXPECT_EQ(used_since(total, earlier), used);
  total.models.erase("old");
  EXPECT_EQ(used_since(total, earlier), used);
}

TEST(Usage, JsonBothWays) {
  Usage usage{.tokens = {1, 2, 3, 4, 5},
              .turns = 6,
              .tool_calls = 7,
              .cost = 24'000,
              .basis = CostBasis::kTable,
              .unpriced_tokens = 1};
  usage.models["a\"b"] = {.tokens = {1, 2, 3, 4, 5}};
  const std::string json = usage_json(usage);
  EXPECT_EQ(
      json,
      R"({"input_tokens":1,"cached_input_tokens":2,"cache_write_tokens":3,"output_tokens":4,"reasoning_tokens":5,)"
      R"("turns":6,"tool_calls":7,"cost_usd":0.024,"unpriced_tokens":1,"cost_basis":"table",)"
      R"("models":{"a\"b":{"input_tokens":1,"cached_input_tokens":2,"cache_write_tokens":3,"output_tokens":4,)"
      R"("reasoning_tokens":5,"cost_usd":null,"unpriced_tokens":10}}})");
  Usage read;
  ASSERT_TRUE(read_json(json, read));
  EXPECT_EQ(read, usage);
  ASSERT_TRUE(read_json(usage_json({}), read));
  EXPECT_FALSE(read_json(R"({"turns":-1})", read));
  EXPECT_EQ(format_dollars(-500'000), "-0.5");
  EXPECT_EQ(read, Usage{});
  ASSERT_TRUE(read_json("{}", read));
  EXPECT_EQ(read, Usage{});
}

TEST(Usage, JsonThatIsNone) {
  for (const std::string_view json :
       {"", "[]", R"({"turns":-1})", R"({"turns":"x"})", R"({"input_tokens":1.5})", R"({"cost_usd":1})",
        R"({"cost_usd":-1,"cost_basis":"reported"})", R"({"cost_basis":"reported"})",
        R"({"cost_usd":1,"cost_basis":"guess"})", R"({"models":[]})", R"({"models":{"a":1}})",
        R"({"models":{"a":{"input_tokens":-1}}})"}) {
    Usage read = reported(1, 1);
    EXPECT_FALSE(read_json(json, read)) << json;
    EXPECT_EQ(read, reported(1, 1)) << json;
  }
  Usage read;
  std::string models = R"({"models":{)";
  for (int i = 0; i < 1'001; ++i) models += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":{})";
  EXPECT_FALSE(read_json(models + "}}", read));
}

TEST(Usage, ACallerSaysOnlyWhatWeKnow) {
  Said<Usage> said;
  ASSERT_TRUE(read_json(usage_json(reported(1, 2)), said));
  EXPECT_EQ(said.what, reported(1, 2));
  for (const std::string_view json : {R"({"input":1})", R"({"models":{"a":{"turns":1}}})"}) {
    Usage stored;
    EXPECT_TRUE(read_json(json, stored)) << json << ": of a newer program";
    EXPECT_FALSE(read_json(json, said)) << json;
  }
}

TEST(Usage, HasBounds) {
  constexpr std::int64_t kTooMany = 1'000'000'000'001;
  EXPECT_TRUE(check_usage({}));
  EXPECT_TRUE(check_usage(reported(1, kCostMax)));
  std::vector<Usage> bad{{.tokens = {.reasoning = kTooMany}},
                         {.tokens = {.input = -1}},
                         {.turns = kTooMany},
                         {.tool_calls = -1},
                         {.models = {{"m", {.tokens = {.input = kTooMany}}}}},
                         {.models = {{"m", {.cost = 1}}}},
                         {.models = {{"", {}}}},
                         {.models = {{"a\nb", {}}}},
                         {.models = {{"-m", {}}}},
                         {.tokens = {.input = 1}, .cost = 1, .basis = CostBasis::kReported, .unpriced_tokens = 2},
                         {.tokens = {.input = 1}, .cost = 1, .basis = CostBasis::kReported, .unpriced_tokens = -1},
                         {.cost = 1},
                         {.cost = -1, .basis = CostBasis::kReported},
                         {.cost = kCostMax + 1, .basis = CostBasis::kReported}};
  Usage& many = bad.emplace_back();
  for (int i = 0; i <= 100; ++i) many.models[std::to_string(i)].tokens.input = 1;
  for (const Usage& usage : bad) {
    const Status checked = check_usage(usage);
    ASSERT_FALSE(checked) << usage_json(usage);
    EXPECT_EQ(checked.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(Usage, WhatAnAgentMakesUpIsCut) {
  Usage wild{.tokens = {kMost, kMost, kMost, kMost, kMost}, .turns = kMost, .tool_calls = kMost, .cost = 1};
  wild.basis = CostBasis::kReported;
  wild.unpriced_tokens = kMost;
  wild.models["m"] = {.tokens = wild.tokens};
  EXPECT_TRUE(check_usage(within_bounds(wild)));
  EXPECT_EQ(within_bounds(reported(5, 50)), reported(5, 50));
  for (int i = 0; i <= 100; ++i) wild.models[std::to_string(i)].tokens.input = 1;
  EXPECT_TRUE(within_bounds(wild).models.empty());
}

TEST(Usage, Dollars) {
  EXPECT_EQ(format_dollars(0), "0");
  EXPECT_EQ(format_dollars(24'000), "0.024");
  EXPECT_EQ(format_dollars(12'000'001), "12.000001");
  EXPECT_EQ(format_dollars(30'000'000), "30");
  EXPECT_EQ(dollars("0.018000000000000002"), 18'000);
  EXPECT_EQ(dollars("0.00016800000000000002"), 168);
  EXPECT_EQ(dollars("1e-6"), 1);
  EXPECT_EQ(dollars("0"), 0);
  for (const std::string_view text : {"", "x", "1x", "-1", "1e300", "nan", "1e10"})
    EXPECT_EQ(dollars(text), std::nullopt);
}

TEST(Usage, CostsFromATable) {
  const PriceTable prices{{"m", {.input = 1'250'000, .cached_input = 125'000, .output = 10'000'000}}};
  Usage usage{.tokens = {4'000, 20'000, 0, 800, 80}};
  usage.models["m"].tokens = usage.tokens;
  const Usage known = priced(usage, prices);
  EXPECT_EQ(known.cost, 5'000 + 2'500 + 8'000);
  EXPECT_EQ(known.basis, CostBasis::kTable);
  EXPECT_EQ(known.models.at("m").cost, known.cost);

  EXPECT_EQ(priced(reported(1, 7), prices), reported(1, 7)) << "the agent knows better";
  usage.models["other"].tokens.input = 1;
  EXPECT_EQ(priced(usage, prices), usage) << "a part of a bill is no bill";
  EXPECT_EQ(priced({.tokens = {.input = 1}}, prices), (Usage{.tokens = {.input = 1}}));

  Usage cached{.models = {{"m", {.tokens = {.cached_input = 1'000'000, .cache_write = 1'000'000}}}}};
  EXPECT_EQ(priced(cached, {{"m", {.input = 3}}}).cost, 6)
      << "without a price of its own, a kind of input costs as input";
  EXPECT_EQ(priced(cached, {{"m", {.input = 3, .cached_input = 0, .cache_write = 4}}}).cost, 4);
  Usage huge{.models = {{"m", {.tokens = {.input = kMost}}}}};
  EXPECT_EQ(priced(huge, {{"m", {.input = kMost}}}).cost, 1'000'000'000'000'000);
}

TEST(CostBasis, Names) {
  for (const CostBasis basis : {CostBasis::kReported, CostBasis::kTable})
    EXPECT_EQ(parse_cost_basis(name_of(basis)), basis);
  EXPECT_EQ(parse_cost_basis("guess"), std::nullopt);
}

}  // namespace
}  // namespace drover
