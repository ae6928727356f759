// How a worker leaves: on a signal, or because nothing is left to do.
#include <csignal>

#include "e2e/e2e_test.h"

namespace drover::e2e {
namespace {

class DrainTest : public E2eTest {};

TEST_F(DrainTest, FirstSignalLetsRunningTasksFinish) {
  EventStream events = sandbox.events();
  const std::string running = sandbox.enqueue({"work", "--payload", R"({"sleep_ms":700})"});
  const auto worker = sandbox.start(work("work", agentsim({"pid_file=" + sandbox.file("pid")})));
  ASSERT_TRUE(await_line(sandbox.file("pid")));
  const std::string waiting = sandbox.enqueue({"work"});
  worker->signal(SIGTERM);
  EXPECT_EQ(worker->wait(kHangs), (Exit{.code = 0}));
  EXPECT_EQ(sandbox.state_of(running), "completed");
  EXPECT_EQ(sandbox.state_of(waiting), "pending") << "it claimed although it was leaving";
  EXPECT_EQ(sandbox.must({"worker", "list", "--json"}), "[]\n");
}

TEST_F(DrainTest, SecondSignalGivesTasksBackUncounted) {
  EventStream events = sandbox.events();
  const std::string id = sandbox.enqueue({"work"});
  const auto worker = sandbox.start(work("work", agentsim({"hang=true", "pid_file=" + sandbox.file("pid")})));
  ASSERT_TRUE(await_line(sandbox.file("pid")));
  DeathWatch tree(Sandbox::processes_of(id));
  worker->signal(SIGTERM);
  worker->signal(SIGINT);
  EXPECT_EQ(worker->wait(kHangs), (Exit{.code = 0}));
  EXPECT_TRUE(tree.all_dead(Millis{0}));
  ASSERT_TRUE(events.next("task.released", id));
  const json::Value task = sandbox.show(id);
  EXPECT_EQ(at(task, "state"), "pending");
  EXPECT_EQ(at(task, "attempts"), "0");
  EXPECT_EQ(at(task, "stalls"), "0");
  EXPECT_EQ(at(task, "run"), "1");
}

// The id of the only worker.
std::string worker_id(Sandbox& sandbox) {
  const std::string listed = sandbox.must({"worker", "list"});
  return listed.substr(0, listed.find('\t'));
}

TEST_F(DrainTest, AnOrderSendsAWorkerHomeWhenItsTaskIsDone) {
  EventStream events = sandbox.events();
  const std::string running = sandbox.enqueue({"work", "--payload", R"({"sleep_ms":700})"});
  const auto worker = sandbox.start(work("work", agentsim({"pid_file=" + sandbox.file("pid")})));
  ASSERT_TRUE(await_line(sandbox.file("pid")));
  const std::string id = worker_id(sandbox);
  const Outcome drained = sandbox.drover({"worker", "drain", id, "--reason", "upgrade", "--wait"});
  EXPECT_EQ(drained.exit_code, 0) << drained.err;
  EXPECT_NE(drained.err.find(id + " is draining"), std::string::npos) << drained.err;
  EXPECT_EQ(worker->wait(kHangs), (Exit{.code = 0}));
  EXPECT_EQ(sandbox.state_of(running), "completed");
  EXPECT_EQ(sandbox.must({"worker", "list", "--json"}), "[]\n");
  const std::string told = sandbox.must({"events", "--json"});
  EXPECT_NE(told.find(R"("name":"worker.draining")"), std::string::npos);
  EXPECT_NE(told.find(R"("why":"upgrade")"), std::string::npos);
  EXPECT_NE(told.find(R"("reason":"drained")"), std::string::npos);
}

TEST_F(DrainTest, AllWorkersAtOnceAndNobody) {
  const Outcome nobody = sandbox.drover({"worker", "drain", "--all", "--wait"});
  EXPECT_EQ(nobody.exit_code, 0);
  EXPECT_EQ(sandbox.drover({"worker", "drain", "host:1:nobody"}).exit_code, 5);
  EXPECT_EQ(sandbox.drover({"worker", "drain"}).exit_code, 2);
  EXPECT_EQ(sandbox.drover({"worker", "drain", "host:1:nobody", "--all"}).exit_code, 2);
  const std::string slow = R"({"sleep_ms":1500})";
  const auto start_one = [&](const std::string& pid_file) {
    static_cast<void>(sandbox.enqueue({"work", "--payload", slow}));
    auto worker = sandbox.start(work("work", agentsim({"pid_file=" + sandbox.file(pid_file)})));
    EXPECT_TRUE(await_line(sandbox.file(pid_file)));
    return worker;
  };
  const auto one = start_one("one");
  const auto two = start_one("two");
  EXPECT_EQ(sandbox.drover({"worker", "drain", "--all", "--wait"}).exit_code, 0);
  EXPECT_EQ(one->wait(kHangs), (Exit{.code = 0}));
  EXPECT_EQ(two->wait(kHangs), (Exit{.code = 0}));
}

TEST_F(DrainTest, UntilEmptyWaitsForWhatIsScheduledAndRetried) {
  const std::string later = sandbox.enqueue({"work", "--delay", "600ms"});
  const std::string flaky =
      sandbox.enqueue({"work", "--payload", R"({"fail_first":2})", "--retry", "list:100ms,200ms"});
  const std::string last = sandbox.enqueue({"work", "--after", flaky, "--after", later});
  work_until_empty("work", agentsim());
  for (const std::string& id : {later, flaky, last}) EXPECT_EQ(sandbox.state_of(id), "completed");
  EXPECT_EQ(at(sandbox.show(flaky), "attempts"), "3");
}

TEST_F(DrainTest, UntilEmptyLeavesWhatOthersServe) {
  const std::string other = sandbox.enqueue({"other"});
  const std::string blocked = sandbox.enqueue({"work", "--after", other});
  work_until_empty("work", agentsim());
  EXPECT_EQ(sandbox.state_of(blocked), "blocked");
}

TEST_F(DrainTest, QueueServesEveryTypeAndTypeOnlyItsOwn) {
  const std::string a = sandbox.enqueue({"a", "--queue", "eng"});
  const std::string b = sandbox.enqueue({"b", "--queue", "eng"});
  work_until_empty("a", agentsim());
  EXPECT_EQ(sandbox.state_of(a), "pending") << "--type a serves the queue a";
  const Outcome outcome = sandbox.drover({"work", "--queue", "eng", "--until-empty", "--", AGENTSIM_BIN});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(sandbox.state_of(a), "completed");
  EXPECT_EQ(sandbox.state_of(b), "completed");
}

TEST_F(DrainTest, HigherPriorityGoesFirst) {
  const std::string low = sandbox.enqueue({"work", "--priority", "low"});
  const std::string normal = sandbox.enqueue({"work"});
  const std::string high = sandbox.enqueue({"work", "--priority", "high"});
  EventStream events = sandbox.events();
  work_until_empty("work", agentsim());
  for (const std::string& id : {high, normal, low}) EXPECT_TRUE(events.next("task.claimed", id, Millis{5'000})) << id;
}

}  // namespace
}  // namespace drover::e2e
