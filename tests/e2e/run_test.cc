// drover run, and following what a task does.
#include <csignal>

#include "e2e/e2e_test.h"

namespace drover::e2e {
namespace {

class RunTest : public E2eTest {};

TEST_F(RunTest, PrintsTheResultAndExitsWithTheFate) {
  const auto worker = sandbox.start(work("work", agentsim()));
  const Outcome text = sandbox.drover({"run", "work", "--payload", R"({"print":"hello there"})"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.out, "hello there\n");

  const Outcome value = sandbox.drover({"run", "work", "--payload", R"({"print":"[1, 0.10]"})"});
  EXPECT_EQ(value.exit_code, 0);
  EXPECT_EQ(value.out, "[1,0.10]\n");

  const Outcome whole = sandbox.drover({"run", "work", "--payload", R"({"print":"7"})", "--json"});
  const auto task = json::parse(whole.out);
  ASSERT_TRUE(task.has_value()) << whole.out;
  EXPECT_EQ(at(*task, "state"), "completed");
  EXPECT_EQ(at(*task, "result"), "7");
}

TEST_F(RunTest, FailureIsTen) {
  const auto worker = sandbox.start(work("work", agentsim()));
  const Outcome outcome = sandbox.drover({"run", "work", "--payload", R"({"exit":65,"print_err":"no such page"})"});
  EXPECT_EQ(outcome.exit_code, 10);
  EXPECT_TRUE(contains(outcome.err, "no such page"));
}

TEST_F(RunTest, ADeadlinePassesWithoutAnyWorker) {
  const Outcome outcome = sandbox.drover({"run", "work", "--deadline", "200ms", "--fallback", "\"later\""});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "later\n");
}

TEST_F(RunTest, CancelIsEleven) {
  EventStream events = sandbox.events();
  const auto runner = sandbox.start({"run", "work"});
  const Millis end = mono_now() + kHangs;
  std::string id;
  while (id.empty() && mono_now() < end) id = sandbox.must({"list", "-q"});
  ASSERT_FALSE(id.empty());
  id.pop_back();
  sandbox.must({"cancel", id, "--reason", "changed my mind"});
  EXPECT_EQ(runner->wait(kHangs), (Exit{.code = 11}));
  EXPECT_TRUE(contains(runner->errors(), "changed my mind"));
}

TEST_F(RunTest, AnInterruptedRunLetsTheTaskGoOn) {
  const auto runner = sandbox.start({"run", "work"});
  EventStream events = sandbox.events();
  const Millis end = mono_now() + kHangs;
  std::string id;
  while (id.empty() && mono_now() < end) id = sandbox.must({"list", "-q"});
  ASSERT_FALSE(id.empty());
  runner->signal(SIGINT);
  EXPECT_EQ(runner->wait(kHangs), (Exit{.code = 130}));
  EXPECT_EQ(sandbox.state_of(id.substr(0, 36)), "pending");
}

TEST_F(RunTest, StopsWaitingInTime) {
  const Outcome run = sandbox.drover({"run", "work", "--timeout", "1h", "--wait-timeout", "100ms"});
  EXPECT_EQ(run.exit_code, 124);
  EXPECT_EQ(run.out, "");
  EXPECT_TRUE(contains(run.err, "no live worker serves queue work"));
  EXPECT_TRUE(contains(run.err, "stopped waiting"));
  const Outcome enqueue = sandbox.drover({"enqueue", "work", "--wait", "--wait-timeout", "100ms", "-q"});
  EXPECT_EQ(enqueue.exit_code, 124);
  EXPECT_EQ(enqueue.err, "drover: stopped waiting; the tasks go on\n");
  sandbox.must({"queue", "pause", "work", "--reason", "deploy"});
  const Outcome wait = sandbox.drover({"wait", enqueue.out.substr(0, 36), "--timeout", "100ms"});
  EXPECT_EQ(wait.exit_code, 124);
  EXPECT_TRUE(contains(wait.err, "queue:work is closed"));
}

TEST_F(RunTest, SaysWhatItWaitsFor) {
  const auto runner = sandbox.start({"run", "work"});
  const Millis end = mono_now() + kHangs;
  while (!contains(runner->errors(), "no live worker serves queue work") && mono_now() < end &&
         !runner->wait(Millis{20})) {
  }
  EXPECT_TRUE(contains(runner->errors(), "no live worker serves queue work"));
  work_until_empty("work", agentsim());
  EXPECT_EQ(runner->wait(kHangs), (Exit{.code = 0})) << runner->errors();
}

TEST_F(RunTest, EnqueueWaits) {
  const auto worker = sandbox.start(work("work", agentsim()));
  EXPECT_EQ(sandbox.drover({"enqueue", "work", "--wait"}).exit_code, 0);
  EXPECT_EQ(sandbox.drover({"enqueue", "work", "--payload", R"({"exit":65})", "--wait"}).exit_code, 10);
}

TEST_F(RunTest, FollowedLogsComeWhileTheTaskRuns) {
  const std::string id = sandbox.enqueue({"work"});
  const auto worker = sandbox.start(work(
      "work",
      {"/bin/sh", "-c", "echo first; while [ ! -e '" + sandbox.file("go") + "' ]; do sleep 0.05; done; echo second"}));
  const auto follower = sandbox.start({"logs", "-f", id});
  EXPECT_EQ(follower->read_line(kHangs), "first");
  EXPECT_EQ(sandbox.state_of(id), "running");
  sandbox.write_file("go", "");
  EXPECT_EQ(follower->read_line(kHangs), "second");
  EXPECT_EQ(follower->wait(kHangs), (Exit{.code = 0}));
}

TEST_F(RunTest, LogsOfOneRunAsJson) {
  const std::string id = sandbox.enqueue({"work", "--retry", "fixed:1ms", "--payload", R"({"fail_first":1})"});
  work_until_empty("work", {"/bin/sh", "-c", "cat >/dev/null; echo run $DROVER_RUN; test $DROVER_RUN = 2"});
  const json::Value entry = sandbox.must_json({"logs", id, "--run", "2", "--json"});
  EXPECT_EQ(at(entry, "run"), "2");
  EXPECT_EQ(at(entry, "stream"), "stdout");
  EXPECT_EQ(at(entry, "text"), "run 2\n");
}

}  // namespace
}  // namespace drover::e2e
