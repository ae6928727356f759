// What agents do that no captured output shows.
#include <gtest/gtest.h>

#include <csignal>

#include "agents/said_wait.h"
#include "unit/agents/fixture.h"

namespace drover::agents {
namespace {

constexpr std::string_view kInit = R"({"type":"system","subtype":"init","session_id":"S1","model":"m"})"
                                   "\n";

std::string claude_result(std::string_view members) {
  return R"({"type":"result","session_id":"S1",)" + std::string(members) + "}\n";
}
const std::string kSuccess = claude_result(R"("subtype":"success","is_error":false,"result":"done")");

std::string verdict(const AgentOutcome& outcome) {
  return outcome.completed ? "completed" : std::string(name_of(*outcome.error_class));
}

AgentOutcome claude(std::string_view out, const AgentExit& exit = {}) {
  return outcome_of("claude", {out}, exit);
}

TEST(AgentReader, SuccessNeedsTheEventAndAGoodExit) {
  EXPECT_EQ(verdict(claude(kSuccess)), "completed");
  EXPECT_EQ(claude(kSuccess).result, R"("done")");
  EXPECT_EQ(verdict(claude(kSuccess, {.code = 1})), "agent_error");
  EXPECT_EQ(verdict(claude(kSuccess, {.signal = SIGKILL})), "killed");
  EXPECT_EQ(verdict(claude(kSuccess, {.code = 143})), "killed");
  EXPECT_EQ(verdict(claude(kSuccess, {.code = 1, .stopped_after_result = true})), "completed");
  EXPECT_EQ(verdict(claude(kSuccess, {.signal = SIGKILL, .stopped_after_result = true})), "completed");
  EXPECT_EQ(verdict(claude("", {.code = 0})), "agent_error");
  EXPECT_EQ(claude("").message, "exit code 0, but the agent reported no result");
  EXPECT_EQ(verdict(claude("", {.signal = SIGKILL})), "killed");
  EXPECT_EQ(verdict(claude("", {.code = 137})), "killed");
  EXPECT_EQ(verdict(claude(kInit, {.stopped_after_result = true})), "agent_error");
}

TEST(AgentReader, SubtypeSuccessCanBeAnError) {
  const auto outcome =
      claude(claude_result(R"("subtype":"success","is_error":true,"api_error_status":529,"result":"Overloaded")"));
  EXPECT_EQ(verdict(outcome), "overloaded");
  EXPECT_EQ(outcome.result, std::nullopt);
  EXPECT_EQ(outcome.message, "Overloaded");
}

TEST(AgentReader, TheLastResultCounts) {
  const std::string bad = claude_result(R"("subtype":"error_during_execution","is_error":true)");
  EXPECT_EQ(verdict(claude(kSuccess + bad)), "agent_error");
  EXPECT_EQ(verdict(claude(bad + kSuccess)), "completed");
}

TEST(AgentReader, MaxTurns) {
  const auto outcome =
      claude(claude_result(R"("subtype":"error_max_turns","is_error":true,"num_turns":3)"), {.code = 1});
  EXPECT_EQ(verdict(outcome), "max_turns");
  EXPECT_EQ(outcome.message, "Claude Code ended with error_max_turns");
  EXPECT_EQ(verdict(outcome_of("gemini", {"", "Reached max session turns"}, {.code = 53})), "max_turns");
  EXPECT_EQ(verdict(outcome_of(
                "letta", {R"({"type":"error","message":"Maximum turns limit reached","stop_reason":"max_steps"})"},
                {.code = 1})),
            "max_turns");
}

// The model may write what it likes.
TEST(AgentReader, ProseThrottlesNobody) {
  const std::string prose = "429 rate limit: You've hit your usage limit, try again at 6:56 PM";
  const auto out = R"({"type":"assistant","message":{"id":"a","model":"m","content":[{"type":"text","text":")" + prose +
                   R"("}]}})"
                   "\n";
  const std::string failed =
      claude_result(R"("subtype":"error_during_execution","is_error":true,"result":")" + prose + R"(")");
  EXPECT_EQ(verdict(claude(out + claude_result(R"("subtype":"success","result":")" + prose + R"(")"))), "completed");
  EXPECT_EQ(verdict(claude(out + failed, {.code = 1})), "agent_error");
  EXPECT_EQ(claude(out + failed, {.code = 1}).reset_at, std::nullopt);
  EXPECT_EQ(verdict(claude(out, {.code = 1})), "agent_error");
  const std::string item = R"({"type":"item.completed","item":{"id":"1","type":"agent_message","text":")" + prose +
                           R"("}})"
                           "\n";
  EXPECT_EQ(verdict(outcome_of("codex", {item}, {.code = 1})), "agent_error");
  EXPECT_EQ(verdict(outcome_of("codex", {"", "Error: " + prose}, {.code = 1})), "agent_error");
}

