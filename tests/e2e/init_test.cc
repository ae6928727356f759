// From an empty folder to an agent's answer: drover init, trust, runner test, up, run.
#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "e2e/e2e_test.h"

namespace drover::e2e {
namespace {

class InitTest : public E2eTest {
 protected:
  InitTest() {
    std::filesystem::create_directory(sandbox.file("bin"));
    sandbox.set("PATH", fmt::format("{}:/usr/bin:/bin", sandbox.file("bin")));
  }

  void install(const std::string& agent) const {
    std::filesystem::create_symlink(DROVER_SOURCE_DIR "/tests/agents/fake_agent.py", sandbox.file("bin/" + agent));
  }
  [[nodiscard]] std::string project() const {
    std::ostringstream text;
    text << std::ifstream(sandbox.file("drover.yaml")).rdbuf();
    return text.str();
  }
  [[nodiscard]] std::unique_ptr<Process> up() const {
    auto process = sandbox.start({"up"});
    const Millis end = mono_now() + kHangs;
    while (!contains(process->errors(), "up on") && mono_now() < end && !process->wait(Millis{5})) {
    }
    return process;
  }
  // A claude that does as the script says, whatever it is asked.
  void script_claude(const std::string& script) {
    install("claude");
    sandbox.write_file("script", script);
    sandbox.set("FAKE_AGENT_SCRIPT", sandbox.file("script"));
    sandbox.write_file("drover.yaml", "local: {runners: {fix: {preset: claude, env: [FAKE_AGENT_SCRIPT]}}}");
    sandbox.must({"trust"});
  }
};

TEST_F(InitTest, AFolderWithTwoAgentsGoesToWork) {
  install("claude");
  install("codex");
  sandbox.set("OPENAI_API_KEY", "sk-of-a-test");
  const json::Value told = sandbox.must_json({"init", "--json"});
  EXPECT_EQ(at(told, "path"), sandbox.file("drover.yaml"));
  const auto& runners = *told.find("runners")->as_array();
  ASSERT_EQ(runners.size(), 2U);
  EXPECT_EQ(at(runners[0], "type") + " " + at(runners[0], "preset"), "fix codex") << "the one that can log in";
  EXPECT_EQ(at(runners[1], "type") + " " + at(runners[1], "login"), "fix-claude null");
  sandbox.must({"config", "apply", "drover.yaml", "--dry-run"});
  sandbox.must({"trust"});
  const auto running = up();
  for (const char* type : {"fix", "fix-claude"}) {
    const Outcome outcome = sandbox.drover({"run", type, "--prompt", "do: say All is well."});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err << running->errors();
    EXPECT_EQ(outcome.out, "All is well.\n");
  }
  running->signal(SIGTERM);
  EXPECT_EQ(running->wait(kHangs), (Exit{.code = 0}));
}

TEST_F(InitTest, WithoutAnAgentItHasAnExampleThatRuns) {
  std::filesystem::create_symlink("/usr/bin/tr", sandbox.file("bin/tr"));
  sandbox.set("PATH", sandbox.file("bin"));
  const Outcome outcome = sandbox.drover({"init"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "no coding agent is in PATH"));
  EXPECT_TRUE(contains(outcome.err, "drover run shout --prompt 'hello'"));
  sandbox.must({"trust"});
  const auto running = up();
  EXPECT_EQ(sandbox.must({"run", "shout", "--prompt", "hello"}), "HELLO\n");
}

// Who enqueues before the first `drover up` must not lose sight of the task.
TEST_F(InitTest, ItMakesAPlaceForTheTasks) {
  sandbox.set("DROVER_STORE", "");
  install("claude");
  sandbox.must({"init"});
  const std::string id = sandbox.enqueue({"fix", "--prompt", "do: say Done."});
  EXPECT_TRUE(std::filesystem::exists(sandbox.file(".drover/drover.db")));
  std::string ignored;
  std::getline(std::ifstream(sandbox.file(".drover/.gitignore")), ignored);
  EXPECT_EQ(ignored, "*") << "or an agent would add the store to git";
  sandbox.must({"trust"});
  const auto running = up();
  EXPECT_EQ(sandbox.must({"wait", "-q", id}), "completed\n");
}

TEST_F(InitTest, ItReplacesAFileOnlyWhenTold) {
  install("claude");
  sandbox.write_file("drover.yaml", "types: {mine: {}}\n");
  for (const Arguments& arguments : {Arguments{"init"}, Arguments{"init", "--json"}}) {
    const Outcome refused = sandbox.drover(arguments);
    expect_refused(refused, 1, "invalid_argument");
    EXPECT_TRUE(contains(refused.err, "--force"));
    EXPECT_FALSE(std::filesystem::exists(sandbox.file(".drover")));
    EXPECT_EQ(project(), "types: {mine: {}}\n");
  }
  const std::string printed = sandbox.must({"init", "--print"});
  EXPECT_EQ(project(), "types: {mine: {}}\n");
  sandbox.must({"init", "--force"});
  EXPECT_EQ(project(), printed);
  EXPECT_FALSE(std::filesystem::exists(sandbox.file("drover.yaml.new")));
  EXPECT_EQ(sandbox.drover({"init", "--print", "--json"}).exit_code, 2);
}

TEST_F(InitTest, AFolderThatCannotBeWrittenIsTold) {
  std::filesystem::create_directory(sandbox.file("drover.yaml"));
  expect_refused(sandbox.drover({"init"}), 1, "invalid_argument");
  expect_refused(sandbox.drover({"init", "--force"}), 1, "invalid_argument");
  EXPECT_FALSE(std::filesystem::exists(sandbox.file("drover.yaml.new")));
}

// Nothing of it is the project's: neither its tasks nor the folder for runs.
TEST_F(InitTest, ATrialShowsEachStepAndLeavesNothing) {
  script_claude("do: say ready");
  const std::string before = sandbox.dump();
  const Outcome outcome = sandbox.drover({"runner", "test", "fix"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  for (const char* line :
       {"ok     program   ", "doubt  login     none was found", "ok     started", "ok     session   ",
        "ok     answered  ready", "ok     usage     1000 in, 5000 cached", "ok     took      "}) {
    EXPECT_TRUE(contains(outcome.out, line));
  }
  EXPECT_TRUE(contains(outcome.err, "costs a little"));
  EXPECT_EQ(sandbox.dump(), before);
  EXPECT_TRUE(std::filesystem::is_empty(sandbox.file("tmp")));
  EXPECT_FALSE(std::filesystem::exists(sandbox.file("state/drover/runs")));
  const json::Value told = sandbox.must_json({"runner", "test", "fix", "--json"});
  EXPECT_EQ(at(told, "completed") + " " + at(told, "answer") + " " + at(told, "advice"), "true ready null");
}

TEST_F(InitTest, ATrialThatFailsSaysWhatToDo) {
  script_claude("do: replay 401");
  const Outcome refused = sandbox.drover({"runner", "test", "fix"});
  EXPECT_EQ(refused.exit_code, 10) << refused.out << refused.err;
  EXPECT_TRUE(contains(refused.out, "failed answered  auth: "));
  EXPECT_TRUE(contains(refused.err, "start `claude` once and log in, or set ANTHROPIC_API_KEY"));
  sandbox.write_file("script", "do: replay 429");
  const Outcome limited = sandbox.drover({"runner", "test", "fix", "--json"});
  EXPECT_EQ(limited.exit_code, 10);
  EXPECT_TRUE(contains(limited.out, "rate_limited"));
  sandbox.write_file("script", "do: hang");
  const Outcome silent = sandbox.drover({"runner", "test", "fix", "--timeout", "300ms"});
  EXPECT_EQ(silent.exit_code, 10);
  EXPECT_TRUE(contains(silent.err, "--timeout"));
  std::filesystem::remove(sandbox.file("bin/claude"));
  const Outcome missing = sandbox.drover({"runner", "test", "fix"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_TRUE(contains(missing.out, "failed program   claude is not found"));
}

TEST_F(InitTest, ATrialIsOfATrustedAgentOnly) {
  expect_refused(sandbox.drover({"runner", "test", "fix"}), 1, "invalid_argument");
  script_claude("do: say ready");
  const Outcome unknown = sandbox.drover({"runner", "test", "other"});
  expect_refused(unknown, 5, "not_found");
  EXPECT_TRUE(contains(unknown.err, "it has: fix"));
  sandbox.write_file("drover.yaml", "local: {runners: {fix: {argv: [/bin/true]}}}");
  expect_refused(sandbox.drover({"runner", "test", "fix"}), 4, "forbidden");
  sandbox.must({"trust"});
  expect_refused(sandbox.drover({"runner", "test", "fix"}), 1, "invalid_argument");
}

TEST_F(InitTest, AnInterruptedTrialEndsAtOnce) {
  script_claude("do: write started yes\ndo: ignore INT TERM\ndo: hang");
  const auto trial = sandbox.start({"runner", "test", "fix"});
  ASSERT_TRUE(await_line(sandbox.file("started")));
  trial->signal(SIGINT);
  EXPECT_EQ(trial->wait(kHangs), (Exit{.code = 130})) << trial->errors();
  EXPECT_TRUE(std::filesystem::is_empty(sandbox.file("tmp")));
}

}  // namespace
}  // namespace drover::e2e
