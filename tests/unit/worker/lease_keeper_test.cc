#include "worker/lease_keeper.h"

#include <gtest/gtest.h>

#include "support/must.h"
#include "unit/worker/fake_queue.h"
#include "unit/worker/fake_runs.h"

namespace drover::test {
namespace {

using Calls = std::vector<std::string>;

constexpr Millis kKeptLease{30'000};
constexpr Millis kHeartbeat{5'000};
const Error kStoreOutage{ErrorCode::kStoreUnavailable, "gone", "test"};

class LeaseKeeperTest : public testing::Test {
 protected:
  // Steps until it wants to wait, as its thread does, with a clock that stands still.
  Millis settle_down() {
    for (int i = 0; i < 10; ++i) {
      if (const Millis wait = keeper.step(now); wait > Millis{0}) return wait;
    }
    ADD_FAILURE() << "the keeper never waits";
    return Millis{0};
  }

  MonoTime now{Millis{1'000'000}};
  FakeQueue queue;
  FakeRuns runs;
  LeaseKeeper keeper{
      queue, runs, {.worker = {.id = "host:1:uuid", .capacity = 2}, .lease = kKeptLease, .heartbeat = kHeartbeat}};
  ClaimedTask a = numbered_task(1);
  ClaimedTask b = numbered_task(2);
};

TEST_F(LeaseKeeperTest, TheFirstBeatRegisters) {
  EXPECT_FALSE(keeper.registered());
  EXPECT_EQ(settle_down(), kHeartbeat);
  EXPECT_TRUE(keeper.registered());
  EXPECT_EQ(queue.calls, Calls{"register"});
  EXPECT_EQ(queue.registered.at(0).id, "host:1:uuid");
  EXPECT_FALSE(queue.registered.at(0).draining);
}

TEST_F(LeaseKeeperTest, AFailedRegistrationIsTriedAgainWithinASecond) {
  queue.outage = kStoreOutage;
  const Millis wait = settle_down();
  EXPECT_FALSE(keeper.registered());
  EXPECT_EQ(wait, Millis{1'000});
  queue.outage.reset();
  now = now + wait;
  settle_down();
  EXPECT_TRUE(keeper.registered());
}

TEST_F(LeaseKeeperTest, RegisterNowTellsWhetherTheStoreTakesTheWorker) {
  queue.outage = kStoreOutage;
  EXPECT_EQ(code_of(keeper.register_now(now)), ErrorCode::kStoreUnavailable);
  queue.outage.reset();
  EXPECT_TRUE(keeper.register_now(now));
  EXPECT_EQ(settle_down(), kHeartbeat);
}

TEST_F(LeaseKeeperTest, BeatsAlsoWhenItHoldsNothing) {
  settle_down();
  now = now + kHeartbeat;
  EXPECT_EQ(settle_down(), kHeartbeat);
  EXPECT_EQ(queue.calls, (Calls{"register", "renew 0"}));
}

TEST_F(LeaseKeeperTest, RenewsAllInOneCallAndCountsFromBeforeIt) {
  settle_down();
  keeper.hold(a.lease, now + kKeptLease);
  keeper.hold(b.lease, now + kKeptLease);
  now = now + kHeartbeat;
  settle_down();
  ASSERT_EQ(queue.renewals.size(), 1U);
  EXPECT_EQ(queue.renewals[0].leases, (std::vector{a.lease, b.lease}));
  EXPECT_EQ(queue.renewals[0].lease, kKeptLease);
  EXPECT_EQ(runs.renewed, (std::vector<FakeRuns::Renewal>{{a.lease, now + kKeptLease}, {b.lease, now + kKeptLease}}));
  EXPECT_TRUE(runs.stopped.empty());
}

TEST_F(LeaseKeeperTest, WhatIsLetGoIsNotRenewed) {
  settle_down();
  keeper.hold(a.lease, now + kKeptLease);
  keeper.hold(b.lease, now + kKeptLease);
  keeper.let_go(a.lease);
  now = now + kHeartbeat;
  settle_down();
  EXPECT_EQ(queue.renewals.at(0).leases, std::vector{b.lease});
}

TEST_F(LeaseKeeperTest, ACancelRequestIsToldOnceAndTheLeaseIsKept) {
  settle_down();
  keeper.hold(a.lease, now + kKeptLease);
  queue.lease_states[a.lease.id.to_string()] = LeaseState::kCancelRequested;
  for (int beat = 0; beat < 3; ++beat) {
    now = now + kHeartbeat;
    settle_down();
  }
  EXPECT_EQ(runs.stopped, (std::vector<FakeRuns::Stopped>{{a.lease, StopReason::kCancelled}}));
  EXPECT_EQ(queue.renewals.size(), 3U);
  EXPECT_EQ(queue.renewals[2].leases, std::vector{a.lease}) << "held until it is settled";
}

TEST_F(LeaseKeeperTest, ALostLeaseStopsItsRunAndIsForgotten) {
  settle_down();
  keeper.hold(a.lease, now + kKeptLease);
  queue.lease_states[a.lease.id.to_string()] = LeaseState::kLost;
  now = now + kHeartbeat;
  settle_down();
  now = now + kHeartbeat;
  settle_down();
  EXPECT_EQ(runs.stopped, (std::vector<FakeRuns::Stopped>{{a.lease, StopReason::kLeaseLost}}));
  EXPECT_TRUE(runs.renewed.empty());
  EXPECT_TRUE(queue.renewals[1].leases.empty());
}

TEST_F(LeaseKeeperTest, FencesWhenAThirdOfTheLeaseIsLeft) {
  settle_down();
  const MonoTime expires_at = now + kKeptLease;
  keeper.hold(a.lease, expires_at);
  queue.outage = kStoreOutage;
  const MonoTime fence_at{expires_at.since_origin - kKeptLease / 3};
  while (now < fence_at) {
    EXPECT_TRUE(runs.stopped.empty()) << "too early, by " << (fence_at - now).count() << " ms";
    const Millis wait = settle_down();
    EXPECT_LE(wait, kHeartbeat);
    now = std::min(now + wait, fence_at);
  }
  settle_down();
  EXPECT_EQ(runs.stopped, (std::vector<FakeRuns::Stopped>{{a.lease, StopReason::kLeaseLost}}));

  now = now + Millis{2'000};
  settle_down();
  EXPECT_EQ(runs.stopped.size(), 1U) << "said once";
}

TEST_F(LeaseKeeperTest, FencesBeforeItAsksTheStoreWhenItWasFrozen) {
  settle_down();
  keeper.hold(a.lease, now + kKeptLease);
  now = now + kKeptLease + kKeptLease;
  queue.calls.clear();
  EXPECT_EQ(keeper.step(now), Millis{0});
  EXPECT_EQ(runs.stopped, (std::vector<FakeRuns::Stopped>{{a.lease, StopReason::kLeaseLost}}));
}

TEST_F(LeaseKeeperTest, AStoreThatComesBackInTimeCostsNothing) {
  settle_down();
  keeper.hold(a.lease, now + kKeptLease);
  queue.outage = kStoreOutage;
  now = now + kHeartbeat;
  settle_down();
  now = now + kHeartbeat;
  settle_down();
  queue.outage.reset();
  now = now + Millis{1'000};
  settle_down();
  EXPECT_TRUE(runs.stopped.empty());
  EXPECT_EQ(runs.renewed, (std::vector<FakeRuns::Renewal>{{a.lease, now + kKeptLease}}));
}

TEST_F(LeaseKeeperTest, RegistersAgainAfterFailedBeatsOrALongSilence) {
  settle_down();
  queue.outage = kStoreOutage;
  now = now + kHeartbeat;
  settle_down();
  queue.outage.reset();
  now = now + kHeartbeat;
  settle_down();
  EXPECT_EQ(queue.registered.size(), 2U) << "the store may have forgotten it";

  now = now + kHeartbeat * 10;
  settle_down();
  EXPECT_EQ(queue.registered.size(), 3U);

  now = now + kHeartbeat;
  settle_down();
  EXPECT_EQ(queue.registered.size(), 3U);
}

TEST_F(LeaseKeeperTest, RegistersAgainNowAndThenWhateverHappened) {
  queue.drain_ordered = true;
  for (int beat = 0; beat <= 12; ++beat) {
    settle_down();
    now = now + kHeartbeat;
  }
  ASSERT_EQ(queue.registered.size(), 3U) << "with every sixth beat";
  EXPECT_TRUE(queue.registered.back().draining) << "an order stays one";
}

TEST_F(LeaseKeeperTest, KnowsWhetherALeaseIsOver) {
  settle_down();
  keeper.hold(a.lease, now + kKeptLease);
  EXPECT_FALSE(keeper.is_over(a.lease, now + (kKeptLease - Millis{1})));
  EXPECT_TRUE(keeper.is_over(a.lease, now + kKeptLease));
  EXPECT_TRUE(keeper.is_over(b.lease, now)) << "never held";
}

TEST_F(LeaseKeeperTest, TellsTheStoreThatItDrains) {
  settle_down();
  keeper.announce_draining();
  now = now + kHeartbeat;
  settle_down();
  ASSERT_EQ(queue.registered.size(), 2U);
  EXPECT_TRUE(queue.registered[1].draining);
}

TEST_F(LeaseKeeperTest, AfterUnregisteringItIsSilent) {
  settle_down();
  EXPECT_TRUE(keeper.unregister("stopped"));
  now = now + kHeartbeat * 5;
  settle_down();
  EXPECT_EQ(queue.calls, (Calls{"register", "unregister"}));
}

TEST_F(LeaseKeeperTest, ACancelDoesNotWaitForTheHeartbeat) {
  settle_down();
  keeper.hold(a.lease, now + kKeptLease);
  queue.lease_states[a.lease.id.to_string()] = LeaseState::kCancelRequested;
  queue.tell(7, "task.cancel_requested", a.task.id);
  now = now + Millis{300};
  EXPECT_EQ(keeper.look_for_requests(now), Millis{0});
  settle_down();
  EXPECT_EQ(runs.stopped, (std::vector<FakeRuns::Stopped>{{a.lease, StopReason::kCancelled}}));
}

TEST_F(LeaseKeeperTest, NewsOfOthersAndOfOurOwnDoingCauseNoBeat) {
  settle_down();
  keeper.hold(a.lease, now + kKeptLease);
  queue.tell(1, "task.claimed", a.task.id);
  queue.tell(2, "task.progressed", a.task.id);
  queue.tell(3, "task.cancel_requested", b.task.id);
  queue.calls.clear();
  EXPECT_EQ(keeper.look_for_requests(now), Millis{250});
  EXPECT_EQ(queue.calls, Calls{"events 0"});
  now = now + Millis{100};
  EXPECT_EQ(keeper.look_for_requests(now), Millis{150}) << "not more often than every 250 ms";
  now = now + Millis{150};
  EXPECT_EQ(keeper.look_for_requests(now), Millis{250}) << "nothing changed: the store is not asked";
  queue.tell(4, "task.enqueued", b.task.id);
  now = now + Millis{250};
  EXPECT_EQ(keeper.look_for_requests(now), Millis{250});
  EXPECT_EQ(queue.calls, (Calls{"events 0", "events 3"}));
}

TEST_F(LeaseKeeperTest, WithNothingHeldNoNewsAreRead) {
  settle_down();
  queue.tell(1, "task.cancel_requested", a.task.id);
  queue.calls.clear();
  EXPECT_EQ(keeper.look_for_requests(now), Millis{250});
  EXPECT_TRUE(queue.calls.empty());
}

TEST_F(LeaseKeeperTest, TooMuchNewsIsSkippedWithABeat) {
  settle_down();
  keeper.hold(a.lease, now + kKeptLease);
  for (int seq = 1; seq <= 2000; ++seq) queue.tell(seq, "task.enqueued", b.task.id);
  EXPECT_EQ(keeper.look_for_requests(now), Millis{0});
  queue.calls.clear();
  settle_down();
  EXPECT_EQ(queue.calls, Calls{"renew 1"});
  queue.tell(2001, "task.enqueued", b.task.id);
  now = now + Millis{250};
  EXPECT_EQ(keeper.look_for_requests(now), Millis{250});
  EXPECT_EQ(queue.calls.back(), "events 2000");
}

TEST(CheckHeartbeat, ALeaseLastsForTwoBeats) {
  EXPECT_TRUE(check_heartbeat(Millis{30'000}, Millis{5'000}));
  EXPECT_TRUE(check_heartbeat(Millis{10'000}, Millis{5'000}));
  EXPECT_EQ(code_of(check_heartbeat(Millis{9'999}, Millis{5'000})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(check_heartbeat(Millis{9'999}, Millis{0})), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace drover::test
