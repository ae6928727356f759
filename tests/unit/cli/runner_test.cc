#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/parse.h"
#include "support/temp_dir.h"
#include "unit/cli/captured_output.h"

namespace drover::cli {
namespace {

class RunnerParseTest : public testing::Test {
 protected:
  std::string file(const std::string& name, std::string_view text) {
    std::ofstream(dir_.file(name)) << text;
    return dir_.file(name);
  }

  // Runs `drover runner parse ARGUMENTS`. The exit code.
  int parse(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"runner", "parse"});
    const auto invocation = parse_command_line(arguments);
    if (!invocation) throw std::runtime_error(invocation.error().message);
    return invocation->run(context_);
  }

  test::TempDir dir_;
  CapturedOutput captured_;
  Context context_{.common = {},
                   .environment = Environment(Variables{{"TZ", "UTC0"}}),
                   .folder = {},
                   .out = captured_.output(),
                   .err = captured_.output()};
};

TEST_F(RunnerParseTest, PrintsOneObject) {
  const std::string out = file("out", R"({"type":"thread.started","thread_id":"T"}
{"type":"turn.failed","error":{"message":"exceeded retry limit, last status: 429 Too Many Requests"}}
)");
  EXPECT_EQ(parse({"codex", out, "--exit-code", "1", "--json"}), kExitOk);
  EXPECT_EQ(
      captured_.take(),
      R"({"outcome":"failed","class":"rate_limited","message":"exceeded retry limit, last status: 429 Too Many Requests",)"
      R"("retry_after_ms":null,"reset_at":null,"result":null,"session_id":"T","usage":{"input_tokens":0,)"
      R"("cached_input_tokens":0,"cache_write_tokens":0,"output_tokens":0,"reasoning_tokens":0,"turns":0,"tool_calls":0,)"
      R"("cost_usd":null,"unpriced_tokens":0,"cost_basis":null,"models":{}}})"
      "\n");
}

TEST_F(RunnerParseTest, PrintsAPage) {
  const std::string out =
      file("out", R"({"type":"result","subtype":"success","session_id":"S","result":"a\nb","total_cost_usd":0.5,)"
                  R"("model_usage_since_last_result":{"m":{"inputTokens":7,"costUSD":0.5}}})");
  EXPECT_EQ(parse({"claude", out}), kExitOk);
  EXPECT_EQ(captured_.take(), R"(outcome       completed
result        "a\nb"
session       S
turns         0
tool calls    0
tokens        7 in, 0 cached, 0 written to a cache, 0 out (0 reasoning)
cost          $0.5
)");
}

TEST_F(RunnerParseTest, ReadsStderrAndTheClockOfThisMachine) {
  const std::string err = file("err", "Error resuming session: Invalid session identifier \"x\".\n");
  EXPECT_EQ(parse({"gemini", file("out", ""), "--stderr", err, "--exit-code", "42"}), kExitOk);
  const std::string page = captured_.take();
  EXPECT_TRUE(page.contains("message       exit code 42: Error resuming session")) << page;
  EXPECT_TRUE(page.contains("session lost  yes")) << page;
  const std::string limit =
      file("out", R"({"type":"turn.failed","error":{"message":"You've hit your usage limit. Try again at 6:56 PM."}})");
  EXPECT_EQ(parse({"codex", limit, "--exit-code", "1"}), kExitOk);
  EXPECT_TRUE(captured_.take().contains("T18:56:00.000Z"));
}

TEST_F(RunnerParseTest, SaysWhatIsWrong) {
  const std::vector<std::string> mistyped{"runner", "parse", "claud", "-"};
  const auto refused = parse_command_line(mistyped);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message.contains("did you mean claude?")) << refused.error().message;
  EXPECT_EQ(parse({"claude", dir_.file("none")}), kExitError);
  EXPECT_EQ(parse({"claude", file("out", ""), "--stderr", dir_.file("none")}), kExitError);
}

}  // namespace
}  // namespace drover::cli
