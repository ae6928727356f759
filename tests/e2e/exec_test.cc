// The exec protocol: what exit codes, signals and output of a program mean.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "core/log_remark.h"
#include "e2e/e2e_test.h"

namespace drover::e2e {
namespace {

class ExecTest : public E2eTest {
 protected:
  // The task after one run of that agent.
  json::Value after_run(const Arguments& agent) {
    const std::string id = sandbox.enqueue({"work", "--max-attempts", "1"});
    work_until_empty("work", agent);
    return sandbox.show(id);
  }
  static std::string error_class(const json::Value& task) { return at(*task.find("error"), "class"); }
};

TEST_F(ExecTest, ExitCodesDecide) {
  struct Row {
    const char* exit;
    const char* error_class;
  };
  for (const Row& row : {Row{"65", "invalid"}, Row{"77", "auth"}, Row{"1", "agent_error"}, Row{"255", "agent_error"}}) {
    const json::Value task = after_run(agentsim({fmt::format("exit={}", row.exit), "print_err=what went wrong"}));
    EXPECT_EQ(at(task, "state"), "failed");
    EXPECT_EQ(error_class(task), row.error_class);
    EXPECT_EQ(at(task, "exit_code"), row.exit);
    EXPECT_TRUE(contains(at(*task.find("error"), "message"), "what went wrong"));
  }
}

TEST_F(ExecTest, InvalidAndUnauthorisedAreNotTriedAgain) {
  for (const char* exit : {"exit=65", "exit=77"}) {
    const std::string id = sandbox.enqueue({"work", "--max-attempts", "5", "--retry", "fixed:1ms"});
    work_until_empty("work", agentsim({exit}));
    EXPECT_EQ(sandbox.state_of(id), "failed");
    EXPECT_EQ(at(sandbox.show(id), "attempts"), "1");
  }
}

TEST_F(ExecTest, SeventyFiveIsDeferredUncounted) {
  EventStream events = sandbox.events();
  const std::string id = sandbox.enqueue({"work"});
  const auto worker = sandbox.start(work("work", agentsim({"exit=75"})));
  ASSERT_TRUE(events.next("task.deferred", id));
  const json::Value task = sandbox.show(id);
  EXPECT_EQ(at(task, "state"), "scheduled");
  EXPECT_EQ(at(task, "attempts"), "0");
  EXPECT_EQ(at(task, "defers"), "1");
}

TEST_F(ExecTest, SignalsOfItsOwnAreKilled) {
  const json::Value task = after_run(agentsim({"signal=11"}));
  EXPECT_EQ(at(task, "state"), "failed");
  EXPECT_EQ(error_class(task), "killed");
}

TEST_F(ExecTest, AProgramThatCannotStartCostsNoAttempt) {
  const std::string script = sandbox.file("script");
  sandbox.write_file("script", "#!/no/such/interpreter\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const std::string id = sandbox.enqueue({"work"});
  const Outcome outcome = sandbox.drover(work("work", {script}, {"--until-empty"}));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(contains(outcome.err, "cannot run " + script + ": No such file or directory"));
  const json::Value task = sandbox.show(id);
  EXPECT_EQ(at(task, "state"), "pending");
  EXPECT_EQ(at(task, "attempts"), "0");
}

TEST_F(ExecTest, ACommandThatIsNotThereCostsNoTask) {
  const std::string id = sandbox.enqueue({"work"});
  for (const char* program : {"/no/such/program", "no-such-program", "/etc/passwd"}) {
    const Outcome outcome = sandbox.drover(work("work", {program}));
    expect_refused(outcome, 1, "invalid_argument");
    EXPECT_TRUE(contains(outcome.err, std::string("cannot find the program ") + program + "; nothing was claimed"));
  }
  EXPECT_EQ(sandbox.state_of(id), "pending");
}

TEST_F(ExecTest, TheResultIsTheLastLineOrAllOfIt) {
  const auto result_of = [&](const std::string& script) {
    return at(after_run({"/bin/sh", "-c", "cat >/dev/null; " + script}), "result");
  };
  EXPECT_EQ(result_of(R"(echo working; echo '{"b": 1, "a": 0.10}'; echo)"), R"({"b":1,"a":0.10})");
  EXPECT_EQ(result_of("echo one; echo two"), "one\ntwo\n");
  EXPECT_EQ(result_of("echo 42"), "42");
  EXPECT_EQ(result_of(":"), "");
}

TEST_F(ExecTest, TooLargeResultsFail) {
  const json::Value task = after_run(agentsim({"flood=3000000"}));
  EXPECT_EQ(at(task, "state"), "failed");
  EXPECT_EQ(error_class(task), "result_too_large");
}

TEST_F(ExecTest, FloodsKeepHeadAndTail) {
  const std::string id = sandbox.enqueue({"work"});
  work_until_empty("work", agentsim({"log=FIRST", "flood_err=4000000", "print=\"LAST\""}));
  EXPECT_EQ(sandbox.state_of(id), "completed");
  const Outcome logs = sandbox.drover({"logs", id});
  EXPECT_TRUE(contains(logs.out.substr(0, 100), "FIRST\n"));
  EXPECT_TRUE(contains(logs.out, "\"LAST\"\n"));
  const std::size_t kept = Sandbox::log_bytes_kept();
  EXPECT_GT(logs.out.size(), kept / 5);
  EXPECT_LT(logs.out.size(), kept + kept / 5);
  EXPECT_TRUE(contains(logs.err, "left out"));
}

TEST_F(ExecTest, OutputBelowTheCapIsWholeAndAboveItEveryByteIsCounted) {
  for (const std::size_t bytes :
       {std::size_t{60'000}, std::size_t{300'000}, std::size_t{600'000}, std::size_t{3'000'000}}) {
    const std::string id = sandbox.enqueue({"work"});
    work_until_empty("work", {"/bin/sh", "-c", "yes | head -c " + std::to_string(bytes) + " >&2"});
    std::size_t kept = 0;
    std::size_t left_out = 0;
    std::size_t remarked = 0;
    std::istringstream lines(sandbox.must({"logs", id, "--json"}));
    for (std::string line; std::getline(lines, line);) {
      const auto record = json::parse(line);
      ASSERT_TRUE(record) << line;
      left_out += std::stoul(at(*record, "left_out_before"));
      const std::string text = at(*record, "text");
      if (at(*record, "stream") == "drover") {
        // The worker could not keep up, and counts what it left out itself.
        ASSERT_GT(bytes, Sandbox::log_bytes_kept());
        remarked += static_cast<std::size_t>(output_bytes(LogStream::kDrover, text));
      } else {
        kept += text.size();
      }
    }
    EXPECT_EQ(kept + left_out + remarked, bytes);
    EXPECT_GE(kept, std::min(bytes, Sandbox::log_bytes_kept()));
    const Outcome logs = sandbox.drover({"logs", id});
    EXPECT_EQ(logs.out.size(), kept);
    EXPECT_TRUE(left_out == 0 || contains(logs.err, std::to_string(left_out) + " bytes left out"));
  }
}

TEST_F(ExecTest, GarbageDoesNoHarm) {
  const json::Value task = after_run(agentsim({"garbage=1000"}));
  EXPECT_EQ(at(task, "state"), "completed");
  EXPECT_TRUE(contains(at(task, "result"), "\xEF\xBF\xBD"));
}

TEST_F(ExecTest, AnAgentThatDoesNotReadItsInput) {
  sandbox.write_file("payload.json", "\"" + std::string(1'000'000, 'x') + "\"");
  const std::string id = sandbox.enqueue({"work", "--payload", "@payload.json"});
  work_until_empty("work", agentsim({"read_stdin=false"}));
  EXPECT_EQ(sandbox.state_of(id), "completed");
}

TEST_F(ExecTest, LeftoversDieWithTheRun) {
  const std::string id = sandbox.enqueue({"work"});
  const auto worker = sandbox.start(work("work", agentsim({"grandchild=" + sandbox.file("grandchild")})));
  EXPECT_EQ(sandbox.drover({"wait", id}).exit_code, 0);
  EXPECT_TRUE(DeathWatch(Sandbox::processes_of(id)).all_dead(Millis{0}));
}

}  // namespace
}  // namespace drover::e2e
