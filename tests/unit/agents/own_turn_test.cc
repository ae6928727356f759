#include "agents/own_turn.h"

#include <gtest/gtest.h>

#include <string>

#include "unit/agents/fixture.h"

namespace drover::agents {
namespace {

const Time kNow = *parse_time("2026-11-15T17:00:00Z");

std::string file_of(const std::string& name) {
  const std::string text = read_file(DROVER_FIXTURES "/agent_files/" + name + ".jsonl");
  EXPECT_FALSE(text.empty()) << name;
  return text;
}

const Preset& preset_of(const std::string& name) {
  return *find_preset(name.substr(0, name.find('-')));
}

TEST(OwnTurnTest, AFinishedTurnIsTheEndOfTheRun) {
  for (const std::string name : {"codex-done", "claude-done"}) {
    AgentReader reader(preset_of(name), {.clock = {.now = kNow}, .model = "gpt-5"});
    const auto events = reader.read_own_file(file_of(name), kNow);
    ASSERT_FALSE(events.empty()) << name;
    EXPECT_EQ(events.back().kind, AgentEventKind::kResult) << name;
    EXPECT_TRUE(reader.is_settled()) << name;
    const std::string last_words = R"({"type":"result","subtype":"error_during_execution","is_error":true})";
    EXPECT_TRUE(reader.read_stdout(last_words + "\n", kNow).empty()) << "it is ended, and complains";
    static_cast<void>(reader.finish(kNow));
    const AgentOutcome outcome = reader.conclude({.signal = 9, .stopped_after_result = true});
    EXPECT_TRUE(outcome.completed) << name;
    EXPECT_EQ(outcome.result, R"("It is fixed.")") << name;
  }
}

TEST(OwnTurnTest, ItsUsageIsThatOfTheRun) {
  Usage before;
  before.tokens = {.input = 500, .cached_input = 4'000, .output = 50};
  AgentReader codex(preset_of("codex"), {.clock = {.now = kNow}, .model = "gpt-5", .session_totals = before});
  static_cast<void>(codex.read_own_file(file_of("codex-done"), kNow));
  EXPECT_EQ(codex.usage().tokens.input, 1'500) << "without what an earlier run of the session used";
  EXPECT_EQ(codex.usage().tokens.cached_input, 7'000);
  EXPECT_EQ(codex.usage().tokens.output, 100);
  AgentReader claude(preset_of("claude"), {.clock = {.now = kNow}});
  static_cast<void>(claude.read_own_file(file_of("claude-done"), kNow));
  EXPECT_EQ(claude.usage().tokens.output, 60) << "of each message once, and none of a sub-agent";
  EXPECT_EQ(claude.usage().tokens.cached_input, 1'000);
}

TEST(OwnTurnTest, WhatIsNotFinishedSaysNothing) {
  for (const std::string name :
       {"codex-open", "codex-aborted", "codex-next-turn", "claude-open", "claude-limit", "claude-next-turn"}) {
    AgentReader reader(preset_of(name), {.clock = {.now = kNow}});
    EXPECT_TRUE(reader.read_own_file(file_of(name), kNow).empty()) << name;
    EXPECT_FALSE(reader.is_settled()) << name;
    EXPECT_EQ(reader.usage(), Usage()) << name;
  }
  EXPECT_FALSE(read_own_turn(preset_of("gemini"), file_of("codex-done")).is_done);
}

TEST(OwnTurnTest, ATurnThatIsCutAnywhereIsNotFinished) {
  for (const std::string name : {"codex-done", "claude-done"}) {
    const std::string text = file_of(name);
    const std::size_t end = text.find(
        name.starts_with("codex")
            ? R"("task_complete")"
            : R"("end_turn","usage":{"input_tokens":10,"cache_creation_input_tokens":2,"cache_read_input_tokens":500,"output_tokens":20)");
    ASSERT_NE(end, std::string::npos) << name;
    for (std::size_t size = 0; size < end; size += 7)
      EXPECT_FALSE(read_own_turn(preset_of(name), std::string_view(text).substr(0, size)).is_done) << name << size;
  }
}

}  // namespace
}  // namespace drover::agents
