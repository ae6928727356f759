// Sweepers: bounded per pass, honest about what is left, and no busier than they need to be.
#include "engine/cascade.h"
#include "unit/engine/engine_fixture.h"

namespace drover::test {
namespace {

class SweepersTest : public EngineTest {
 protected:
  static constexpr int kMany = 600;  // more than two passes take

  // Passes until nothing is left; how many it took.
  int passes_until_done() {
    for (int passes = 1; passes < 100; ++passes) {
      if (!must(sweepers_.run_once()).more) return passes;
    }
    return 100;
  }

  Sweepers sweepers_{engine_};
};

TEST_F(SweepersTest, PromoteInBoundedPasses) {
  enqueue_all(std::vector<TaskSpec>(kMany, TaskSpec{.type = "work", .delay = 1s}));
  clock_.advance(1s);
  const SweepReport first = must(sweepers_.run_once());
  EXPECT_TRUE(first.more);
  EXPECT_GT(first.promoted, 0);
  EXPECT_LT(first.promoted, kMany);
  EXPECT_GT(passes_until_done(), 1);
  EXPECT_EQ(count({.states = {TaskState::kPending}}), static_cast<std::size_t>(kMany));
}

TEST_F(SweepersTest, ReclaimInBoundedPasses) {
  enqueue_all(std::vector<TaskSpec>(kMany, TaskSpec{.type = "work"}));
  claim(kMany);
  clock_.advance(30s);
  const SweepReport first = must(sweepers_.run_once());
  EXPECT_TRUE(first.more);
  EXPECT_LT(first.reclaimed, kMany);
  EXPECT_GT(passes_until_done(), 1);
  EXPECT_EQ(count({.states = {TaskState::kStalled}}), static_cast<std::size_t>(kMany));
}

TEST_F(SweepersTest, EnforceDeadlinesInBoundedPasses) {
  enqueue_all(std::vector<TaskSpec>(kMany, TaskSpec{.type = "work", .deadline = 1s}));
  clock_.advance(1s);
  const SweepReport first = must(sweepers_.run_once());
  EXPECT_TRUE(first.more);
  EXPECT_LT(first.deadlines, kMany);
  EXPECT_GT(passes_until_done(), 1);
  EXPECT_EQ(count({.states = {TaskState::kFailed}}), static_cast<std::size_t>(kMany));
}

TEST_F(SweepersTest, ExpireInBoundedPasses) {
  enqueue_all(std::vector<TaskSpec>(kMany, TaskSpec{.type = "work", .deadline = 1s}));
  clock_.advance(1s);
  passes_until_done();
  clock_.advance(24h * 8);
  const SweepReport first = must(sweepers_.run_once());
  EXPECT_TRUE(first.more);
  EXPECT_LT(first.expired, kMany);
  EXPECT_GT(passes_until_done(), 1);
  EXPECT_EQ(count({}), 0U);
}

TEST_F(SweepersTest, OnDemandEverythingIsTakenBackAtOnce) {
  enqueue_all(std::vector<TaskSpec>(kMany, TaskSpec{.type = "work"}));
  claim(kMany);
  clock_.advance(10s);
  EXPECT_EQ(must(engine_.requeue_stalled(10s)), kMany);
}

TEST_F(SweepersTest, NothingToDoIsNothingDone) {
  start_work();
  const SweepReport report = must(sweepers_.run_once());
  EXPECT_EQ(report.promoted + report.deadlines + report.reclaimed + report.cascades + report.expired, 0);
  EXPECT_FALSE(report.more);
  EXPECT_EQ(faults_.calls(StoreCall::kApply), 1);  // the enqueue
}

TEST_F(SweepersTest, HousekeepingOnceAMinute) {
  for (int i = 0; i < 10; ++i) {
    must(sweepers_.run_once());
    clock_.advance(5s);
  }
  EXPECT_EQ(faults_.calls(StoreCall::kExpire), 1);
  clock_.advance(10s);
  must(sweepers_.run_once());
  EXPECT_EQ(faults_.calls(StoreCall::kExpire), 2);
}

TEST_F(SweepersTest, HousekeepingGoesOnAfterTheClockWasSetBack) {
  must(sweepers_.run_once());
  clock_.jump_wall(-24h);
  must(sweepers_.run_once());
  EXPECT_EQ(faults_.calls(StoreCall::kExpire), 2);
}

TEST_F(SweepersTest, SleepUntilTheNextThingIsDue) {
  EXPECT_EQ(sweepers_.idle_time(1min), Millis(1min));
  enqueue({.type = "work", .delay = 40s});
  EXPECT_EQ(sweepers_.idle_time(1min), Millis(40s));
  enqueue({.type = "other", .deadline = 20s});
  EXPECT_EQ(sweepers_.idle_time(1min), Millis(20s));
  start_work();
  clock_.advance(5s);
  EXPECT_EQ(sweepers_.idle_time(1min), Millis(15s));
  EXPECT_EQ(sweepers_.idle_time(2s), Millis(2s));
  clock_.advance(1h);
  EXPECT_EQ(sweepers_.idle_time(1min), Millis(0));
}

TEST_F(SweepersTest, ALeaseIsSomethingToWakeFor) {
  start_work();
  EXPECT_EQ(sweepers_.idle_time(1min), Millis(30s));
}

TEST_F(SweepersTest, OneChainPassingItsDeadlinesEndsInOneOrder) {
  // Parent and child are late together: the child ends once, on its own account or its parent's.
  const TaskId parent = enqueue({.type = "work", .deadline = 1s});
  const TaskId child = enqueue({.type = "work", .depends_on = {parent}, .deadline = 1s});
  clock_.advance(1s);
  must(sweepers_.run_once());
  must(sweepers_.run_once());
  EXPECT_EQ(state(parent), TaskState::kFailed);
  EXPECT_TRUE(is_terminal(state(child)));
  EXPECT_EQ(must(engine_.last_event_seq()), 4);
}

TEST_F(SweepersTest, ABeatAfterTheSweeperLookedSavesTheLease) {
  const Lease lease = start_work();
  clock_.advance(30s);
  const auto lapsed = must(store_->lapsed(std::nullopt, 10));
  ASSERT_EQ(lapsed.size(), 1U);
  must(engine_.renew("host:1:a", std::span(&lease, 1), 30s));

  RecordView view(*store_);
  const Policy policy;
  Cascade cascade(view, rng_, policy, clock_.wall());
  must(cascade.run(lapsed[0], trigger::LeaseLost{}));
  const StepGroup group = cascade.take();
  EXPECT_EQ(must(store_->apply(std::span(&group, 1))).at(0), Applied::kConflict);
  EXPECT_EQ(must(engine_.complete(lease, {})), TaskState::kCompleted);
}

TEST_F(SweepersTest, OfTwoWhoLookAtTheFleetsHealthOneRaisesAlerts) {
  must(engine_.fail(start_work(), {.error_class = ErrorClass::kInvalid, .message = "no"}));
  Sweepers other(engine_);
  EXPECT_EQ(must(sweepers_.watch_health()), 1);
  EXPECT_EQ(must(other.watch_health()), 0);
  clock_.advance(15s);
  EXPECT_EQ(must(other.watch_health()), 0) << "it is raised already";
  EXPECT_EQ(must(engine_.alerts()).size(), 1U);
}

TEST_F(SweepersTest, AnAlertThatWasWrittenByAnotherMeanwhileIsNotRaisedAgain) {
  must(engine_.fail(start_work(), {.error_class = ErrorClass::kInvalid, .message = "no"}));
  const StoredDocument before = must(store_->document(DocumentKind::kHealth));
  EXPECT_EQ(must(sweepers_.watch_health()), 1);
  EXPECT_FALSE(must(store_->put_document(DocumentKind::kHealth, "{}", before.version, {}))) << "the version has moved";
}

}  // namespace
}  // namespace drover::test
