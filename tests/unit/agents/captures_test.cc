// Captured outputs with the provider's ledger of the run beside them (NAME.billed): what a reader makes of an output is
// what the provider saw.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <map>

#include "agents/fields.h"
#include "base/json.h"
#include "unit/agents/fixture.h"

namespace drover::agents {
namespace {

std::string case_of(const Fixture& fixture) {
  return fixture.name.substr(fixture.preset.size() + 1);
}

// What a run comes to, by what was done to it.
std::string expected_verdict(const Fixture& fixture) {
  static const std::map<std::string, std::string, std::less<>> kVerdicts{
      {"400", "agent_error"},
      {"401", "auth"},
      {"429", "rate_limited"},
      {"429-later", "rate_limited"},
      {"500", "agent_error"},
      {"529", "overloaded"},
      {"disconnect", "agent_error"},
      {"limit", "quota_exhausted"},
      {"limit-in-days", "quota_exhausted"},
      {"limit-of-subscription", "quota_exhausted"},
      {"quota", "billing"},
      {"resume-missing", "agent_error"},
      {"session-reused", "agent_error"},
      {"too-long", "context_too_long"},
  };
  const std::string name = case_of(fixture);
  if (fixture.name == "codex-500") return "overloaded";       // it says that demand is high
  if (fixture.name == "claude-limit") return "rate_limited";  // of an API key: nothing tells it from a rate
  if (const auto found = kVerdicts.find(name); found != kVerdicts.end()) return found->second;
  if (name.ends_with("-int") || name.ends_with("-term") || name.ends_with("-kill")) {
    return fixture.exit_code >= 130 ? "killed" : "agent_error";
  }
  if (fixture.exit_code == 0) return "completed";
  return name == "429-once" ? "rate_limited" : "agent_error";
}

struct Bill {
  TokenCounts tokens{};
  double dollars = 0;
};

Bill read_bill(const std::string& text) {
  Bill bill;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const json::Value row = *json::parse(std::string_view(text).substr(at, end - at));
    at = end + 1;
    bill.tokens.input += count_of(row, "input_tokens");
    bill.tokens.cached_input += count_of(row, "cached_input_tokens");
    bill.tokens.cache_write += count_of(row, "cache_write_tokens");
    bill.tokens.output += count_of(row, "output_tokens");
    bill.tokens.reasoning += count_of(row, "reasoning_tokens");
    bill.dollars += number_of(row, "cost_usd").value_or(0);
  }
  return bill;
}

// Where the output alone tells all that was used: not of a Codex or Gemini run that has no result, nor of a Codex
// session that was resumed, whose totals need those of the run before.
bool tells_usage(const Fixture& fixture, const AgentOutcome& outcome) {
  const std::string name = case_of(fixture);
  if (fixture.preset == "codex") return outcome.completed && !name.contains("resumed");
  if (fixture.preset == "gemini") return outcome.completed;
  return outcome.completed || name.starts_with("429");
}

TEST(AgentCaptures, MeanWhatTheProviderSaw) {
  for (const Fixture& fixture : captures()) {
    SCOPED_TRACE(fixture.name);
    const AgentOutcome outcome = outcome_of(fixture.preset, {fixture.out, fixture.err}, {.code = fixture.exit_code});
    EXPECT_EQ(outcome.completed ? "completed" : std::string(name_of(*outcome.error_class)), expected_verdict(fixture))
        << outcome.message;
    EXPECT_EQ(outcome.session_lost, case_of(fixture) == "resume-missing" || fixture.name == "gemini-resumed-elsewhere");
    if (!tells_usage(fixture, outcome)) continue;
    Bill bill = read_bill(fixture.billed);
    if (fixture.preset == "letta") bill.tokens.reasoning = 0;  // it does not say
    EXPECT_EQ(outcome.usage.tokens, bill.tokens);
    const bool has_cost = fixture.preset == "claude" || fixture.preset == "opencode";
    if (!has_cost || !outcome.usage.cost) continue;
    EXPECT_NEAR(static_cast<double>(*outcome.usage.cost), bill.dollars * 1e6, 0.51);
  }
}

}  // namespace
}  // namespace drover::agents
