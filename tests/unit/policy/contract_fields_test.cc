// Contracts of types in drover.yaml: what is read, and which line a mistake is on.
#include <gtest/gtest.h>

#include "policy/document.h"

namespace drover {
namespace {

Contract contract_in(std::string_view text) {
  const auto document = parse_document(text, "drover.yaml");
  EXPECT_TRUE(document.has_value()) << (document ? "" : to_string(document.error()));
  return document ? document->policy.type("t").contract : Contract{};
}

std::string contract_refusal(std::string_view text) {
  const auto document = parse_document(text, "drover.yaml");
  EXPECT_FALSE(document.has_value()) << text;
  return document ? "" : document.error().message;
}

constexpr std::string_view kWhole = R"(types:
  t:
    payload_schema:
      type: object
      required: [path]
      properties:
        path: {type: string, pattern: "^/"}
        depth: {type: integer, minimum: 0, maximum: 1e400}
    result_schema: {type: [object, "null"]}
    payload_defaults: {depth: 2, "null": ~, ratio: 0.10}
    decision_report: required
    on_success: {type: review, queue: reviews, priority: high, payload: {level: 3}}
    on_failure: {type: mend}
)";

TEST(ContractFields, AreRead) {
  const Contract contract = contract_in(kWhole);
  const json::Schema schema = contract.payload_schema.value_or(*json::Schema::compile(false));
  EXPECT_FALSE(schema.validate(*json::parse(R"({"path":"/x","depth":1e399})")));
  EXPECT_TRUE(schema.validate(*json::parse(R"({"path":"x"})")));
  EXPECT_EQ(contract.payload_defaults, R"({"depth":2,"null":null,"ratio":0.10})");
  EXPECT_EQ(contract.decision_report, DecisionReport::kRequired);
  EXPECT_EQ(contract.on_success, (FollowUp{"review", "reviews", 2, R"({"level":3})"}));
  EXPECT_EQ(contract.on_failure, (FollowUp{"mend", {}, {}, {}}));
}

TEST(ContractFields, SurviveTheStore) {
  const auto document = parse_document(kWhole, "drover.yaml");
  ASSERT_TRUE(document.has_value());
  const auto stored = parse_policy(document->shared);
  ASSERT_TRUE(stored.has_value()) << to_string(stored.error());
  EXPECT_EQ(*stored, document->policy);
}

TEST(ContractFields, AMistakeInASchemaNamesItsLine) {
  EXPECT_EQ(
      contract_refusal("types:\n  t:\n    payload_schema:\n      properties:\n        a:\n          - x\n"),
      "drover.yaml:5: types.t.payload_schema.properties.a: expected a schema (a mapping, true or false), found array");
  EXPECT_EQ(contract_refusal(
                "types:\n  t:\n    payload_schema:\n      anyOf:\n        - type: string\n        - format: date\n"),
            "drover.yaml:6: types.t.payload_schema.anyOf.1.format: unknown keyword \"format\"");
  EXPECT_EQ(contract_refusal("types:\n  t:\n    result_schema:\n      $ref: '#/$defs/a'\n"),
            "drover.yaml:4: types.t.result_schema.$ref: \"#/$defs/a\" is nothing in this schema; expected \"#\" or "
            "\"#/$defs/NAME\"");
}

TEST(ContractFields, AliasesDoNotGrowWithoutBound) {
  std::string text = "types:\n  t:\n    payload_defaults:\n      a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n";
  for (int i = 1; i < 9; ++i) {
    text += "      a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) text += (k > 0 ? ",*a" : "*a") + std::to_string(i - 1);
    text += "]\n";
  }
  EXPECT_TRUE(contract_refusal(text).ends_with("more than 20000 values"));
}

TEST(ContractFields, DepthIsBounded) {
  const std::string text = "types: {t: {payload_defaults: {a: " + std::string(80, '[') + std::string(80, ']') + "}}}";
  EXPECT_TRUE(contract_refusal(text).ends_with("nested deeper than 56"));
}

}  // namespace
}  // namespace drover
