// Sessions of agents over several runs: resumed where the last run stopped, begun afresh when they are gone, billed
// once.
#include <fmt/format.h>

#include <csignal>
#include <string>

#include "e2e/agent_fixture.h"

namespace drover::e2e {
namespace {

class AgentSessionTest : public AgentFixture {
 protected:
  static std::string usage_of(const json::Value& task, std::string_view name) { return at(*task.find("usage"), name); }
  static std::string agent_of(const json::Value& task, std::string_view name) { return at(*task.find("agent"), name); }
  [[nodiscard]] json::Value ledger(const std::string& by) const {
    return sandbox.must_json({"usage", "--by", by, "--json"});
  }
};

// Two replies, then three in a run that goes on with the session of the first. Gemini says what it used only at its
// end, which the first run did not reach; opencode when the next reply begins.
TEST_F(AgentSessionTest, AResumedSessionIsBilledOnce) {
  using Expected = std::pair<const char*, const char*>;
  for (const auto& [preset, output_tokens] :
       {Expected{"claude", "250"}, {"codex", "250"}, {"gemini", "150"}, {"opencode", "200"}}) {
    write_profile(fmt::format("preset: {}", preset));
    const json::Value task =
        after_work("do: tokens 1000 200 50\ndo: say One.\ndo: say Two.\ndo: fresh exit 1\ndo: resumed say Three.");
    EXPECT_EQ(at(task, "state"), "completed") << preset << " " << at(task, "error");
    EXPECT_EQ(at(task, "run"), "2") << preset;
    EXPECT_EQ(agent_of(task, "resumed"), "true") << preset;
    EXPECT_EQ(agent_of(task, "preset"), preset);
    EXPECT_EQ(usage_of(task, "output_tokens"), output_tokens) << preset;
  }
}

// Killed with everything, it goes on where it was.
TEST_F(AgentSessionTest, AKilledWorkersSessionIsResumed) {
  write_profile("preset: claude");
  EventStream events = sandbox.events();
  id_ = sandbox.enqueue({"fix", "--prompt", "do: tokens 100 0 10\ndo: say One.\ndo: fresh hang\ndo: say Two."});
  const auto worker = sandbox.start({"work", "--type", "fix", "--lease", "2s", "--heartbeat", "300ms"});
  const auto is_reported = [&] { return at(sandbox.show(id_), "usage") != "null"; };
  const Millis end = mono_now() + kHangs;
  while (!is_reported() && mono_now() < end) {
  }
  ASSERT_TRUE(is_reported()) << "its session is stored while it runs";
  worker->signal(SIGKILL);
  const auto second = sandbox.start({"work", "--type", "fix", "--lease", "2s", "--heartbeat", "300ms"});
  ASSERT_TRUE(events.next("task.completed", id_));
  const json::Value task = sandbox.show(id_);
  EXPECT_EQ(agent_of(task, "resumed"), "true");
  EXPECT_EQ(usage_of(task, "output_tokens"), "30") << "One, then One and Two";
  EXPECT_TRUE(sandbox.all_task_processes().empty());
}

TEST_F(AgentSessionTest, ALostSessionIsBegunAfreshInTheSameAttempt) {
  for (const char* preset : {"claude", "codex", "gemini"}) {
    write_profile(fmt::format("preset: {}", preset));
    const json::Value task = after_work("do: in-run 1 run rm -rf $HOME/.fake_agent\ndo: in-run 1 exit 1\ndo: say Done.",
                                        {"--max-attempts", "2"});
    EXPECT_EQ(at(task, "state"), "completed") << preset << " " << at(task, "error");
    EXPECT_EQ(at(task, "attempts"), "2") << preset;
    EXPECT_EQ(agent_of(task, "resumed"), "false") << preset;
    EXPECT_TRUE(contains(sandbox.must({"show", id_, "--runs", "--json"}), "session_lost")) << preset;
  }
}

TEST_F(AgentSessionTest, WhatWasUsedIsInTheLedger) {
  write_profile("preset: claude");
  after_work("do: tokens 1000 0 100\ndo: say Done.");
  const json::Value by_type = ledger("type,runner");
  const json::Value& row = by_type.find("rows")->as_array()->at(0);
  EXPECT_EQ(at(row, "type"), "fix");
  EXPECT_EQ(at(row, "runner"), "claude");
  EXPECT_EQ(at(row, "output_tokens"), "100");
  EXPECT_EQ(at(row, "runs"), "1");
  EXPECT_EQ(sandbox.drover({"usage", "--by", "moon"}).exit_code, 2);
  EXPECT_EQ(sandbox.drover({"usage", "--from", "tomorrow"}).exit_code, 2);
}

TEST_F(AgentSessionTest, EvidenceIsKeptWithTheRun) {
  write_profile("preset: claude, verify: {argv: [/bin/sh, -c, 'echo all 3 tests pass']}");
  after_work("do: say Done.");
  const std::string runs = sandbox.must({"show", id_, "--runs", "--json"});
  EXPECT_TRUE(contains(runs, R"("exit_code":0)"));
  EXPECT_TRUE(contains(runs, "all 3 tests pass"));
}

}  // namespace
}  // namespace drover::e2e
