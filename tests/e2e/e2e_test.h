// What the end-to-end tests share: a sandbox, and short ways to say what a command should answer.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "e2e/sandbox.h"

namespace drover::e2e {

class E2eTest : public testing::Test {
 protected:
  // No agent outlives its test, whatever the test was about.
  void TearDown() override {
    DeathWatch left(sandbox.all_task_processes());
    EXPECT_TRUE(left.all_dead(Millis{2'000}));
    for (const pid_t pid : left.alive()) ADD_FAILURE() << "still alive: " << pid << " " << command_line_of(pid);
  }

  // An agent that does what is asked of it; see tests/agentsim.
  static Arguments agentsim(const Arguments& settings = {}) {
    Arguments argv{AGENTSIM_BIN};
    argv.insert(argv.end(), settings.begin(), settings.end());
    return argv;
  }

  // Works until nothing is left to do, which must be soon.
  void work_until_empty(std::string_view type, const Arguments& agent, Arguments more = {}) {
    more.emplace_back("--until-empty");
    const Outcome outcome = sandbox.drover(work(type, agent, more));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }

  Sandbox sandbox;
};

[[nodiscard]] inline testing::AssertionResult contains(std::string_view text, std::string_view part) {
  if (text.find(part) != std::string_view::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no \"" << part << "\" in: " << text;
}

// The command is refused: that exit code, that stable code in the message, nothing on stdout.
inline void expect_refused(const Outcome& outcome, int exit_code, const std::string& code) {
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(contains(outcome.err, "(" + code + ")"));
}

}  // namespace drover::e2e
