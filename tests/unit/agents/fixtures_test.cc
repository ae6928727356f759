// What captured outputs mean: NAME.outcome.json beside each. DROVER_UPDATE_CAPTURES=1 writes these files anew; create
// an empty one for a new capture.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/json.h"
#include "unit/agents/fixture.h"

namespace drover::agents {
namespace {

std::string pretty(const AgentOutcome& outcome) {
  return json::dump_pretty(*json::parse(outcome_json(outcome))) + "\n";
}

TEST(AgentFixtures, AreAllThere) {
  EXPECT_EQ(fixtures().size(), 27U);
}

TEST(AgentFixtures, MeanWhatTheyMeant) {
  for (const Fixture& fixture : fixtures()) {
    SCOPED_TRACE(fixture.name);
    const std::string meant =
        pretty(outcome_of(fixture.preset, {fixture.out, fixture.err}, {.code = fixture.exit_code}));
    const std::filesystem::path golden = std::string(DROVER_FIXTURES "/agents/") + fixture.name + ".outcome.json";
    if (std::getenv("DROVER_UPDATE_CAPTURES") != nullptr) std::ofstream(golden) << meant;
    EXPECT_EQ(meant, read_file(golden));
  }
}

// However the streams are cut.
TEST(AgentFixtures, MeanTheSameInPieces) {
  for (const Fixture& fixture : fixtures()) {
    SCOPED_TRACE(fixture.name);
    const AgentOutcome whole = outcome_of(fixture.preset, {fixture.out, fixture.err}, {.code = fixture.exit_code});
    for (const std::size_t piece : {1U, 7U, 1000U}) {
      AgentReader reader(*find_preset(fixture.preset), {.clock = kClock});
      for (std::size_t at = 0; at < fixture.err.size(); at += piece)
        reader.read_stderr(fixture.err.substr(at, piece), kNow);
      for (std::size_t at = 0; at < fixture.out.size(); at += piece)
        reader.read_stdout(fixture.out.substr(at, piece), kNow);
      reader.finish(kNow);
      EXPECT_EQ(outcome_json(reader.conclude({.code = fixture.exit_code})), outcome_json(whole));
    }
  }
}

TEST(AgentFixtures, TellOfLostSessions) {
  for (const Fixture& fixture : fixtures()) {
    const AgentOutcome outcome = outcome_of(fixture.preset, {fixture.out, fixture.err}, {.code = fixture.exit_code});
    EXPECT_EQ(outcome.session_lost, fixture.name.ends_with("resume-missing")) << fixture.name;
  }
}

}  // namespace
}  // namespace drover::agents
