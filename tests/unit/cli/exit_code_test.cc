#include <gtest/gtest.h>

#include "captured_output.h"
#include "cli/await_task.h"
#include "cli/context.h"
#include "support/printers.h"

namespace drover::cli {
namespace {

// What a failed command prints and returns.
class FailTest : public testing::Test {
 protected:
  CapturedOutput captured_;
  Context context_{.common = {}, .environment = {}, .folder = {}, .out = captured_.output(), .err = captured_.output()};
};

TEST_F(FailTest, EveryCodeHasItsExitCode) {
  const std::pair<ErrorCode, int> rows[] = {
      {ErrorCode::kInvalidJson, 1},     {ErrorCode::kInvalidArgument, 1},  {ErrorCode::kInvalidPayload, 1},
      {ErrorCode::kInvalidConfig, 1},   {ErrorCode::kUnknownParent, 1},    {ErrorCode::kCycle, 1},
      {ErrorCode::kPayloadTooLarge, 1}, {ErrorCode::kResultTooLarge, 1},   {ErrorCode::kNotFound, 5},
      {ErrorCode::kWrongState, 6},      {ErrorCode::kStaleLease, 6},       {ErrorCode::kRequestConflict, 6},
      {ErrorCode::kQueueFull, 1},       {ErrorCode::kLimitExceeded, 1},    {ErrorCode::kUnauthorised, 4},
      {ErrorCode::kForbidden, 4},       {ErrorCode::kStoreUnavailable, 7}, {ErrorCode::kStoreDamaged, 1},
      {ErrorCode::kStoreRegressed, 1},  {ErrorCode::kDiskFull, 1},         {ErrorCode::kSchemaTooNew, 1},
      {ErrorCode::kUnknownType, 1},     {ErrorCode::kInternal, 1},
  };
  for (const auto& [code, exit_code] : rows) EXPECT_EQ(context_.fail({code, "why", {}}), exit_code);
}

TEST_F(FailTest, TheMessageCarriesTheCode) {
  (void)context_.fail({ErrorCode::kNotFound, "there is no task \x1b[2Jx", "engine.get"});
  EXPECT_EQ(captured_.take(), "drover: there is no task x (not_found)\n");
}

TEST(FateTest, HasAnExitCode) {
  EXPECT_EQ(exit_code_of_fate(TaskState::kCompleted), 0);
  EXPECT_EQ(exit_code_of_fate(TaskState::kFailed), 10);
  EXPECT_EQ(exit_code_of_fate(TaskState::kCancelled), 11);
  EXPECT_EQ(exit_code_of_giving_up(WatchEnd::kTimedOut), 124);
  EXPECT_EQ(exit_code_of_giving_up(WatchEnd::kInterrupted), 130);
}

}  // namespace
}  // namespace drover::cli