TEST(AgentReader, ClaudeLimits) {
  const std::string failed = claude_result(
      R"_("subtype":"success","is_error":true,"api_error_status":429,"result":"You've hit your limit · resets 1pm (Europe/Lisbon)")_");
  auto outcome = claude(failed, {.code = 1});
  EXPECT_EQ(verdict(outcome), "quota_exhausted");
  EXPECT_EQ(outcome.reset_at, *parse_time("2026-11-16T13:00:00Z"));
  EXPECT_EQ(outcome.retry_after, std::nullopt);
  EXPECT_EQ(outcome.wait_from(kNow), std::chrono::hours(20));

  const std::string event =
      R"({"rate_limit_info":{"rateLimitType":"five_hour","resetsAt":1794783600,"status":"rejected"},"type":"rate_limit_event"})"
      "\n";
  const std::string plain = claude_result(
      R"_("subtype":"success","is_error":true,"api_error_status":429,"result":"API Error: Request rejected (429)")_");
  outcome = claude(event + plain, {.code = 1});
  EXPECT_EQ(verdict(outcome), "quota_exhausted");
  EXPECT_EQ(outcome.reset_at, epoch_time(1'794'783'600));
  EXPECT_EQ(claude(event + failed, {.code = 1}).reset_at, epoch_time(1'794'783'600)) << "not only to the minute";
  EXPECT_EQ(verdict(claude(event + kSuccess)), "completed");
  EXPECT_EQ(verdict(claude(plain, {.code = 1})), "rate_limited");

  for (const std::string_view flag : {"true", "false"}) {
    outcome = claude(claude_result(R"("subtype":"success","is_error":)" + std::string(flag) +
                                   R"(,"result":"Claude AI usage limit reached|1794783600")"));
    EXPECT_EQ(verdict(outcome), "quota_exhausted");
    EXPECT_EQ(outcome.reset_at, epoch_time(1'794'783'600));
  }
}

TEST(AgentReader, OpencodeHeaders) {
  const auto error = [](std::string_view headers) {
    return outcome_of(
        "opencode",
        {R"({"type":"error","sessionID":"s","error":{"name":"APIError","data":{"message":"Rate limit","statusCode":429,"responseHeaders":{)" +
         std::string(headers) + "}}}}\n"},
        {.code = 1});
  };
  EXPECT_EQ(error(R"("retry-after":"2")").retry_after, Millis(2'000));
  EXPECT_EQ(error(R"("retry-after-ms":"1500","retry-after":"2")").retry_after, Millis(1'500));
  EXPECT_EQ(error(R"("retry-after":"Sun, 15 Nov 2026 17:02:00 GMT")").retry_after, Millis(120'000));
  EXPECT_EQ(verdict(error(R"("retry-after":"Sun, 15 Nov 2026 17:02:00 GMT")")), "rate_limited");
}

TEST(AgentReader, OpencodeEndsWithItsLastStep) {
  const std::string stop = R"({"type":"step_finish","sessionID":"s","part":{"id":"1","reason":"stop"}})"
                           "\n";
  const std::string start = R"({"type":"step_start","sessionID":"s","part":{"id":"2"}})"
                            "\n";
  const std::string length = R"({"type":"step_finish","sessionID":"s","part":{"id":"3","reason":"length"}})"
                             "\n";
  EXPECT_EQ(verdict(outcome_of("opencode", {stop})), "completed");
  EXPECT_EQ(verdict(outcome_of("opencode", {stop + start})), "agent_error");
  EXPECT_EQ(verdict(outcome_of("opencode", {stop + start + length})), "agent_error");
  EXPECT_EQ(outcome_of("opencode", {stop + start + length}).message, "the model stopped early: length");
  EXPECT_EQ(verdict(outcome_of("opencode", {start + stop})), "completed");
}

TEST(AgentReader, GeminiQuotas) {
  const auto error = [](std::string_view text) {
    return outcome_of(
        "gemini",
        {R"({"type":"result","status":"error","error":{"type":"Error","message":")" + std::string(text) + R"("}})"},
        {.code = 173});
  };
  const std::string quota = "[API Error: You exceeded your current quota, please check your plan and billing details.";
  EXPECT_EQ(verdict(error(quota + "]")), "quota_exhausted");
  EXPECT_EQ(verdict(error(quota + " Please retry in 32.5s.]")), "rate_limited");
  EXPECT_EQ(error(quota + " Please retry in 32.5s.]").retry_after, Millis(32'500));
  EXPECT_EQ(verdict(outcome_of("gemini", {"", "Please set an Auth method"}, {.code = 41})), "auth");
}

TEST(AgentReader, UsageIsThisRunsAlone) {
  const std::string completed =
      R"({"type":"turn.completed","usage":{"input_tokens":24000,"cached_input_tokens":20000,"output_tokens":800,"reasoning_output_tokens":80}})";
  ReaderOptions options{.clock = kClock, .model = "gpt-5"};
  const AgentOutcome first = outcome_of("codex", {completed}, {}, options);
  EXPECT_EQ(first.usage.tokens, (TokenCounts{4'000, 20'000, 0, 800, 80}));
  EXPECT_EQ(first.usage.models.at("gpt-5").tokens, first.usage.tokens);
  EXPECT_EQ(first.usage.cost, std::nullopt);
  options.session_totals = first.session_totals;
  const std::string later =
      R"({"type":"turn.completed","usage":{"input_tokens":30500,"cached_input_tokens":26000,"output_tokens":900,"reasoning_output_tokens":80}})";
  const AgentOutcome second = outcome_of("codex", {later}, {}, options);
  EXPECT_EQ(second.usage.tokens, (TokenCounts{500, 6'000, 0, 100, 0}));
  EXPECT_EQ(second.session_totals.tokens, (TokenCounts{4'500, 26'000, 0, 900, 80}));
  const AgentOutcome killed = outcome_of("codex", {""}, {.signal = SIGKILL}, options);
  EXPECT_EQ(killed.session_totals, first.session_totals);
}

// Older versions of Claude Code do not say what a run used by itself.
TEST(AgentReader, ClaudeTotalsWithoutTheRunsOwnPart) {
  const auto total = [](int tokens, std::string_view cost) {
    return claude_result(R"("subtype":"success","result":"","total_cost_usd":)" + std::string(cost) +
                         R"(,"modelUsage":{"m":{"inputTokens":)" + std::to_string(tokens) + R"(,"costUSD":)" +
                         std::string(cost) + "}}");
  };
  const AgentOutcome first = claude(total(100, "0.01"));
  EXPECT_EQ(first.usage.cost, 10'000);
  const AgentOutcome second =
      outcome_of("claude", {total(150, "0.016")}, {}, {.clock = kClock, .session_totals = first.session_totals});
  EXPECT_EQ(second.usage.tokens.input, 50);
  EXPECT_EQ(second.usage.cost, 6'000);
  EXPECT_EQ(second.usage.basis, CostBasis::kReported);
}

TEST(AgentReader, ClaudeCountsWhileItRuns) {
  const std::vector<Fixture> all = fixtures();
  const Fixture& partial = *std::ranges::find(all, "claude-partial", &Fixture::name);
  AgentReader reader(*find_preset("claude"), {.clock = kClock});
  reader.read_stdout(std::string_view(partial.out).substr(0, partial.out.rfind(R"({"duration_api_ms")")), kNow);
  EXPECT_EQ(reader.usage().tokens, (TokenCounts{3'000, 15'000, 0, 450, 0}));
  EXPECT_EQ(reader.usage().turns, 3);
  EXPECT_EQ(reader.usage().tool_calls, 2);
  EXPECT_EQ(reader.usage().cost, std::nullopt);
}

TEST(AgentReader, OldRequestsStayCounted) {
  AgentReader reader(*find_preset("opencode"), {.clock = kClock, .model = "p/m"});
  for (int i = 0; i < 1'000; ++i) {
    reader.read_stdout(
        R"({"type":"step_finish","part":{"id":")" + std::to_string(i) +
            R"(","reason":"tool-calls","cost":0.0000015,"tokens":{"total":12,"input":3,"output":4,"reasoning":5}}})"
            "\n",
        kNow);
  }
  EXPECT_EQ(reader.usage().tokens, (TokenCounts{.input = 3'000, .output = 9'000, .reasoning = 5'000}));
  EXPECT_EQ(reader.usage().cost, 1'500);
  EXPECT_EQ(reader.usage().turns, 1'000);
  EXPECT_EQ(reader.usage().models.at("p/m").cost, 1'500);
}

TEST(AgentReader, ACostIsWhatTheAgentSaysOfIt) {
  AgentReader reader(*find_preset("opencode"), {.clock = kClock, .model = "p/m"});
  reader.read_stdout(R"({"type":"step_finish","part":{"id":"1","reason":"tool-calls","cost":0.5,"tokens":{"input":3}}}
{"type":"step_finish","part":{"id":"2","reason":"tool-calls","tokens":{"input":4}}}
)",
                     kNow);
  EXPECT_EQ(reader.usage().cost, 500'000);
  EXPECT_EQ(unpriced_tokens(reader.usage()), 4);
  EXPECT_EQ(unpriced_tokens(reader.usage().models.at("p/m")), 4);
}

// A report with them would be refused.
TEST(AgentReader, NamesThatNoCommandLineTakesAreLeftOut) {
  const AgentOutcome outcome = outcome_of(
      "claude", {R"({"type":"result","subtype":"success","session_id":"-p","result":"x","total_cost_usd":0.5,)"
                 R"("model_usage_since_last_result":{"a\nb":{"inputTokens":7,"costUSD":0.5}}})"});
  EXPECT_EQ(outcome.session_id, std::nullopt);
  EXPECT_EQ(outcome.usage.tokens.input, 7);
  EXPECT_EQ(outcome.usage.cost, 500'000);
  EXPECT_TRUE(outcome.usage.models.empty());
}

TEST(AgentReader, LettaCountsCachedTokensInTwoWays) {
  const auto tokens = [](std::string_view usage) {
    return outcome_of("letta",
                      {R"({"type":"result","subtype":"success","result":"x","usage":{)" + std::string(usage) + "}}"})
        .usage.tokens;
  };
  EXPECT_EQ(
      tokens(
          R"("prompt_tokens":100,"completion_tokens":5,"total_tokens":105,"cached_input_tokens":60,"cache_write_tokens":10)"),
      (TokenCounts{30, 60, 10, 5, 0}));
  EXPECT_EQ(
      tokens(
          R"("prompt_tokens":30,"completion_tokens":5,"total_tokens":105,"cached_input_tokens":60,"cache_write_tokens":10)"),
      (TokenCounts{30, 60, 10, 5, 0}));
}

TEST(AgentReader, LettaCountsStepsOfARunThatFails) {
  const auto outcome = outcome_of(
      "letta",
      {R"({"type":"message","id":"letta-msg-3","message_type":"usage_statistics","prompt_tokens":1200,"completion_tokens":200,"total_tokens":5400,"cached_input_tokens":4000}
{"type":"error","message":"{\"error\":{\"message\":\"429 Rate limit reached\"}}","stop_reason":"llm_api_error"}
)"},
      {.code = 1});
  EXPECT_EQ(verdict(outcome), "rate_limited");
  EXPECT_EQ(outcome.message, "429 Rate limit reached");
  EXPECT_EQ(outcome.usage.tokens, (TokenCounts{1'200, 4'000, 0, 200, 0}));
  EXPECT_EQ(outcome.usage.turns, 1);
}

TEST(AgentReader, SettlesWhenNothingIsPending) {
  const std::vector<Fixture> all = fixtures();
  const Fixture& two = *std::ranges::find(all, "claude-two-results", &Fixture::name);
  AgentReader reader(*find_preset("claude"), {.clock = kClock});
  std::string settled;
  for (std::size_t at = 0; at < two.out.size();) {
    const std::size_t end = two.out.find('\n', at) + 1;
    reader.read_stdout(std::string_view(two.out).substr(at, end - at), kNow);
    settled += reader.is_settled() ? '+' : '-';
    at = end;
  }
  // init, text, tool, background, started, tool result, text, result, updated, notified, background over, init, text,
  // result
  EXPECT_EQ(settled, "----------++-+");
}

TEST(AgentReader, TellsTheSessionAtOnce) {
  AgentReader reader(*find_preset("claude"), {.clock = kClock});
  const auto events = reader.read_stdout(kInit, kNow);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(event_json(events.front()), R"({"kind":"session","text":"S1"})");
  EXPECT_EQ(reader.session_id(), "S1");
  EXPECT_FALSE(reader.has_answer());
}

std::string story(std::string_view preset, std::string_view out) {
  AgentReader reader(*find_preset(preset), {.clock = kClock});
  std::string lines;
  for (const AgentEvent& event : reader.read_stdout(out, kNow)) lines += event_json(event) + "\n";
  return lines;
}

TEST(AgentReader, TranscriptOfATool) {
  EXPECT_EQ(
      story(
          "codex",
          R"({"type":"item.started","item":{"id":"1","type":"command_execution","command":"ls","status":"in_progress"}}
{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"ls","aggregated_output":"a","exit_code":0,"status":"completed"}}
)"),
      R"({"kind":"tool_call","text":"ls","tool":"shell","call_id":"1"}
{"kind":"tool_result","text":"a","tool":"shell","call_id":"1"}
)");
  EXPECT_EQ(
      story(
          "claude",
          R"({"type":"assistant","message":{"id":"a","model":"m","content":[{"type":"thinking","thinking":"hm"},{"type":"tool_use","id":"t","name":"AskUserQuestion","input":{"q":1}}]}}
)"),
      R"({"kind":"reasoning","text":"hm"}
{"kind":"question","text":"{\"q\":1}","tool":"AskUserQuestion","call_id":"t"}
)");
}

// Two at once, each started and completed: two calls.
TEST(AgentReader, ParallelToolsAreCountedOnce) {
  std::string out;
  for (const std::string_view type : {"item.started", "item.completed"}) {
    for (const std::string_view id : {"1", "2"}) {
      out += R"({"type":")" + std::string(type) + R"(","item":{"type":"command_execution","command":"ls","id":")" +
             std::string(id) + "\"}}\n";
    }
  }
  const AgentOutcome outcome = outcome_of("codex", {out});
  EXPECT_EQ(outcome.usage.tool_calls, 2);
  EXPECT_EQ(outcome.usage.turns, 1);
}

TEST(AgentReader, Throttles) {
  AgentReader reader(*find_preset("claude"), {.clock = kClock});
  const auto events = reader.read_stdout(
      R"({"type":"system","subtype":"api_retry","attempt":1,"retry_delay_ms":1000,"error_status":429,"error":"rate_limit","session_id":"S"})"
      "\n",
      kNow);
  EXPECT_EQ(event_json(events.back()),
            R"({"kind":"retry","text":"rate_limit","class":"rate_limited","status":429,"delay_ms":1000})");
  EXPECT_EQ(reader.throttles(), 1);
  EXPECT_EQ(reader.throttle(), Throttle{.error_class = ErrorClass::kRateLimited});

  AgentReader gemini(*find_preset("gemini"), {.clock = kClock});
  gemini.read_stderr("Attempt 1 failed with status 503. Retrying with backoff... Error\n", kNow);
  EXPECT_EQ(gemini.throttle(), Throttle{.error_class = ErrorClass::kOverloaded});
}

TEST(AgentReader, ToolsThatWereDenied) {
  AgentReader reader(*find_preset("claude"), {.clock = kClock});
  reader.read_stdout(
      claude_result(
          R"("subtype":"success","result":"no","permission_denials":[{"tool_name":"Bash"},{"tool_name":"Write"}])"),
      kNow);
  EXPECT_EQ(reader.denied_tools(), (std::vector<std::string>{"Bash", "Write"}));
  EXPECT_TRUE(reader.conclude({}).completed);
}

TEST(AgentReader, TellsWhatRunsNow) {
  AgentReader reader(*find_preset("gemini"), {.clock = kClock});
  reader.read_stdout(R"({"type":"tool_use","tool_name":"shell","tool_id":"1","parameters":{}})"
                     "\n",
                     kNow);
  EXPECT_EQ(reader.current_tool(), "shell");
  reader.read_stdout(R"({"type":"tool_result","tool_id":"1","status":"success","output":"x"})"
                     "\n",
                     kNow);
  EXPECT_EQ(reader.current_tool(), "");
  EXPECT_EQ(reader.lines_understood(), 2);
}

TEST(AgentReader, StrangeLinesAreRaw) {
  EXPECT_EQ(story("claude", "hello\n[1]\n\r\n{\"type\":\"new_thing\"}\n"),
            R"({"kind":"raw","text":"hello"}
{"kind":"raw","text":"[1]"}
{"kind":"raw","text":"{\"type\":\"new_thing\"}"}
)");
}

// JavaScript cuts texts between the halves of a character.
TEST(AgentReader, HalfACharacterIsNoReasonToLoseALine) {
  const auto result = [](std::string_view text) {
    return claude(claude_result(R"("subtype":"success","result":")" + std::string(text) + R"(")")).result;
  };
  EXPECT_EQ(result(R"(a\ud83d)"), R"("a�")");
  EXPECT_EQ(result(R"(\ude00b)"), R"("�b")");
  EXPECT_EQ(result(R"(\\\ud83d)"), R"("\\�")");
  EXPECT_EQ(result(R"(\ud83d\ude00\uDBFF)"), "\"\U0001F600�\"");
  EXPECT_EQ(result("a\xff"), R"("a�")");
}

TEST(AgentReader, LinesAreBounded) {
  AgentReader reader(*find_preset("claude"), {.clock = kClock});
  const std::string part(1 << 20, 'x');
  std::vector<AgentEvent> events;
  for (int i = 0; i < 20; ++i) events = reader.read_stdout(part, kNow);
  EXPECT_TRUE(events.empty());
  events = reader.read_stdout("\n" + kSuccess, kNow);
  ASSERT_EQ(events.front().kind, AgentEventKind::kRaw);
  EXPECT_TRUE(events.front().text.ends_with("… (20970496 more bytes)"));
  EXPECT_EQ(events.front().text.size(), 1'024 + std::string("… (20970496 more bytes)").size());
  reader.finish(kNow);
  EXPECT_TRUE(reader.conclude({}).completed);
}

TEST(AgentReader, AnswersAreBounded) {
  AgentReader reader(*find_preset("gemini"), {.clock = kClock});
  const std::string line =
      R"({"type":"message","role":"assistant","delta":true,"content":")" + std::string(1 << 20, 'x') + "\"}\n";
  for (int i = 0; i < 9; ++i) reader.read_stdout(line, kNow);
  reader.read_stdout(R"({"type":"result","status":"success"})", kNow);
  reader.finish(kNow);
  EXPECT_EQ(verdict(reader.conclude({})), "result_too_large");
}

TEST(AgentReader, TheMessageIsTheFirstErrorOnStderr) {
  const auto outcome =
      outcome_of("codex", {"", "warning: x\nError: it broke\nStack backtrace:\n  0: <unknown>\n"}, {.code = 3});
  EXPECT_EQ(outcome.message, "exit code 3: Error: it broke");
  EXPECT_EQ(outcome_of("codex", {"", "a\nb\n"}, {.code = 3}).message, "exit code 3: b");
}

}  // namespace
}  // namespace drover::agents
