// The command line of each preset, word for word.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "agents/preset.h"

namespace drover::agents {
namespace {

std::string argv_of(std::string_view preset, const AgentCall& call) {
  const auto argv = call_argv(*find_preset(preset), call);
  return argv ? fmt::format("{}", fmt::join(*argv, " ")) : to_string(argv.error());
}

AgentCall fresh() {
  return {.folder = "/w", .model = "m", .new_session = "11111111-1111-4111-8111-111111111111", .title = "fix 7"};
}
AgentCall resumed() {
  return {.folder = "/w", .resume_session = "S1", .title = "fix 7", .permissions = Permissions::kEdits};
}

TEST(AgentArgv, Claude) {
  EXPECT_EQ(
      argv_of("claude", fresh()),
      "claude -p --output-format stream-json --verbose --include-partial-messages --permission-mode bypassPermissions "
      "--session-id 11111111-1111-4111-8111-111111111111 --model m");
  AgentCall call = resumed();
  call.new_session = "N";
  call.system_prompt_file = "/run/system";
  call.mcp_config_file = "/run/mcp.json";
  call.max_turns = 5;
  call.args = {"--add-dir", "/data"};
  call.program = "/opt/claude";
  EXPECT_EQ(
      argv_of("claude", call),
      "/opt/claude -p --output-format stream-json --verbose --include-partial-messages --permission-mode acceptEdits "
      "--resume S1 --append-system-prompt-file /run/system --mcp-config /run/mcp.json --max-turns 5 --add-dir /data");
}

TEST(AgentArgv, Codex) {
  EXPECT_EQ(argv_of("codex", fresh()), "codex exec --json --skip-git-repo-check -C /w -s danger-full-access -m m -");
  AgentCall call = resumed();
  call.args = {"-c", "a=1"};
  call.system_prompt_file = "/run/system";
  EXPECT_EQ(
      argv_of("codex", call),
      "codex exec --json --skip-git-repo-check -C /w -s workspace-write -c model_instructions_file=\"/run/system\" "
      "-c a=1 resume S1 -");
}

TEST(AgentArgv, Gemini) {
  EXPECT_EQ(
      argv_of("gemini", fresh()),
      "gemini -o stream-json --approval-mode yolo --skip-trust --session-id 11111111-1111-4111-8111-111111111111 -m m");
  EXPECT_EQ(argv_of("gemini", resumed()), "gemini -o stream-json --approval-mode auto_edit --skip-trust --resume S1");
}

TEST(AgentArgv, Opencode) {
  EXPECT_EQ(argv_of("opencode", fresh()), "opencode run --format json --auto --dir /w --title fix 7 -m m");
  EXPECT_EQ(argv_of("opencode", resumed()), "opencode run --format json --dir /w --title fix 7 -s S1");
}

TEST(AgentArgv, Letta) {
  EXPECT_EQ(argv_of("letta", fresh()),
            "letta -p --output-format stream-json --permission-mode unrestricted --new-agent --model m");
  AgentCall call = resumed();
  call.agent = "agent-7";
  EXPECT_EQ(argv_of("letta", call), "letta -p --output-format stream-json --permission-mode acceptEdits --conv S1");
  call.resume_session.reset();
  call.max_turns = 9;
  EXPECT_EQ(argv_of("letta", call),
            "letta -p --output-format stream-json --permission-mode acceptEdits --agent agent-7 --max-turns 9");
}

TEST(AgentArgv, ReadOnly) {
  const AgentCall call{.folder = "/w", .permissions = Permissions::kReadOnly};
  EXPECT_TRUE(argv_of("claude", call).contains("--permission-mode plan"));
  EXPECT_TRUE(argv_of("codex", call).contains("-s read-only"));
  EXPECT_TRUE(argv_of("gemini", call).contains("--approval-mode plan"));
  EXPECT_FALSE(argv_of("opencode", call).contains("--auto"));
  EXPECT_TRUE(argv_of("letta", call).contains("--permission-mode standard"));
}

TEST(AgentArgv, RefusesWhatCouldBeAnOption) {
  for (const Preset& preset : presets()) {
    SCOPED_TRACE(preset.name);
    for (const char* bad : {"--dangerous", "-", "a\nb", "", "\x7f", "\xff"}) {
      for (auto member : {&AgentCall::model, &AgentCall::new_session, &AgentCall::resume_session, &AgentCall::agent}) {
        AgentCall call{.folder = "/w"};
        call.*member = bad;
        const auto argv = call_argv(preset, call);
        ASSERT_FALSE(argv) << bad;
        EXPECT_EQ(argv.error().code, ErrorCode::kInvalidArgument);
      }
    }
    AgentCall call{.folder = "/w", .title = "--help"};
    EXPECT_FALSE(call_argv(preset, call));
    call.title.clear();
    call.model = std::string(257, 'm');
    EXPECT_FALSE(call_argv(preset, call));
  }
  EXPECT_EQ(argv_of("claude", {.folder = "/w", .model = "-x"}),
            "invalid_argument: model: \"-x\" begins with '-' and could be taken for an option");
  const AgentCall with_zero{.folder = "/w", .model = std::string("a\0b", 3)};
  EXPECT_EQ(argv_of("claude", with_zero), "invalid_argument: model: \"a\\u0000b\" has control characters");
}

TEST(AgentArgv, RefusesFilesThatHaveNoOption) {
  EXPECT_EQ(argv_of("gemini", {.folder = "/w", .system_prompt_file = "/s"}),
            "invalid_argument: gemini has no option for a system prompt in a file");
  EXPECT_EQ(argv_of("codex", {.folder = "/w", .mcp_config_file = "/s"}),
            "invalid_argument: codex has no option for an MCP configuration in a file");
}

TEST(AgentPresets, AreFoundByName) {
  std::string names;
  for (const Preset& preset : presets()) names += fmt::format("{} ", preset.name);
  EXPECT_EQ(names, "claude codex gemini opencode letta ");
  EXPECT_EQ(find_preset("nobody"), nullptr);
  EXPECT_EQ((*preset_named("letta"))->name, "letta");
  EXPECT_EQ(preset_named("claud").error().message,
            "there is no preset \"claud\"; did you mean claude? Presets: claude, codex, gemini, opencode, letta");
  EXPECT_EQ(preset_named("x").error().message,
            "there is no preset \"x\". Presets: claude, codex, gemini, opencode, letta");
}

TEST(AgentPresets, PermissionsHaveNames) {
  for (int i = 0; i < kPermissionsCount; ++i) {
    const auto permissions = static_cast<Permissions>(i);
    EXPECT_EQ(parse_permissions(name_of(permissions)), permissions);
  }
  EXPECT_EQ(name_of(Permissions::kReadOnly), "read_only");
  EXPECT_EQ(parse_permissions("all"), std::nullopt);
}

}  // namespace
}  // namespace drover::agents
