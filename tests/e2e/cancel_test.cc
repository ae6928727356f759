// Cancelling what runs: the whole tree is dead within the grace and a second, then the task is cancelled.
#include <csignal>

#include "e2e/e2e_test.h"

namespace drover::e2e {
namespace {

constexpr Millis kGrace{10'000};
constexpr Millis kSecond{1'000};

class CancelTest : public E2eTest {};

TEST_F(CancelTest, KillsAGrandchildThatIgnoresTerm) {
  EventStream events = sandbox.events();
  const std::string id = sandbox.enqueue({"work"});
  const std::string dependent = sandbox.enqueue({"work", "--after", id});
  // Lease and heartbeat as they are by default: a cancel does not wait for the next heartbeat.
  Arguments command{"work", "--type", "work", "--"};
  for (const std::string& word :
       agentsim({"ignore_term=true", "hang=true", "grandchild=" + sandbox.file("grandchild")})) {
    command.push_back(word);
  }
  const auto worker = sandbox.start(command);
  ASSERT_TRUE(await_line(sandbox.file("grandchild")));
  DeathWatch tree(Sandbox::processes_of(id));
  ASSERT_GE(tree.size(), 3U);

  const json::Value answer = sandbox.must_json({"cancel", id, "--reason", "enough", "--json"});
  const Millis asked = mono_now();
  EXPECT_EQ(at(answer, "state"), "running");
  EXPECT_EQ(at(answer, "requested"), "1");
  EXPECT_TRUE(tree.all_dead(asked + kGrace + kSecond - mono_now()));
  ASSERT_TRUE(events.next("task.cancelled", id));
  ASSERT_TRUE(events.next("task.cancelled", dependent, kSecond)) << "its dependents end at once";
  const json::Value task = sandbox.show(id);
  EXPECT_EQ(at(task, "state"), "cancelled");
  EXPECT_EQ(at(task, "cancel_reason"), "enough");
  EXPECT_EQ(sandbox.drover({"wait", id}).exit_code, 11);
}

TEST_F(CancelTest, StopsAPoliteAgentSoon) {
  EventStream events = sandbox.events();
  const std::string id = sandbox.enqueue({"work"});
  Arguments command{"work", "--type", "work", "--"};
  for (const std::string& word : agentsim({"hang=true", "pid_file=" + sandbox.file("pid")})) command.push_back(word);
  const auto worker = sandbox.start(command);
  ASSERT_TRUE(await_line(sandbox.file("pid")));
  DeathWatch tree(Sandbox::processes_of(id));
  sandbox.must({"cancel", id});
  EXPECT_TRUE(tree.all_dead(2 * kSecond)) << "the next heartbeat is five seconds away";
  ASSERT_TRUE(events.next("task.cancelled", id));
}

TEST_F(CancelTest, CancelledBeforeItStartsNeverStarts) {
  const std::string id = sandbox.enqueue({"work"});
  sandbox.must({"cancel", id});
  work_until_empty("work", agentsim({"pid_file=" + sandbox.file("pid")}));
  EXPECT_FALSE(std::filesystem::exists(sandbox.file("pid")));
  EXPECT_EQ(at(sandbox.show(id), "run"), "0");
}

TEST_F(CancelTest, SecondCancelOfARunningTaskIsTheSameRequest) {
  EventStream events = sandbox.events();
  const std::string id = sandbox.enqueue({"work"});
  const auto worker = sandbox.start(work("work", agentsim({"hang=true", "pid_file=" + sandbox.file("pid")})));
  ASSERT_TRUE(await_line(sandbox.file("pid")));
  worker->signal(SIGSTOP);
  EXPECT_EQ(at(sandbox.must_json({"cancel", id, "--reason", "first", "--json"}), "state"), "running");
  EXPECT_EQ(at(sandbox.must_json({"cancel", id, "--reason", "second", "--json"}), "state"), "running");
  worker->signal(SIGCONT);
  ASSERT_TRUE(events.next("task.cancelled", id));
  EXPECT_EQ(at(sandbox.show(id), "cancel_reason"), "first");
}

}  // namespace
}  // namespace drover::e2e
