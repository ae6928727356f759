// What drover type shows.
#include "cli/type_view.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "policy/document.h"
#include "support/must.h"

namespace drover::cli {
namespace {

constexpr std::string_view kTypes = R"(types:
  plain: {}
  review:
    queue: eng
    priority: high
    max_attempts: 5
    retry: "fixed:2s"
    timeout: 30m
    deadline: 2h
    provider: acme
    breaker: {failures: 2, window: 30s, open: 5m}
    errors: {killed: {action: fail, alert: true}, timeout: {timeout_factor: 2.5}}
    payload_schema: {type: object, required: [file]}
    payload_defaults: {depth: 3}
    result_schema: {type: object}
    decision_report: required
    on_failure: {type: plain, queue: eng, priority: 1, payload: {why: "it failed"}}
  quick: {breaker: off, decision_report: optional}
)";

TEST(TypeViewTest, WhatIsShownCouldStandInTheDocument) {
  const Policy policy = test::must(parse_document(kTypes, "drover.yaml")).policy;
  for (const auto& [name, type] : policy.types) {
    std::string fields = to_json(test::must(view_type(name, policy)));
    const std::string head = R"("type":")" + name + R"(",)";
    ASSERT_TRUE(fields.starts_with("{" + head)) << fields;
    fields.erase(1, head.size());
    const Policy again = test::must(parse_policy(R"({"types":{")" + name + R"(":)" + fields + "}}"));
    EXPECT_EQ(again.type(name).classes, type.classes);
    EXPECT_EQ(again.type(name).contract, type.contract);
    EXPECT_EQ(again.type(name).breaker, type.breaker);
    EXPECT_EQ(again.type(name).deadline, type.deadline);
    EXPECT_EQ(again.type(name).provider, type.provider);
    EXPECT_EQ(to_json(test::must(view_type(name, again))), to_json(test::must(view_type(name, policy))));
  }
}

TEST(TypeViewTest, Tables) {
  const Policy policy = test::must(parse_document(kTypes, "drover.yaml")).policy;
  std::vector<TypeView> types;
  for (const char* name : {"plain", "review", "quick"}) types.push_back(test::must(view_type(name, policy)));
  EXPECT_EQ(type_table(types).render({.terminal = true, .width = 120}),
            "TYPE    QUEUE  PRIORITY  TRIES  RETRY                  TIMEOUT  BREAKER   CONTRACT\n"
            "plain   plain  5         3      exponential:1s,2,300s  1h       5 in 1m\n"
            "review  eng    2         5      fixed:2s               30m      2 in 30s  payload defaults result report "
            "follow-up\n"
            "quick   quick  5         3      exponential:1s,2,300s  1h       off       report\n");
}

TEST(TypeViewTest, ATypeThatIsNotNamedHasTheDefaults) {
  const Policy open;
  EXPECT_EQ(type_page(test::must(view_type("other", open)), {}),
            "type               other\n"
            "queue              other\n"
            "priority           5\n"
            "max_attempts       3\n"
            "max_stalls         3\n"
            "max_defers         100\n"
            "max_suspends       20\n"
            "retry              exponential:1s,2,300s\n"
            "timeout            1h\n"
            "idle_timeout       10m\n"
            "on_parent_failure  cancel\n"
            "at_most_once       false\n"
            "breaker            {\n"
            "                     \"failures\": 5,\n"
            "                     \"window\": \"1m\",\n"
            "                     \"open\": \"1m\"\n"
            "                   }\n"
            "decision_report    ignored\n");
  const Policy closed{.types_closed = true};
  EXPECT_EQ(test::code_of(view_type("other", closed)), ErrorCode::kUnknownType);
}

}  // namespace
}  // namespace drover::cli
