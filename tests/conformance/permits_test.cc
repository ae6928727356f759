// Permits: how many run at once, counted from live leases, by queue, type, owner, provider, lock and in all.
#include <map>

#include "conformance/conformance.h"

namespace drover::test {
namespace {

class Permits : public ConformanceTest {
 protected:
  // Two permits of the queue, both in use, one more waiting.
  std::vector<Lease> fill() {
    apply_config(R"({"queues":{"work":{"permits":2}}})");
    enqueue_all(std::vector<TaskSpec>(3, TaskSpec{.type = "work", .max_attempts = 1}));
    std::vector<Lease> leases;
    for (const ClaimedTask& task : claim(3)) leases.push_back(task.lease);
    EXPECT_EQ(leases.size(), 2U);
    EXPECT_TRUE(claim(1).empty());
    return leases;
  }
  std::int64_t in_use(const std::string& name) { return gate(name).value_or(GateStatus{}).in_use.value_or(-1); }
  // Of ten such tasks.
  void expect_at_once(const TaskSpec& spec, int expected) {
    enqueue_all(std::vector<TaskSpec>(10, spec));
    std::vector<Lease> leases;
    for (const ClaimedTask& task : claim(10)) leases.push_back(task.lease);
    EXPECT_EQ(leases.size(), static_cast<std::size_t>(expected));
    EXPECT_TRUE(claim(10).empty());
    for (const Lease& lease : leases) complete(lease);
    EXPECT_EQ(claim(10).size(), std::min<std::size_t>(static_cast<std::size_t>(expected), 10 - leases.size()));
  }
};
ON_EVERY_STORE(Permits);

TEST_P(Permits, OfAQueue) {
  apply_config(R"({"queues":{"work":{"permits":3}}})");
  expect_at_once({.type = "work"}, 3);
}

TEST_P(Permits, OfAType) {
  apply_config(R"({"gates":{"type:work":{"permits":3}}})");
  expect_at_once({.type = "work"}, 3);
}

TEST_P(Permits, OfAnOwner) {
  apply_config(R"({"owners":{"me":{"permits":3}}})");
  expect_at_once({.type = "work", .owner = "me"}, 3);
}

TEST_P(Permits, OfEveryOtherOwner) {
  apply_config(R"({"owners":{"default":{"permits":2},"me":{"permits":4}}})");
  std::vector<TaskSpec> group;
  for (const char* owner : {"me", "you", "them"})
    group.insert(group.end(), 5, TaskSpec{.type = "work", .owner = owner});
  enqueue_all(group);
  std::map<std::string, int> running;
  for (const ClaimedTask& task : claim(15)) ++running[task.task.owner];
  EXPECT_EQ(running, (std::map<std::string, int>{{"me", 4}, {"you", 2}, {"them", 2}}));
}

TEST_P(Permits, OfAProvider) {
  apply_config(R"({"types":{"work":{"provider":"acme"},"more":{"provider":"acme","queue":"work"}},
                   "gates":{"provider:acme":{"permits":3}}})");
  enqueue({.type = "more"});
  expect_at_once({.type = "work"}, 3);
}

TEST_P(Permits, OfEverything) {
  apply_config(R"({"gates":{"all":{"permits":3}}})");
  expect_at_once({.type = "work"}, 3);
}

TEST_P(Permits, ALockIsHeldByOne) {
  expect_at_once({.type = "work", .locks = {"site"}}, 1);
}

TEST_P(Permits, ALockMayHaveMore) {
  apply_config(R"({"gates":{"lock:site":{"permits":2}}})");
  expect_at_once({.type = "work", .locks = {"site"}}, 2);
}

TEST_P(Permits, OnlyWhatSharesALockWaitsForIt) {
  const TaskId first = enqueue({.type = "work", .locks = {"a", "b"}});
  const TaskId second = enqueue({.type = "work", .locks = {"b"}});
  const TaskId third = enqueue({.type = "work", .locks = {"c"}});
  const auto claimed = claim(10);
  ASSERT_EQ(claimed.size(), 2U);
  EXPECT_EQ(state(first), TaskState::kRunning);
  EXPECT_EQ(state(second), TaskState::kPending);
  EXPECT_EQ(state(third), TaskState::kRunning);
  complete(claimed[0].task.id == first ? claimed[0].lease : claimed[1].lease);
  EXPECT_EQ(claim_one().task.id, second);
}

TEST_P(Permits, ALockGoesOverQueues) {
  enqueue({.type = "work", .queue = "a", .locks = {"site"}});
  enqueue({.type = "work", .queue = "b", .locks = {"site"}});
  const auto first = claim({{.queue = "a"}}, 1);
  EXPECT_TRUE(claim({{.queue = "b"}}, 1).empty());
  complete(first.at(0).lease);
  EXPECT_EQ(claim({{.queue = "b"}}, 1).size(), 1U);
}

TEST_P(Permits, FreedByCompletion) {
  complete(fill()[0]);
  EXPECT_EQ(claim(2).size(), 1U);
}

TEST_P(Permits, FreedByFailure) {
  fail(fill()[0]);
  EXPECT_EQ(claim(2).size(), 1U);
}

TEST_P(Permits, FreedByRelease) {
  const auto leases = fill();
  release(leases[0]);
  EXPECT_EQ(claim_one().task.id, leases[0].task);
  EXPECT_TRUE(claim(1).empty());
}

TEST_P(Permits, FreedByALostLease) {
  fill();
  pass(kLease + 1ms);
  EXPECT_EQ(in_use("queue:work"), 0);
  EXPECT_EQ(claim(3).size(), 2U);
}

TEST_P(Permits, FreedByACancel) {
  const auto leases = fill();
  cancel(leases[0].task);
  EXPECT_TRUE(claim(1).empty()) << "its process is not dead yet";
  settle({leases[0], CancelConfirmed{}});
  EXPECT_EQ(claim(2).size(), 1U);
}

TEST_P(Permits, FreedByADeadline) {
  apply_config(R"({"queues":{"work":{"permits":1}}})");
  const TaskId late = enqueue({.type = "work", .deadline = 1s});
  const TaskId next = enqueue_work();
  start(late);
  pass(1s);
  EXPECT_EQ(claim_one().task.id, next);
}

TEST_P(Permits, FreedByADefer) {
  const auto leases = fill();
  fail(leases[0], ErrorClass::kRateLimited);
  EXPECT_EQ(claim(2).size(), 1U);
}

TEST_P(Permits, NeverExceededWhateverHappens) {
  apply_config(R"({"queues":{"work":{"permits":3}},"owners":{"default":{"permits":2}}})");
  std::vector<TaskSpec> group;
  for (int i = 0; i < 60; ++i) group.push_back({.type = "work", .owner = i % 3 == 0 ? "a" : "b", .priority = i % 10});
  enqueue_all(group);
  std::vector<Lease> running;
  for (int round = 0; round < 100; ++round) {
    for (const ClaimedTask& task : claim(1 + round % 4)) running.push_back(task.lease);
    ASSERT_LE(running.size(), 3U);
    std::map<std::string, int> by_owner;
    for (const Lease& lease : running) ++by_owner[get(lease.task).owner];
    for (const auto& [owner, count] : by_owner) ASSERT_LE(count, 2) << owner;
    ASSERT_EQ(in_use("queue:work"), static_cast<std::int64_t>(running.size()));
    if (running.empty()) break;
    const Lease ended = running[static_cast<std::size_t>(round) % running.size()];
    if (round % 3 == 0) {
      release(ended);
    } else {
      complete(ended);
    }
    std::erase(running, ended);
  }
  EXPECT_EQ(all_tasks({.states = {TaskState::kPending}}).size(), 0U);
}

TEST_P(Permits, ANewLimitCountsWhatRunsAlready) {
  enqueue_all(std::vector<TaskSpec>(6, TaskSpec{.type = "work"}));
  const auto running = claim(4);
  apply_config(R"({"queues":{"work":{"permits":3}}})");
  EXPECT_EQ(in_use("queue:work"), 4);
  complete(running[0].lease);
  EXPECT_TRUE(claim(2).empty());
  complete(running[1].lease);
  EXPECT_EQ(claim(2).size(), 1U);
}

TEST_P(Permits, ALimitThatGoesLetsAllStart) {
  apply_config(R"({"queues":{"work":{"permits":1}}})");
  enqueue_all(std::vector<TaskSpec>(5, TaskSpec{.type = "work"}));
  EXPECT_EQ(claim(5).size(), 1U);
  apply_config("{}");
  EXPECT_EQ(claim(5).size(), 4U);
  EXPECT_EQ(gate("queue:work"), std::nullopt);
}

TEST_P(Permits, AnOwnersOwnLimitGoesBackToTheOthers) {
  apply_config(R"({"owners":{"default":{"permits":1},"me":{"permits":3}}})");
  enqueue_all(std::vector<TaskSpec>(9, TaskSpec{.type = "work", .owner = "me"}));
  EXPECT_EQ(startable(9), 3);
  apply_config(R"({"owners":{"default":{"permits":2}}})");
  EXPECT_EQ(startable(9), 2);
}

TEST_P(Permits, AnOwnerHeldBackByHandStillHasTheOthersLimit) {
  apply_config(R"({"owners":{"default":{"permits":2}}})");
  enqueue_all(std::vector<TaskSpec>(9, TaskSpec{.type = "work", .owner = "me"}));
  limit_gate("owner:me", 5);
  EXPECT_EQ(startable(9), 2);
  apply_config(R"({"owners":{"default":{"permits":3}}})");
  EXPECT_EQ(startable(9), 3);
  limit_gate("owner:me", 1);
  EXPECT_EQ(startable(9), 1);
  open_gate("owner:me");
  EXPECT_EQ(startable(9), 3);
}

TEST_P(Permits, CountTrueAfterARestart) {
  const auto leases = fill();
  reopen();
  EXPECT_TRUE(claim(1).empty());
  complete(leases[0]);
  EXPECT_EQ(claim(1).size(), 1U);
}

}  // namespace
}  // namespace drover::test
