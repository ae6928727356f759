#include "cli/project_draft.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "policy/document.h"
#include "support/must.h"

namespace drover::cli {
namespace {

using test::must;

constexpr unsigned kCombinations = 1U << 5U;

// The agents whose bit is set are installed; how they log in differs.
std::vector<InstalledAgent> agents_of(unsigned bits, unsigned logins) {
  std::vector<InstalledAgent> agents;
  for (const agents::Preset& preset : agents::presets()) {
    InstalledAgent agent{.preset = &preset};
    if ((bits & 1U) != 0) agent.program = "/opt/bin/" + std::string(preset.program);
    if (logins % 3 == 1) agent.login_variables = {preset.login_variables.begin(), preset.login_variables.end()};
    if (logins % 3 == 2) agent.login_file = "~/" + std::string(preset.login_files.front());
    bits >>= 1U;
    ++logins;
    agents.push_back(std::move(agent));
  }
  return agents;
}

Document document_of(const ProjectDraft& draft) {
  return must(parse_document(draft_yaml(draft), "drover.yaml"));
}

void expect_round_trip(const ProjectDraft& draft) {
  SCOPED_TRACE(draft_yaml(draft));
  const Document document = document_of(draft);
  ASSERT_EQ(document.local.runners.size(), std::max<std::size_t>(draft.runners.size(), 1));
  EXPECT_EQ(document.policy.types.size(), document.local.runners.size());
  for (const auto& [type, agent] : draft.runners) {
    const RunnerProfile& profile = document.local.runners.at(type);
    EXPECT_EQ(profile.preset, agent.preset);
    EXPECT_EQ(profile.env, agent.login_variables);
    const bool verifies = draft.verify && draft.verify->is_sure;
    EXPECT_EQ(profile.verify.has_value(), verifies);
    if (profile.verify && verifies) {
      EXPECT_EQ(profile.verify->argv, draft.verify->argv);
    }
    EXPECT_EQ(document.policy.types.at(type).provider.value_or(""), agent.preset->provider);
  }
}

TEST(ProjectDraftTest, EveryCombinationOfAgentsIsReadBack) {
  for (unsigned bits = 0; bits < kCombinations; ++bits) {
    for (unsigned logins = 0; logins < 3; ++logins) {
      const std::vector<DraftRunner> runners = draft_runners(agents_of(bits, logins));
      EXPECT_EQ(runners.size(), static_cast<std::size_t>(std::popcount(bits)));
      expect_round_trip({.runners = runners});
      expect_round_trip(
          {.runners = runners, .verify = VerifyGuess{.argv = {"make", "test"}}, .repository = "/srv/site"});
      expect_round_trip({.runners = runners, .repository = "/srv/a, b: {\"}#c", .has_commit = true});
      expect_round_trip({.runners = runners, .verify = VerifyGuess{{"go", "test", "./..."}, true}});
    }
  }
}

TEST(ProjectDraftTest, TheFirstAgentThatCanLogInIsTheOneToFixThings) {
  std::vector<InstalledAgent> agents = agents_of(0b00111, 0);
  for (InstalledAgent& agent : agents) {
    agent.login_variables.clear();
    agent.login_file.clear();
  }
  EXPECT_EQ(draft_runners(agents)[0].agent.preset->name, "claude");
  agents[1].login_file = "~/.codex/auth.json";
  const auto runners = draft_runners(agents);
  ASSERT_EQ(runners.size(), 3U);
  EXPECT_EQ(runners[0].type, "fix");
  EXPECT_EQ(runners[0].agent.preset->name, "codex");
  EXPECT_EQ(runners[1].type, "fix-claude");
  EXPECT_EQ(runners[2].type, "fix-gemini");
}

TEST(ProjectDraftTest, AgentsThatShareTheFolderRunOneAtATime) {
  const Document one = document_of({.runners = draft_runners(agents_of(0b00001, 1))});
  EXPECT_EQ(one.policy.queue_of("fix"), "fix");
  EXPECT_EQ(one.local.runners.at("fix").concurrency, 1);
  const Document two = document_of({.runners = draft_runners(agents_of(0b00011, 1))});
  EXPECT_EQ(two.policy.queue_of("fix"), two.policy.queue_of("fix-codex"));
  EXPECT_EQ(two.policy.queues.at(two.policy.queue_of("fix")).gate.permits, 1);
}

// Where a program is may be any text; it must not become a setting.
TEST(ProjectDraftTest, AHostilePathStaysAComment) {
  std::vector<InstalledAgent> agents = agents_of(0b00001, 0);
  agents[0].program = "/tmp/x\n      argv: [/bin/rm]\r\n#: {]/claude";
  const ProjectDraft draft{.runners = draft_runners(agents)};
  EXPECT_EQ(document_of(draft).local.runners.at("fix").argv, std::vector<std::string>{"claude"});
}

TEST(ProjectDraftTest, ALoginThatIsMissingIsToldInTheFile) {
  std::vector<InstalledAgent> agents = agents_of(0b00001, 0);
  agents[0].login_variables.clear();
  agents[0].login_file.clear();
  EXPECT_TRUE(draft_yaml({.runners = draft_runners(agents)}).contains("no login was found: start `claude` once"));
}

TEST(ProjectDraftTest, EachTaskHasACloneWhereThereIsARepository) {
  const auto runners = draft_runners(agents_of(0b00011, 1));
  const Document cloned = document_of({.runners = runners, .repository = "/srv/site", .has_commit = true});
  for (const auto& [type, profile] : cloned.local.runners) {
    EXPECT_EQ(profile.workspace.kind, WorkspaceKind::kClone) << type;
    EXPECT_EQ(cloned.local.repos.at(profile.workspace.repo).path, "/srv/site");
  }
  EXPECT_TRUE(cloned.policy.queues.empty()) << "they need not take turns";
  EXPECT_TRUE(
      draft_yaml({.runners = runners, .repository = "/srv/site"}).contains("# workspace: {kind: clone, repo: here}"))
      << "there is nothing to clone before the first commit";
  EXPECT_FALSE(draft_yaml({.runners = runners}).contains("workspace"));
}

}  // namespace
}  // namespace drover::cli
