#include <gtest/gtest.h>

#include "policy/document.h"
#include "support/must.h"

namespace drover::test {
namespace {

TEST(HealthSectionTest, SetsWhatItNamesAndKeepsTheRest) {
  const Document document =
      must(parse_document("health:\n  lag: {warning: 7}\n  idle: {warning: 2s, critical: 1m}\n", "drover.yaml"));
  EXPECT_EQ(document.policy.health.lag, (Threshold<int>{7, 500}));
  EXPECT_EQ(document.policy.health.idle, (Threshold<Millis>{Millis{2'000}, Millis{60'000}}));
  EXPECT_EQ(document.policy.health.waiting, HealthPolicy{}.waiting);
  EXPECT_EQ(must(parse_policy(document.shared)).health, document.policy.health);
}

TEST(HealthSectionTest, RefusesWhatMakesNoSense) {
  for (const char* text :
       {"health: {lag: {warning: 0}}", "health: {lag: {warning: 501}}", "health: {lag: 7}",
        "health: {no_progress: {warning: 5}}", "health: {budget: {warning: 101}}", "health: {lags: {}}"}) {
    EXPECT_EQ(code_of(parse_document(text, "drover.yaml")), ErrorCode::kInvalidConfig) << text;
  }
}

}  // namespace
}  // namespace drover::test
