// A claim asks only for what can be run: types with a slot free, and whose program starts.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/log.h"
#include "support/printers.h"
#include "unit/worker/fake_queue.h"
#include "unit/worker/fake_runs.h"
#include "worker/claim_loop.h"

namespace drover::test {
namespace {

using Serves = std::vector<Serve>;
using Limits = std::map<std::string, int, std::less<>>;

class ClaimLimitsTest : public testing::Test {
 protected:
  ClaimLimitsTest() { keeper.step(now); }

  ClaimLoop make(int capacity, Limits limits, WhenEmpty when_empty = WhenEmpty::kWait) {
    return ClaimLoop(queue, runs, keeper,
                     {.worker_id = "host:1:uuid",
                      .serves = {{"q", "a"}, {"q", "b"}},
                      .capacity = capacity,
                      .type_limits = std::move(limits),
                      .when_empty = when_empty});
  }
  void settle_down(ClaimLoop& loop) {
    for (int i = 0; i < 50; ++i) {
      if (loop.step(now) > Millis{0} || loop.finished()) return;
    }
    ADD_FAILURE() << "the loop never waits";
  }
  void put(int number, const std::string& type) {
    ClaimedTask task = numbered_task(number);
    task.task.type = type;
    queue.put(std::move(task));
  }
  int started(const std::string& type) const {
    return static_cast<int>(
        std::ranges::count(runs.started, type, [](const FakeRuns::Started& run) { return run.claimed.task.type; }));
  }

  MonoTime now{Millis{1'000'000}};
  FakeQueue queue;
  FakeRuns runs;
  LeaseKeeper keeper{queue,
                     runs,
                     {.worker = {.id = "host:1:uuid", .serves = {{"q", "a"}, {"q", "b"}}},
                      .lease = Millis{30'000},
                      .heartbeat = Millis{5'000}}};
};

TEST_F(ClaimLimitsTest, EachTypeHasItsOwnLimit) {
  ClaimLoop loop = make(4, {{"a", 1}, {"b", 3}});
  for (int i = 1; i <= 5; ++i) put(i, "a");
  for (int i = 6; i <= 10; ++i) put(i, "b");
  settle_down(loop);
  EXPECT_EQ(started("a"), 1);
  EXPECT_EQ(started("b"), 3);
  runs.ended = {{runs.started[0].claimed.lease, Completion{.result = "1"}}};
  ASSERT_EQ(runs.started[0].claimed.task.type, "a");
  settle_down(loop);
  EXPECT_EQ(started("a"), 2) << "its slot is its own";
  EXPECT_EQ(started("b"), 3);
}

TEST_F(ClaimLimitsTest, TheWorkersSlotsBoundTheSum) {
  ClaimLoop loop = make(3, {{"a", 2}, {"b", 2}});
  for (int i = 1; i <= 4; ++i) put(i, "a");
  for (int i = 5; i <= 8; ++i) put(i, "b");
  settle_down(loop);
  EXPECT_EQ(started("a") + started("b"), 3);
  EXPECT_LE(started("a"), 2);
}

TEST_F(ClaimLimitsTest, AFullTypeIsNotAskedForAndDoesNotBlockAnother) {
  ClaimLoop loop = make(2, {{"a", 1}, {"b", 1}});
  put(1, "a");
  settle_down(loop);
  EXPECT_EQ(queue.claims.back().serves, (Serves{{"q", "b"}}));
  put(2, "a");
  put(3, "b");
  settle_down(loop);
  EXPECT_EQ(started("b"), 1);
  EXPECT_FALSE(loop.wants_work(now));
}

TEST_F(ClaimLimitsTest, ATypeThatCannotBeRunIsNotClaimedUntilItMayBeTried) {
  ClaimLoop loop = make(4, {{"a", 4}, {"b", 4}});
  runs.cannot = {{Unable::Kind::kProgram, "a", "cannot run ./a: No such file", now + Millis{5'000}}};
  for (int i = 1; i <= 3; ++i) put(i, "a");
  put(4, "b");
  settle_down(loop);
  EXPECT_EQ(started("a"), 0);
  EXPECT_EQ(started("b"), 1);
  keeper.step(now + Millis{5'000});
  EXPECT_EQ(queue.registered.back().serves, (Serves{{"q", "a", "cannot run ./a: No such file"}, {"q", "b"}}))
      << "and the fleet can see it";

  now = now + Millis{5'000};
  EXPECT_EQ(loop.step(now), Millis{0});
  EXPECT_EQ(queue.claims.back().n, 1) << "one task is tried";
  runs.cannot.clear();
  settle_down(loop);
  EXPECT_EQ(started("a"), 3) << "it runs again";
  keeper.step(now + Millis{5'000});
  EXPECT_EQ(queue.registered.back().serves, (Serves{{"q", "a"}, {"q", "b"}}));
}

TEST_F(ClaimLimitsTest, WhileNothingStartsNothingIsClaimed) {
  ClaimLoop loop = make(4, {});
  runs.cannot = {{Unable::Kind::kMachine, std::nullopt, "too many open files", now + Millis{250}}};
  put(1, "a");
  EXPECT_EQ(loop.step(now), Millis{250}) << "it looks again when the pause is over";
  EXPECT_TRUE(queue.claims.empty());
  runs.cannot.clear();
  settle_down(loop);
  EXPECT_EQ(started("a"), 1);
}

TEST_F(ClaimLimitsTest, AStandingClaimIsWithdrawnWhenNothingCanStart) {
  queue.takes_standing = true;
  ClaimLoop loop = make(2, {});
  settle_down(loop);
  ASSERT_EQ(queue.left.size(), 1U);
  runs.cannot = {{Unable::Kind::kMachine, std::nullopt, "no more processes", now + Millis{250}}};
  settle_down(loop);
  EXPECT_TRUE(queue.left.back()->gone);
}

TEST_F(ClaimLimitsTest, WithoutAnyProgramAWorkerThatIsToFinishGivesUp) {
  ClaimLoop loop = make(2, {}, WhenEmpty::kFinish);
  runs.cannot = {{Unable::Kind::kProgram, std::nullopt, "cannot run ./agent: No such file", now + Millis{5'000}}};
  put(1, "a");
  settle_down(loop);
  ASSERT_TRUE(loop.failure());
  EXPECT_EQ(loop.failure()->message, "cannot run ./agent: No such file");
  EXPECT_TRUE(loop.finished());
}

}  // namespace
}  // namespace drover::test
