// Leases, beats and times: the monotonic clock decides over leases, the wall clock over run_at and deadlines.
#include <gtest/gtest.h>

#include "support/printers.h"
#include "unit/store/store_fixture.h"

namespace drover::test {
namespace {

constexpr Millis kLease{30'000};

Lease lease(int number) {
  return {id_of(number), lease_of(999 + number)};
}

LeaseState renew(StoreUnderTest& sut, const Lease& held, Millis duration = kLease) {
  return must(sut->renew("host:1:w", std::vector{held}, duration)).leases.at(0);
}

std::size_t lapsed(StoreUnderTest& sut) {
  return must(sut->lapsed(std::nullopt, 10)).size();
}

TEST(StoreLease, LapsesWhenItIsNotRenewed) {
  StoreUnderTest sut;
  sut.add(1);
  sut.claim(1);
  sut.clock().advance(kLease - Millis(1));
  EXPECT_EQ(lapsed(sut), 0U);
  EXPECT_EQ(must(sut->next_wake()), Millis(1));
  EXPECT_EQ(renew(sut, lease(1)), LeaseState::kHeld);
  sut.clock().advance(kLease - Millis(1));
  EXPECT_EQ(lapsed(sut), 0U);
  sut.clock().advance(Millis(1));
  EXPECT_EQ(lapsed(sut), 1U);
  EXPECT_EQ(must(sut->next_wake()), Millis(0));
}

TEST(StoreLease, OneThatLapsedButWasNotTakenBackIsStillHeld) {
  StoreUnderTest sut;
  sut.add(1);
  sut.claim(1);
  sut.clock().advance(kLease * 10);
  ASSERT_EQ(lapsed(sut), 1U);
  EXPECT_EQ(renew(sut, lease(1)), LeaseState::kHeld);
  EXPECT_EQ(lapsed(sut), 0U);
}

TEST(StoreLease, IsLostWithAnyOtherIdAndAfterItWasTakenBack) {
  StoreUnderTest sut;
  sut.add(1);
  sut.claim(1);
  EXPECT_EQ(renew(sut, {id_of(1), lease_of(5)}), LeaseState::kLost);
  EXPECT_EQ(renew(sut, {id_of(1), LeaseId()}), LeaseState::kLost);
  EXPECT_EQ(renew(sut, {id_of(2), lease_of(1000)}), LeaseState::kLost);
  sut.step(id_of(1), trigger::LeaseLost{});
  EXPECT_EQ(renew(sut, lease(1)), LeaseState::kLost);
}

TEST(StoreLease, ARenewalTellsOfACancelRequest) {
  StoreUnderTest sut;
  sut.add(1);
  sut.claim(1);
  sut.step(id_of(1), trigger::Cancel{"enough"});
  EXPECT_EQ(renew(sut, lease(1)), LeaseState::kCancelRequested);
}

TEST(StoreLease, ARenewalLeavesTheRevisionAloneAndCountsItsBeats) {
  StoreUnderTest sut;
  sut.add(1);
  const std::int64_t revision = sut.claim(1).at(0).revision;
  renew(sut, lease(1));
  renew(sut, lease(1));
  EXPECT_EQ(sut.read(id_of(1)).revision, revision);
  EXPECT_EQ(sut.read(id_of(1)).lease_beats, 2);
}

TEST(StoreLease, SilenceCanBeAskedForBeforeTheLeaseRunsOut) {
  StoreUnderTest sut;
  sut.add(1);
  sut.add(2);
  sut.claim(2);
  sut.clock().advance(Millis(5000));
  renew(sut, lease(2));
  const auto silent = must(sut->lapsed(Millis(5000), 10));
  ASSERT_EQ(silent.size(), 1U);
  EXPECT_EQ(silent[0].task.id, id_of(1));
}

TEST(StoreLease, AWallClockThatJumpsExpiresNothing) {
  StoreUnderTest sut;
  sut.add(1);
  sut.claim(1);
  for (const auto jump : {std::chrono::hours(1), std::chrono::hours(-2), std::chrono::hours(87'600)}) {
    sut.clock().jump_wall(jump);
    EXPECT_EQ(lapsed(sut), 0U);
  }
  sut.clock().advance(kLease);
  EXPECT_EQ(lapsed(sut), 1U);
}

TEST(StoreLease, AWallClockThatJumpsBackDelaysWhatIsScheduled) {
  StoreUnderTest sut;
  TaskRecord later = new_record(1);
  later.task.run_at = sut.clock().wall() + Millis(1000);
  later.task.deadline_at = sut.clock().wall() + Millis(5000);
  later.task.fallback_result = "0";
  sut.add(later);
  EXPECT_EQ(must(sut->next_wake()), Millis(1000));
  sut.clock().jump_wall(std::chrono::hours(-1));
  sut.clock().advance(Millis(1000));
  EXPECT_TRUE(must(sut->due(10)).empty());
  EXPECT_EQ(must(sut->next_wake()), Millis(3'600'000));
  sut.clock().jump_wall(std::chrono::hours(1));
  EXPECT_EQ(must(sut->due(10)).size(), 1U);
  EXPECT_TRUE(must(sut->past_deadline(10)).empty());
  sut.clock().advance(Millis(4000));
  const auto late = must(sut->past_deadline(10));
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].task.fallback_result, "0");
}

TEST(StoreLease, AnotherBootLapsesEveryLease) {
  const TempDir dir;
  StoreUnderTest sut(dir.file("q.db"));
  sut.add(1);
  sut.claim(1);
  ASSERT_TRUE(sut->register_worker({.id = "w"}).has_value());
  // The same boot: nothing happens to it.
  sut.reopen(dir.file("q.db"));
  EXPECT_EQ(lapsed(sut), 0U);
  EXPECT_TRUE(must(sut->forget_workers(kLease)).empty());

  sut.clock().reboot();
  sut.reopen(dir.file("q.db"));
  EXPECT_EQ(lapsed(sut), 1U);
  EXPECT_EQ(must(sut->next_wake()), Millis(0));
  EXPECT_EQ(must(sut->forget_workers(kLease)), std::vector<std::string>{"w"});
  // Whoever is still alive keeps what nobody took back.
  EXPECT_EQ(renew(sut, lease(1)), LeaseState::kHeld);
}

TEST(StoreLease, NothingToWaitFor) {
  StoreUnderTest sut;
  sut.add(1);
  EXPECT_EQ(must(sut->next_wake()), std::nullopt);
}

TEST(StoreWorkers, ARenewalIsTheBeatOfItsWorker) {
  StoreUnderTest sut;
  WorkerInfo worker{.id = "host:1:w", .version = "1.2", .serves = {{"a", {}}, {"b", "t"}}, .capacity = 3};
  ASSERT_TRUE(sut->register_worker(worker).has_value());
  const Time registered = sut.clock().wall();
  sut.clock().advance(Millis(29'000));
  static_cast<void>(must(sut->renew("host:1:w", {}, kLease)));
  static_cast<void>(must(sut->renew("a stranger", {}, kLease)));
  sut.clock().advance(Millis(29'000));
  EXPECT_TRUE(must(sut->forget_workers(Millis(30'000))).empty());

  const auto workers = must(sut->workers());
  ASSERT_EQ(workers.size(), 1U);
  EXPECT_EQ(workers[0].serves, worker.serves);
  EXPECT_EQ(workers[0].version, "1.2");
  EXPECT_EQ(workers[0].capacity, 3);
  EXPECT_EQ(workers[0].registered_at, registered);
  EXPECT_EQ(workers[0].last_beat_at, registered + Millis(29'000));
}

TEST(StoreWorkers, OneThatHoldsALeaseIsNotForgotten) {
  StoreUnderTest sut;
  sut.add(1);
  ASSERT_TRUE(sut->register_worker({.id = "host:1:w"}).has_value());
  ASSERT_TRUE(sut->register_worker({.id = "idle"}).has_value());
  sut.claim(1);
  sut.clock().advance(Millis(30'000));
  EXPECT_EQ(must(sut->forget_workers(Millis(30'000))), std::vector<std::string>{"idle"});
  sut.step(id_of(1), trigger::LeaseLost{});
  EXPECT_EQ(must(sut->forget_workers(Millis(30'000))), std::vector<std::string>{"host:1:w"});
}

TEST(StoreWorkers, RegisteringAgainKeepsTheFirstTimeAndUnregisteringRemoves) {
  StoreUnderTest sut;
  ASSERT_TRUE(sut->register_worker({.id = "w"}).has_value());
  const Time first = sut.clock().wall();
  sut.clock().advance(Millis(10));
  ASSERT_TRUE(sut->register_worker({.id = "w", .draining = true}).has_value());
  const auto workers = must(sut->workers());
  ASSERT_EQ(workers.size(), 1U);
  EXPECT_EQ(workers[0].registered_at, first);
  EXPECT_TRUE(workers[0].draining);
  ASSERT_TRUE(sut->unregister_worker("w", "done").has_value());
  EXPECT_TRUE(must(sut->workers()).empty());
}

TEST(StoreConfig, IsComparedAndSetByItsVersion) {
  StoreUnderTest sut;
  EXPECT_EQ(must(sut->config()).version, 0);
  EXPECT_EQ(must(sut->config()).document, "{}");
  EXPECT_TRUE(must(sut->put_config(R"({"a":1})", 0, {}, {}, {})));
  EXPECT_FALSE(must(sut->put_config(R"({"b":1})", 0, {}, {}, {})));
  EXPECT_TRUE(must(sut->put_config(R"({"c":1})", 1, {}, {}, {})));
  EXPECT_EQ(must(sut->config()).version, 2);
  EXPECT_EQ(must(sut->config()).document, R"({"c":1})");
}

}  // namespace
}  // namespace drover::test
