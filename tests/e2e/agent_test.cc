// Agents of a preset, as tests/agents/fake_agent.py plays them: how a run is judged, what is kept of it, what is not.
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "e2e/agent_fixture.h"

namespace drover::e2e {
namespace {

class AgentTest : public AgentFixture {};

TEST_F(AgentTest, EachPresetAnswersItsPrompt) {
  for (const char* preset : {"claude", "codex", "gemini", "opencode", "letta"}) {
    write_profile(fmt::format("preset: {}", preset));
    const json::Value task = after_work("do: say All is well.");
    EXPECT_EQ(at(task, "state"), "completed") << preset << " " << at(task, "error");
    EXPECT_EQ(at(task, "result"), "All is well.") << preset;
    EXPECT_TRUE(contains(transcript(), "All is well.")) << preset;
  }
}

TEST_F(AgentTest, ThePromptIsOnStdinAlone) {
  write_profile("preset: claude");
  const json::Value task =
      after_work("marker-7731\ndo: run cat /proc/$PPID/cmdline /proc/$PPID/environ | tr '\\0' ' '");
  EXPECT_EQ(at(task, "state"), "completed");
  const std::string seen = transcript();
  EXPECT_TRUE(contains(seen, "--output-format"));
  EXPECT_EQ(seen.find("marker-7731"), std::string::npos) << seen;
}

// A result, and then it does not leave: it is ended, and has succeeded.
TEST_F(AgentTest, SuccessThenSilenceIsSuccess) {
  write_profile("preset: claude");
  const json::Value task = after_work("do: ignore INT TERM\ndo: spawn sleep 600\ndo: success Fixed.\ndo: hang");
  EXPECT_EQ(at(task, "state"), "completed") << at(task, "error");
  EXPECT_EQ(at(task, "result"), "Fixed.");
  EXPECT_TRUE(sandbox.all_task_processes().empty());
}

TEST_F(AgentTest, SuccessThenExitOneIsFailure) {
  write_profile("preset: claude");
  EXPECT_EQ(at(after_work("do: success Fixed.\ndo: exit 1", {"--max-attempts", "1"}), "state"), "failed");
}

TEST_F(AgentTest, ExitZeroWithoutAResultIsFailure) {
  for (const char* preset : {"claude", "codex", "gemini", "letta"}) {
    write_profile(fmt::format("preset: {}", preset));
    const json::Value task = after_work("do: say Halfway.\ndo: exit 0", {"--max-attempts", "1"});
    EXPECT_EQ(at(task, "state"), "failed") << preset;
    EXPECT_EQ(error_class(task), "agent_error") << preset;
  }
}

TEST_F(AgentTest, TheSecondOfTwoResultsCounts) {
  write_profile("preset: claude");
  const json::Value task = after_work("do: background sleep 0.3\ndo: success First.\ndo: sleep 1\ndo: success Second.");
  EXPECT_EQ(at(task, "state"), "completed") << at(task, "error");
  EXPECT_EQ(at(task, "result"), "Second.");
}

TEST_F(AgentTest, AnErrorOfTheProviderIsNotTheTasks) {
  write_profile("preset: claude");
  EventStream events = sandbox.events();
  id_ = sandbox.enqueue({"fix", "--prompt", "do: replay 429"});
  const auto worker = sandbox.start({"work", "--type", "fix", "--lease", "2s", "--heartbeat", "300ms"});
  ASSERT_TRUE(events.next("task.deferred", id_));
  const json::Value task = sandbox.show(id_);
  EXPECT_EQ(at(task, "attempts"), "0");
  EXPECT_EQ(error_class(task), "rate_limited");
}

TEST_F(AgentTest, WordsOfTheModelAboutLimitsThrottleNobody) {
  write_profile("preset: claude");
  const json::Value task = after_work("do: say API Error: 429 rate limit, usage limit reached|1900000000");
  EXPECT_EQ(at(task, "state"), "completed") << at(task, "error");
}

TEST_F(AgentTest, WorkThatFailsItsCheckIsTriedAgainWithWhatTheCheckSaid) {
  write_profile("preset: claude, verify: {argv: [/bin/sh, -c, 'test -e fixed || { echo nothing is fixed; exit 3; }']}");
  const json::Value task = after_work("do: in-run 1 say I did it.\ndo: in-run 2 prompt\ndo: in-run 3 write fixed yes");
  EXPECT_EQ(at(task, "state"), "completed") << at(task, "error");
  EXPECT_EQ(at(task, "attempts"), "3");
  EXPECT_TRUE(contains(transcript(), "verify_failed"));
  EXPECT_TRUE(contains(transcript(), "nothing is fixed"));
}

TEST_F(AgentTest, ACheckThatTakesTooLongFails) {
  write_profile("preset: claude, verify: {argv: [/bin/sleep, '600'], timeout: 300ms}");
  const json::Value task = after_work("do: say Done.", {"--max-attempts", "1"});
  EXPECT_EQ(error_class(task), "verify_failed");
  EXPECT_TRUE(contains(at(*task.find("error"), "message"), "/bin/sleep ran longer than 300ms"));
}

TEST_F(AgentTest, AMissingCheckIsRefusedAtTheStart) {
  write_profile("preset: claude, verify: {argv: [./nosuch]}");
  const Outcome refused = sandbox.drover({"work", "--type", "fix"});
  expect_refused(refused, 1, "invalid_argument");
  EXPECT_TRUE(contains(refused.err, "correct local.runners.fix.verify.argv"));
  EXPECT_TRUE(contains(sandbox.drover({"doctor"}).out, "./nosuch is not found"));
}

// The agent was paid: a task whose check goes missing must not come back as if it had never begun.
TEST_F(AgentTest, ACheckThatGoesMissingFailsTheRun) {
  sandbox.write_file("check", "#!/bin/sh\nexit 0\n");
  std::filesystem::permissions(sandbox.file("check"), std::filesystem::perms::owner_all);
  write_profile(fmt::format("preset: claude, verify: {{argv: [{}]}}", sandbox.file("check")));
  worker_exit_code_ = 1;  // it can no longer run the type
  const json::Value task = after_work(fmt::format("do: run rm {}", sandbox.file("check")), {"--at-most-once"});
  EXPECT_EQ(at(task, "state"), "failed");
  EXPECT_EQ(error_class(task), "spawn_failed");
  EXPECT_EQ(at(task, "run"), "1");
}

// Claude ends well after an INT, and says what it has used; TERM would lose that.
TEST_F(AgentTest, ACancelledClaudeSaysItsLastWords) {
  write_profile("preset: claude");
  EventStream events = sandbox.events();
  id_ = sandbox.enqueue({"fix", "--prompt", "do: say Working.\ndo: hang"});
  const auto worker = sandbox.start({"work", "--type", "fix", "--lease", "2s", "--heartbeat", "300ms"});
  const auto heard = sandbox.start({"transcript", "-f", id_});
  while (const auto line = heard->read_line(kHangs)) {
    if (contains(*line, "Working.")) break;
  }
  sandbox.must({"cancel", id_});
  ASSERT_TRUE(events.next("task.cancelled", id_));
  EXPECT_TRUE(contains(transcript(), R"("kind":"result")"));
}

TEST_F(AgentTest, ATranscriptOfNoSuchRunIsNotFound) {
  write_profile("preset: claude");
  after_work("do: say Done.");
  expect_refused(sandbox.drover({"transcript", id_, "--run", "7"}), 5, "not_found");
}

TEST_F(AgentTest, ASecretIsStoredNowhere) {
  write_profile(
      "preset: claude, env: [ANTHROPIC_API_KEY], verify: {argv: [/bin/sh, -c, 'echo key=[$ANTHROPIC_API_KEY]; exit "
      "1']}");
  const std::string prompt =
      "do: env ANTHROPIC_API_KEY\ndo: run echo $ANTHROPIC_API_KEY; echo $ANTHROPIC_API_KEY | head -c 12\n"
      "do: run echo $ANTHROPIC_API_KEY >&2";
  const json::Value task = after_work(prompt, {"--max-attempts", "1"});
  EXPECT_EQ(error_class(task), "verify_failed");
  EXPECT_TRUE(contains(transcript(), "***ANTHROPIC_API_KEY***"));
  for (const std::string& stored : {sandbox.dump(), transcript(), sandbox.must({"logs", "--json", id_})}) {
    EXPECT_EQ(stored.find(kSecret), std::string::npos) << stored;
  }
  EXPECT_TRUE(contains(sandbox.must({"logs", "--json", id_}), "key=[]")) << "verify does not get it";
}

TEST_F(AgentTest, ATaskCannotSlipInOptions) {
  const Outcome refused = sandbox.drover({"enqueue", "fix", "--prompt", "x", "--model=--dangerously-skip-permissions"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(contains(refused.err, "could be taken for an option")) << refused.err;
}

TEST_F(AgentTest, ATaskWithoutAPromptIsInvalid) {
  write_profile("preset: claude");
  id_ = sandbox.enqueue({"fix"});
  sandbox.must({"work", "--type", "fix", "--until-empty"});
  EXPECT_EQ(error_class(sandbox.show(id_)), "invalid");
}

TEST_F(AgentTest, PresetsAreChosenOnTheCommandLineToo) {
  id_ = sandbox.enqueue({"fix", "--prompt", "do: argv"});
  sandbox.must({"work", "--type", "fix", "--preset", "codex", "--until-empty"});
  const json::Value task = sandbox.show(id_);
  EXPECT_EQ(at(task, "state"), "completed") << at(task, "error");
  EXPECT_TRUE(contains(at(task, "result"), "exec --json"));
  const Outcome unknown = sandbox.drover({"work", "--type", "fix", "--preset", "nosuch"});
  EXPECT_EQ(unknown.exit_code, 2) << unknown.err;
  EXPECT_TRUE(contains(unknown.err, "claude"));
}

// The agent's own file has the end of the turn that its output lacks.
TEST_F(AgentTest, ASilentAgentThatWroteItsEndDownHasSucceeded) {
  for (const char* preset : {"claude", "codex"}) {
    write_profile(fmt::format("preset: {}, env: [ANTHROPIC_API_KEY]", preset));
    const json::Value task =
        after_work(fmt::format("do: tokens 100 0 10\ndo: say One.\ndo: write-down Fixed {}.\ndo: hang", kSecret),
                   {"--idle-timeout", "4s"});
    EXPECT_EQ(at(task, "state"), "completed") << preset << " " << at(task, "error");
    EXPECT_EQ(at(task, "attempts"), "1") << preset;
    EXPECT_EQ(at(task, "result"), "Fixed ***ANTHROPIC_API_KEY***.") << preset;
    EXPECT_EQ(at(*task.find("usage"), "output_tokens"), "20") << preset;
    // What an earlier run wrote there is not this run's.
    const json::Value again = after_work("do: fresh write-down Old.\ndo: fresh exit 1\ndo: hang",
                                         {"--idle-timeout", "4s", "--max-attempts", "2"});
    EXPECT_EQ(at(again, "state"), "failed") << preset;
    EXPECT_EQ(error_class(again), "timeout") << preset;
    EXPECT_EQ(at(*again.find("agent"), "resumed"), "true") << preset;
  }
}

TEST_F(AgentTest, ATypeThatMustBeCheckedIsNotServedWithoutACheck) {
  sandbox.write_file("drover.yaml",
                     "types: {fix: {verify: required}}\nlocal:\n  runners:\n    fix: {preset: claude}\n");
  sandbox.must({"trust", "drover.yaml"});
  sandbox.must({"config", "apply", "drover.yaml"});
  id_ = sandbox.enqueue({"fix", "--prompt", "do: say Done."});
  for (const Arguments& worker :
       {Arguments{"work", "--type", "fix", "--until-empty"},
        Arguments{"work", "--queue", "fix", "--until-empty", "--preset", "claude"}, Arguments{"up"}}) {
    if (sandbox.is_served() && worker.front() == "up") continue;  // it wants a store of its own
    const Outcome refused = sandbox.drover(worker);
    EXPECT_NE(refused.exit_code, 0);
    EXPECT_TRUE(contains(refused.err, "type fix has verify: required, but its runner checks nothing")) << refused.err;
  }
  EXPECT_EQ(at(sandbox.show(id_), "run"), "0");
  EXPECT_TRUE(contains(sandbox.drover({"doctor"}).out, "its runner checks nothing"));
}

}  // namespace
}  // namespace drover::e2e
