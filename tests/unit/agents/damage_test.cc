// Outputs that end too early or were damaged: nothing crashes, and no run completes whose output has no success event.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/rng.h"
#include "support/agent_success.h"
#include "unit/agents/fixture.h"

namespace drover::agents {
namespace {

// A million with DROVER_TEST_PERCENT=2000.
constexpr int kMutations = 50'000;

int scaled(int count) {
  const char* percent = std::getenv("DROVER_TEST_PERCENT");
  return percent != nullptr ? count / 100 * std::atoi(percent) : count;
}

// Whether it completed.
bool check(const Fixture& fixture, std::string_view out) {
  const AgentOutcome outcome = outcome_of(fixture.preset, {out, fixture.err});
  EXPECT_TRUE(!outcome.completed || has_success_event(fixture.preset, out)) << fixture.name << "\n" << out;
  EXPECT_EQ(outcome.completed, outcome.result.has_value());
  EXPECT_EQ(outcome.completed, !outcome.error_class.has_value());
  EXPECT_EQ(outcome.completed, outcome.message.empty());
  Usage read;
  EXPECT_TRUE(read_json(usage_json(outcome.usage), read));
  EXPECT_EQ(read, outcome.usage);
  return outcome.completed;
}

TEST(AgentDamage, PrefixesCompleteOnlyWithASuccessEvent) {
  for (const Fixture& fixture : fixtures()) {
    const std::string_view out = fixture.out;
    for (std::size_t end = out.find('\n'); end != std::string_view::npos; end = out.find('\n', end + 1)) {
      check(fixture, out.substr(0, end + 1));
    }
    // The last line byte by byte, after the one before it.
    const std::size_t last_line = out.size() < 2 ? 0 : out.rfind('\n', out.size() - 2) + 1;
    const std::size_t begin = last_line < 2 ? 0 : out.rfind('\n', last_line - 2) + 1;
    for (std::size_t end = last_line; end < out.size(); ++end) check(fixture, out.substr(begin, end - begin));
  }
}

// As a whole they complete exactly if there is a success event, so the checker is not merely strict.
TEST(AgentDamage, WholeOutputsCompleteExactlyWithASuccessEvent) {
  for (const Fixture& fixture : fixtures()) {
    EXPECT_EQ(check(fixture, fixture.out), has_success_event(fixture.preset, fixture.out)) << fixture.name;
  }
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

void mutate_bytes(std::string& line, Rng& rng) {
  constexpr std::string_view kTelling = "{}[]\",:\\0-1truefalsnu\n\xff";
  for (std::uint64_t n = 1 + rng.below(3); n > 0 && !line.empty(); --n) {
    const std::size_t at = rng.below(line.size());
    switch (rng.below(4)) {
      case 0:
        line[at] = kTelling[rng.below(kTelling.size())];
        break;
      case 1:
        line.erase(at, 1 + rng.below(8));
        break;
      case 2:
        line.insert(at, 1, kTelling[rng.below(kTelling.size())]);
        break;
      default:
        line[at] = static_cast<char>(rng.next());
    }
  }
}

std::string mutant(std::vector<std::string> lines, const std::vector<std::string>& strangers, Rng& rng) {
  for (std::uint64_t n = 1 + rng.below(3); n > 0 && !lines.empty(); --n) {
    const auto at = lines.begin() + static_cast<std::ptrdiff_t>(rng.below(lines.size()));
    switch (rng.below(6)) {
      case 0:
        lines.erase(at);
        break;
      case 1:
        lines.insert(at, *at);
        break;
      case 2:
        std::swap(*at, lines[rng.below(lines.size())]);
        break;
      case 3:
        if (!strangers.empty()) *at = strangers[rng.below(strangers.size())];
        break;
      default:
        mutate_bytes(*at, rng);
    }
  }
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

TEST(AgentDamage, MutantsCompleteOnlyWithASuccessEvent) {
  const char* given = std::getenv("DROVER_TEST_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
  SCOPED_TRACE(testing::Message() << "DROVER_TEST_SEED=" << seed);
  SeededRng rng(seed);
  const std::vector<Fixture> all = fixtures();
  std::vector<std::vector<std::string>> lines;
  for (const Fixture& fixture : all) lines.push_back(lines_of(fixture.out));
  int completed = 0;
  for (int i = 0; i < scaled(kMutations) && !testing::Test::HasFailure(); ++i) {
    const std::size_t which = rng.below(all.size());
    const std::string text = mutant(lines[which], lines[rng.below(all.size())], rng);
    completed += check(all[which], text) ? 1 : 0;
  }
  EXPECT_GT(completed, 0);
}

}  // namespace
}  // namespace drover::agents
