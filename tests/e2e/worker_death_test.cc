// Workers that die or freeze: nothing of theirs goes on, and the task is done all the same, once.
#include <csignal>
#include <fstream>
#include <iterator>

#include "e2e/e2e_test.h"
#include "history/read.h"

namespace drover::e2e {
namespace {

// On top of what is promised: two processes that start on a busy machine.
constexpr Millis kDeathSlack{1'000};

class WorkerDeathTest : public E2eTest {
 protected:
  void wait_for_workers(std::size_t count) {
    const Millis end = mono_now() + kHangs;
    while (sandbox.must_json({"worker", "list", "--json"}).as_array()->size() < count) ASSERT_LT(mono_now(), end);
  }

  std::vector<history::Sighting> sightings() const {
    std::ifstream file(sandbox.file("witness"));
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    auto seen = history::read_witness(text);
    return seen ? *std::move(seen) : std::vector<history::Sighting>{};
  }

  Arguments worker(Arguments agent_settings) const {
    agent_settings.push_back("witness=" + sandbox.file("witness"));
    return work("work", agentsim(agent_settings));
  }
};

TEST_F(WorkerDeathTest, KilledWorkerTakesItsAgentsTreeAlong) {
  EventStream events = sandbox.events();
  const std::string id = sandbox.enqueue({"work"});
  auto first = sandbox.start(worker({"hang=true", "ignore_term=true", "grandchild=" + sandbox.file("grandchild")}));
  ASSERT_TRUE(await_line(sandbox.file("grandchild")));
  const auto second = sandbox.start(worker({}));
  wait_for_workers(2);

  DeathWatch tree(Sandbox::processes_of(id));
  ASSERT_GE(tree.size(), 3U);  // the shim, the agent, and its grandchild in a session of its own
  const Millis killed = mono_now();
  first->signal(SIGKILL);
  EXPECT_TRUE(tree.all_dead(Millis{1'000}));

  ASSERT_TRUE(events.next("task.claimed", id));
  const auto again = events.next("task.claimed", id, killed + kLease + Millis{1'000} - mono_now());
  ASSERT_TRUE(again) << "no other worker has the task within the lease and a second";
  EXPECT_EQ(at(*again, "run"), "2");
  EXPECT_TRUE(contains(at(*again, "data"), ":" + std::to_string(second->pid()) + ":"));
  ASSERT_TRUE(events.next("task.completed", id));
  const json::Value task = sandbox.show(id);
  EXPECT_EQ(at(task, "stalls"), "1");
  EXPECT_EQ(at(task, "attempts"), "1") << "a lost lease does not count";
}

TEST_F(WorkerDeathTest, FrozenWorkersAgentIsDeadBeforeTheNextOneStarts) {
  EventStream events = sandbox.events();
  const std::string id = sandbox.enqueue({"work"});
  auto first = sandbox.start(worker({"hang=true", "ignore_term=true", "grandchild=" + sandbox.file("grandchild")}));
  ASSERT_TRUE(await_line(sandbox.file("grandchild")));
  DeathWatch tree(Sandbox::processes_of(id));
  first->signal(SIGSTOP);
  const auto second = sandbox.start(worker({}));

  EXPECT_TRUE(tree.all_dead(kLease + kDeathSlack));
  const Millis dead = mono_now();
  ASSERT_TRUE(events.next("task.completed", id));
  const std::vector<history::Sighting> seen = sightings();
  ASSERT_EQ(seen.size(), 3U);  // the first run never stopped by itself
  EXPECT_EQ(seen[1].run, 2);
  EXPECT_LE(dead, seen[1].at.since_origin);

  first->signal(SIGCONT);
  first->signal(SIGTERM);
  ASSERT_TRUE(first->wait(kHangs));
  EXPECT_EQ(at(sandbox.show(id), "run"), "2");
}

TEST_F(WorkerDeathTest, WokenWorkersCompletionIsRefused) {
  EventStream events = sandbox.events();
  const std::string id = sandbox.enqueue({"work", "--payload", R"({"sleep_ms":400,"print":"done"})"});
  auto first = sandbox.start(worker({}));
  ASSERT_TRUE(await_line(sandbox.file("witness")));
  DeathWatch tree(Sandbox::processes_of(id));
  first->signal(SIGSTOP);
  ASSERT_TRUE(tree.all_dead(kLease)) << "its agent finishes by itself";
  EXPECT_EQ(sightings().size(), 2U);

  const auto second = sandbox.start(worker({}));
  const auto completed = events.next("task.completed", id);
  ASSERT_TRUE(completed);
  EXPECT_EQ(at(*completed, "run"), "2");
  const json::Value before = sandbox.show(id);

  first->signal(SIGCONT);
  first->signal(SIGTERM);
  EXPECT_EQ(first->wait(kHangs), (Exit{.code = 0}));
  EXPECT_TRUE(contains(first->errors(), "stale_lease")) << "it said nothing of its refused completion";
  EXPECT_EQ(sandbox.show(id), before);
}

TEST_F(WorkerDeathTest, AtMostOnceIsNotRunAgain) {
  EventStream events = sandbox.events();
  const std::string id = sandbox.enqueue({"work", "--at-most-once"});
  auto first = sandbox.start(worker({"hang=true"}));
  ASSERT_TRUE(await_line(sandbox.file("witness")));
  first->signal(SIGKILL);
  const auto second = sandbox.start(worker({}));
  ASSERT_TRUE(events.next("task.failed", id));
  EXPECT_TRUE(contains(at(sandbox.show(id), "error"), "\"lost\""));
  EXPECT_EQ(sightings().size(), 1U);
}

TEST_F(WorkerDeathTest, TooManyStallsEndAsDeadLetter) {
  EventStream events = sandbox.events();
  const std::string line = R"({"type":"work","max_stalls":0})";
  const std::string id = sandbox.must({"enqueue", "--batch", "-"}, line).substr(0, 36);
  auto first = sandbox.start(worker({"hang=true"}));
  ASSERT_TRUE(await_line(sandbox.file("witness")));
  first->signal(SIGKILL);
  const auto second = sandbox.start(worker({}));
  ASSERT_TRUE(events.next("task.failed", id));
  EXPECT_TRUE(contains(at(sandbox.show(id), "error"), "\"stalled\""));
}

TEST_F(WorkerDeathTest, KilledShimIsNoticed) {
  EventStream events = sandbox.events();
  const std::string id = sandbox.enqueue({"work", "--max-attempts", "1"});
  const auto only = sandbox.start(worker({"hang=true", "grandchild=" + sandbox.file("grandchild")}));
  ASSERT_TRUE(await_line(sandbox.file("grandchild")));
  DeathWatch tree(Sandbox::processes_of(id));
  pid_t shim = 0;
  for (const pid_t pid : Sandbox::processes_of(id)) {
    if (command_line_of(pid).find(" shim ") != std::string::npos) shim = pid;
  }
  ASSERT_NE(shim, 0);
  ::kill(shim, SIGKILL);
  EXPECT_TRUE(tree.all_dead(Millis{2'000}));
  const auto failed = events.next("task.failed", id);
  ASSERT_TRUE(failed);
}

}  // namespace
}  // namespace drover::e2e
