#include "core/error_class.h"

#include <gtest/gtest.h>

#include <set>

namespace drover {
namespace {

struct Row {
  std::string_view name;
  Action action;
  double timeout_factor = 1;
  bool alert = false;
  bool close_gate = false;
};

// T7, row by row.
constexpr std::array<Row, kErrorClassCount> kExpected{{
    {"agent_error", Action::kRetry},
    {"syntax", Action::kFail},
    {"invalid", Action::kFail},
    {"auth", Action::kFail},
    {"billing", Action::kFail},
    {"timeout", Action::kRetry, 1.5},
    {"rate_limited", Action::kDefer, 1, false, true},
    {"quota_exhausted", Action::kDefer, 1, false, true},
    {"overloaded", Action::kDefer, 1, false, true},
    {"oom", Action::kFail, 1, true},
    {"context_too_long", Action::kFail},
    {"killed", Action::kRetry},
    {"spawn_failed", Action::kRetry},
    {"result_too_large", Action::kFail},
    {"verify_failed", Action::kRetry},
    {"max_turns", Action::kFail},
    {"budget_exceeded", Action::kFail},
    {"stalled", Action::kFail},
    {"lost", Action::kFail},
    {"deadline", Action::kFail},
    {"parent_failed", Action::kFail},
    {"invalid_payload", Action::kFail},
    {"unknown_type", Action::kFail},
    {"suspended", Action::kFail},
    {"unanswered", Action::kFail},
}};

TEST(ErrorClass, EveryRowOfTheDefaultTable) {
  std::set<ErrorClass> seen;
  for (const Row& row : kExpected) {
    SCOPED_TRACE(row.name);
    const auto error_class = parse_error_class(row.name);
    ASSERT_TRUE(error_class);
    EXPECT_EQ(name_of(*error_class), row.name);
    const ClassRule& rule = default_class_table()[static_cast<std::size_t>(*error_class)];
    EXPECT_EQ(name_of(rule.action), name_of(row.action));
    EXPECT_EQ(rule.timeout_factor, row.timeout_factor);
    EXPECT_EQ(rule.alert, row.alert);
    EXPECT_EQ(rule.close_gate, row.close_gate);
    seen.insert(*error_class);
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(kErrorClassCount));
}

TEST(ErrorClass, UnknownNames) {
  EXPECT_EQ(parse_error_class("oops"), std::nullopt);
  EXPECT_EQ(parse_error_class(""), std::nullopt);
  EXPECT_EQ(parse_error_class("Oom"), std::nullopt);
}

TEST(ErrorClass, ARunMayGiveAllButVerdicts) {
  for (const Row& row : kExpected) {
    const auto given = parse_reported_class(row.name);
    EXPECT_EQ(given.has_value(), !is_verdict(*parse_error_class(row.name))) << row.name;
  }
  EXPECT_EQ(parse_reported_class("rate_limited"), ErrorClass::kRateLimited);
  EXPECT_EQ(parse_reported_class("deadline").error().message,
            "only Drover itself gives the class deadline; name the reason that the run knows");
  EXPECT_EQ(parse_reported_class("rate_limit").error().message,
            "unknown error class \"rate_limit\" (did you mean \"rate_limited\"?)");
  const std::string all = parse_reported_class("gibberish").error().message;
  EXPECT_TRUE(all.starts_with("unknown error class \"gibberish\" (known: agent_error, syntax, ")) << all;
  EXPECT_FALSE(all.contains("deadline")) << all;
}

TEST(Action, Names) {
  for (const Action action : {Action::kRetry, Action::kDefer, Action::kFail}) {
    EXPECT_EQ(parse_action(name_of(action)), action);
  }
  EXPECT_EQ(name_of(Action::kDefer), "defer");
  EXPECT_EQ(parse_action("ignore"), std::nullopt);
}

}  // namespace
}  // namespace drover
