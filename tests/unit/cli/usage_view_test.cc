#include "cli/usage_view.h"

#include <gtest/gtest.h>

#include "core/usage.h"

namespace drover::cli {
namespace {

std::string cost_of(const Usage& usage) {
  Task task;
  task.usage = usage_json(usage);
  return cost_text(task);
}

const Usage kPaid{.tokens = {.input = 500, .output = 10}, .turns = 2, .cost = 24'000, .basis = CostBasis::kReported};
const Usage kUnknown{.tokens = {.input = 1'000, .output = 200}, .turns = 1};

TEST(UsageView, AListShowsWhatIsKnownOfACost) {
  EXPECT_EQ(cost_text(Task{}), "");
  EXPECT_EQ(cost_of({}), "");
  EXPECT_EQ(cost_of(kPaid), "$0.0240");
  EXPECT_EQ(cost_of(kUnknown), "?");
  EXPECT_EQ(cost_of(kPaid + kUnknown), "$0.0240+?");
}

TEST(UsageView, APageSaysWhatACostLeavesOut) {
  EXPECT_EQ(usage_text(std::nullopt), "");
  EXPECT_EQ(usage_text(usage_json(kPaid)), "2 turns, 500 in, 0 cached, 10 out, $0.0240");
  EXPECT_EQ(usage_text(usage_json(kUnknown)), "1 turn, 1.0k in, 0 cached, 200 out");
  EXPECT_EQ(usage_text(usage_json(kPaid + kUnknown)),
            "3 turns, 1.5k in, 0 cached, 210 out, $0.0240 and 1.2k tokens of unknown cost");
}

}  // namespace
}  // namespace drover::cli
