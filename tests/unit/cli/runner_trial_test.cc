#include "cli/runner_trial.h"

#include <gtest/gtest.h>

#include <fstream>
#include <utility>

#include "support/temp_dir.h"

namespace drover::cli {
namespace {

class RunnerTrialTest : public testing::Test {
 protected:
  RunnerTrialTest() {
    std::ofstream(dir_.file("claude")) << "#!/bin/sh\n";
    std::filesystem::permissions(dir_.file("claude"), std::filesystem::perms::owner_all);
    variables_ = {{"PATH", dir_.path().string()}, {"HOME", dir_.path().string()}};
  }

  [[nodiscard]] bool look() { return trial_.look(Environment(variables_)); }
  void log(std::string_view transcript) {
    trial_.take({.seq = ++seq_, .run = 1, .stream = LogStream::kTranscript, .text = std::string(transcript) + "\n"});
  }
  void fail(ErrorClass error_class, const std::string& message) {
    trial_.finish({.state = TaskState::kFailed, .error = TaskError{error_class, message}}, "", Millis{1'500});
  }
  // "ok program DETAIL", a line each, since the last call.
  std::string told() { return std::exchange(told_, {}); }

  test::TempDir dir_;
  Variables variables_;
  RunnerProfile profile_{.argv = {"claude"}, .preset = agents::find_preset("claude")};
  std::string told_;
  std::int64_t seq_ = 0;
  RunnerTrial trial_{"fix", profile_, [this](const TrialStep& step) {
                       told_ += std::string(name_of(step.mark)) + " " + step.name + " " + step.detail + "\n";
                     }};
};

TEST_F(RunnerTrialTest, TellsEachStepOfARunThatCompletes) {
  variables_["ANTHROPIC_API_KEY"] = "sk";
  profile_.env = {"ANTHROPIC_API_KEY"};
  EXPECT_TRUE(look());
  EXPECT_EQ(told(), "ok program " + dir_.file("claude") + "\nok login ANTHROPIC_API_KEY\n");
  log(R"({"kind":"session","text":"S"})");
  EXPECT_EQ(told(), "ok started \nok session S\n");
  log(R"({"kind":"usage","usage":{"input_tokens":7,"cached_input_tokens":0,"cache_write_tokens":0,"output_tokens":1,)"
      R"("reasoning_tokens":0,"turns":1,"tool_calls":0,"cost_usd":0.5,"cost_basis":"reported","models":{}}})");
  EXPECT_EQ(told(), "");
  trial_.finish({.state = TaskState::kCompleted, .result = R"("ready\n")"}, "", Millis{1'500});
  EXPECT_EQ(told(),
            "ok answered ready\nok usage 7 in, 0 cached, 0 written to a cache, 1 out (0 reasoning); cost $0.5\n"
            "ok took 1500ms\n");
  EXPECT_TRUE(trial_.completed());
  EXPECT_TRUE(trial_.to_json().contains(R"("answer":"ready")")) << trial_.to_json();
  EXPECT_TRUE(trial_.to_json().ends_with(R"("took_ms":1500,"advice":null})")) << trial_.to_json();
}

TEST_F(RunnerTrialTest, AMissingProgramEndsItBeforeItBegins) {
  profile_.argv = {"./nosuch"};
  EXPECT_FALSE(look());
  EXPECT_EQ(told(), "failed program ./nosuch is not found\n");
  EXPECT_EQ(trial_.advice(), "install it, or correct local.runners.fix.argv in drover.yaml");
  profile_.argv = {"claude"};
  profile_.verify = Verify{.argv = {"./nocheck"}};
  EXPECT_FALSE(look());
  EXPECT_EQ(trial_.advice(), "install it, or correct local.runners.fix.verify.argv in drover.yaml");
}

// The most likely mistake: the key is there, and the profile does not pass it on.
TEST_F(RunnerTrialTest, AKeyThatTheAgentDoesNotGetIsNoLogin) {
  variables_["CLAUDE_CODE_OAUTH_TOKEN"] = "sk";
  EXPECT_TRUE(look());
  EXPECT_TRUE(told().contains("doubt login CLAUDE_CODE_OAUTH_TOKEN is set, but the agent does not get it"));
  fail(ErrorClass::kAuth, "Invalid API key");
  EXPECT_EQ(told(), "ok started \nfailed answered auth: Invalid API key\nok took 1500ms\n");
  EXPECT_EQ(trial_.advice(),
            "add CLAUDE_CODE_OAUTH_TOKEN to local.runners.fix.env in drover.yaml, then `drover trust`");
  EXPECT_FALSE(trial_.completed());
}

TEST_F(RunnerTrialTest, NoLoginIsOnlyADoubt) {
  EXPECT_TRUE(look());
  EXPECT_TRUE(told().contains("doubt login none was found"));
  fail(ErrorClass::kAuth, "Please run /login");
  EXPECT_EQ(trial_.advice(), "start `claude` once and log in, or set ANTHROPIC_API_KEY");
}

TEST_F(RunnerTrialTest, ATaskThatComesBackNeverStarted) {
  trial_.finish({.state = TaskState::kPending}, "Permission denied", Millis{10});
  EXPECT_EQ(told(), "failed started Permission denied\nok took 10ms\n");
  EXPECT_TRUE(trial_.advice().contains("start `claude` by hand"));
}

TEST_F(RunnerTrialTest, TheProvidersTroubleIsNotTheAgents) {
  fail(ErrorClass::kRateLimited, "429");
  EXPECT_TRUE(trial_.advice().contains("try again later"));
  fail(ErrorClass::kQuotaExhausted, "limit");
  EXPECT_TRUE(trial_.advice().contains("used up"));
  fail(ErrorClass::kTimeout, "ran longer than 3m");
  EXPECT_TRUE(trial_.advice().contains("--timeout"));
}

}  // namespace
}  // namespace drover::cli
