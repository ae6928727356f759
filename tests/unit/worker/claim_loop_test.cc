#include "worker/claim_loop.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "support/printers.h"
#include "unit/worker/fake_queue.h"
#include "unit/worker/fake_runs.h"

namespace drover::test {
namespace {

using Calls = std::vector<std::string>;

constexpr Millis kLease{30'000};
constexpr Millis kDrain{30'000};
const Error kOutage{ErrorCode::kStoreUnavailable, "gone", "test"};
const Error kStale{ErrorCode::kStaleLease, "not yours", "test"};

class ClaimLoopTest : public testing::Test {
 protected:
  ClaimLoopTest() { keeper.step(now); }

  ClaimLoop make(WhenEmpty when_empty, int capacity) {
    return ClaimLoop(queue, runs, keeper,
                     {.worker_id = "host:1:uuid",
                      .serves = {{"test", std::nullopt}},
                      .capacity = capacity,
                      .lease = kLease,
                      .drain = kDrain,
                      .poll_max = Millis{2'000},
                      .when_empty = when_empty});
  }
  // Steps until it wants to wait, with a clock that stands still.
  Millis settle_down() {
    for (int i = 0; i < 20; ++i) {
      const Millis wait = loop.step(now);
      if (wait > Millis{0} || loop.finished()) return wait;
    }
    ADD_FAILURE() << "the loop never waits";
    return Millis{0};
  }
  int claims() const { return static_cast<int>(queue.claims.size()); }

  MonoTime now{Millis{1'000'000}};
  FakeQueue queue;
  FakeRuns runs;
  LeaseKeeper keeper{queue, runs, {.worker = {.id = "host:1:uuid"}, .lease = kLease, .heartbeat = Millis{5'000}}};
  ClaimedTask a = numbered_task(1);
  ClaimedTask b = numbered_task(2);
  ClaimedTask c = numbered_task(3);
  ClaimLoop loop = make(WhenEmpty::kWait, 2);
};

TEST_F(ClaimLoopTest, NothingIsClaimedBeforeTheFirstBeat) {
  LeaseKeeper silent(queue, runs, {.worker = {.id = "x"}, .lease = kLease, .heartbeat = Millis{5'000}});
  ClaimLoop early(queue, runs, silent, {.worker_id = "x", .serves = {{"test", std::nullopt}}});
  queue.put(a);
  EXPECT_GT(early.step(now), Millis{0});
  EXPECT_EQ(claims(), 0);
}

TEST_F(ClaimLoopTest, ClaimsIntoFreeSlotsOnlyAndCountsTheLeaseFromBeforeTheCall) {
  for (const ClaimedTask& task : {a, b, c}) queue.put(task);
  settle_down();
  ASSERT_EQ(runs.started.size(), 2U);
  EXPECT_EQ(runs.started[0].claimed.lease, a.lease);
  EXPECT_EQ(runs.started[0].expires_at, now + kLease);
  EXPECT_EQ(queue.claims.at(0).n, 2);
  EXPECT_EQ(queue.claims.at(0).lease, kLease);
  EXPECT_EQ(claims(), 1) << "full: no second claim";
  EXPECT_EQ(loop.held(), 2);
}

TEST_F(ClaimLoopTest, SaysWhatItIsDoingAlready) {
  a.task.priority = 2;
  queue.put(a);
  settle_down();
  queue.put(b);
  settle_down();
  EXPECT_EQ(queue.claims.at(0).capacity, 2);
  EXPECT_EQ(queue.claims.at(0).running_priorities, std::vector<int>{});
  EXPECT_EQ(queue.claims.back().n, 1);
  EXPECT_EQ(queue.claims.back().running_priorities, std::vector{2});
}

TEST_F(ClaimLoopTest, WantsWorkWhileItHasASlotFree) {
  EXPECT_TRUE(loop.wants_work(now));
  for (const ClaimedTask& task : {a, b}) queue.put(task);
  settle_down();
  EXPECT_FALSE(loop.wants_work(now));
  loop.drain(now);
  EXPECT_FALSE(loop.wants_work(now));
}

TEST_F(ClaimLoopTest, WhatIsClaimedIsRenewed) {
  queue.put(a);
  settle_down();
  keeper.step(now + Millis{5'000});
  EXPECT_EQ(queue.renewals.at(0).leases, std::vector{a.lease});
}

TEST_F(ClaimLoopTest, SettlesWhatEndedAsOneBatchThenClaimsAgain) {
  for (const ClaimedTask& task : {a, b, c}) queue.put(task);
  settle_down();
  runs.ended = {{a.lease, Completion{.result = "1"}}, {b.lease, Failure{.message = "no"}}};
  queue.calls.clear();
  settle_down();
  EXPECT_EQ(queue.calls, (Calls{"settle 2", "claim 2", "leave claim 1"}));
  EXPECT_EQ(queue.settled.at(0).lease, a.lease);
  EXPECT_EQ(loop.held(), 1);
  EXPECT_EQ(loop.counts().completed, 1);
  EXPECT_EQ(loop.counts().failed, 1);
  EXPECT_EQ(loop.counts().claimed, 3);
  keeper.step(now + Millis{5'000});
  EXPECT_EQ(queue.renewals.at(0).leases, std::vector{c.lease}) << "settled leases are let go";
}

TEST_F(ClaimLoopTest, AnEmptyQueueIsAskedAgainOnlyAfterAChangeOrThePoll) {
  EXPECT_EQ(settle_down(), Millis{2'000});
  EXPECT_EQ(claims(), 1);
  now = now + Millis{1'999};
  EXPECT_EQ(settle_down(), Millis{1});
  EXPECT_EQ(claims(), 1);
  now = now + Millis{1};
  settle_down();
  EXPECT_EQ(claims(), 2);
  queue.put(a);
  settle_down();
  EXPECT_EQ(runs.started.size(), 1U) << "the change was enough";
}

TEST_F(ClaimLoopTest, EndsAreKeptThroughAnOutageWithGrowingWaits) {
  queue.put(a);
  settle_down();
  runs.ended = {{a.lease, Completion{.result = "1"}}};
  queue.outage = kOutage;
  std::vector<Millis> waits;
  for (int i = 0; i < 8; ++i) {
    waits.push_back(settle_down());
    now = now + waits.back();
  }
  EXPECT_EQ(waits, (std::vector<Millis>{Millis{100}, Millis{200}, Millis{400}, Millis{800}, Millis{1'600},
                                        Millis{2'000}, Millis{1'200}, Millis{2'000}}))
      << "100 ms doubling to 5 s; the poll of 2 s wakes it without a call";
  EXPECT_TRUE(queue.settled.empty());
  EXPECT_EQ(loop.held(), 1);

  queue.outage.reset();
  now = now + Millis{5'000};
  settle_down();
  ASSERT_EQ(queue.settled.size(), 1U);
  EXPECT_EQ(loop.held(), 0);
}

TEST_F(ClaimLoopTest, AStaleEndIsDroppedAndNothingElseOfTheBatchWithIt) {
  queue.put(a);
  queue.put(b);
  settle_down();
  queue.refusals[a.lease.id.to_string()] = {kStale};
  runs.ended = {{a.lease, Completion{.result = "1"}}, {b.lease, Completion{.result = "2"}}};
  settle_down();
  ASSERT_EQ(queue.settled.size(), 1U);
  EXPECT_EQ(queue.settled[0].lease, b.lease);
  EXPECT_EQ(loop.counts().refused, 1);
  EXPECT_EQ(loop.held(), 0);
}

// A deadline or a cancel ended the task first; that happens, and a person need not look.
TEST_F(ClaimLoopTest, AStaleEndIsNoWarning) {
  queue.put(a);
  settle_down();
  queue.refusals[a.lease.id.to_string()] = {kStale};
  runs.ended = {{a.lease, Completion{.result = "1"}}};
  configure_log(LogLevel::kWarn, LogFormat::kJson);
  testing::internal::CaptureStderr();
  settle_down();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  configure_log(LogLevel::kError, LogFormat::kText);  // as main does
  EXPECT_EQ(loop.counts().refused, 1);
}

TEST_F(ClaimLoopTest, OneUnavailableAnswerKeepsThatEndOnly) {
  queue.put(a);
  queue.put(b);
  settle_down();
  queue.refusals[a.lease.id.to_string()] = {kOutage};
  runs.ended = {{a.lease, Completion{.result = "1"}}, {b.lease, Completion{.result = "2"}}};
  now = now + settle_down();
  EXPECT_EQ(queue.settled.size(), 1U);
  settle_down();
  ASSERT_EQ(queue.settled.size(), 2U);
  EXPECT_EQ(queue.settled[1].lease, a.lease);
}

TEST_F(ClaimLoopTest, AResultThatTheQueueRefusesBecomesAFailure) {
  struct Row {
    ErrorCode code;
    ErrorClass error_class;
  };
  int number = 10;
  for (const Row& row : {Row{ErrorCode::kResultTooLarge, ErrorClass::kResultTooLarge},
                         Row{ErrorCode::kInvalidJson, ErrorClass::kAgentError}}) {
    const ClaimedTask task = numbered_task(++number);
    queue.put(task);
    settle_down();
    queue.refusals[task.lease.id.to_string()] = {Error{row.code, "refused", {}}};
    runs.ended = {{task.lease, Completion{.result = "x", .exit_code = 0}}};
    settle_down();
    const auto* failure = std::get_if<Failure>(&queue.settled.back().end);
    ASSERT_NE(failure, nullptr);
    EXPECT_EQ(failure->error_class, row.error_class);
    EXPECT_EQ(failure->message, "refused");
    EXPECT_EQ(failure->exit_code, 0);
  }
}

TEST_F(ClaimLoopTest, AnEndThatIsRefusedForGoodIsDropped) {
  queue.put(a);
  settle_down();
  queue.refusals[a.lease.id.to_string()] = {Error{ErrorCode::kInternal, "no", {}}};
  runs.ended = {{a.lease, Completion{.result = "1"}}};
  settle_down();
  EXPECT_TRUE(queue.settled.empty());
  EXPECT_EQ(loop.held(), 0) << "its lease runs out, and the task stalls";
}

TEST_F(ClaimLoopTest, DrainLetsWorkFinish) {
  queue.put(a);
  settle_down();
  queue.put(b);
  loop.drain(now);
  settle_down();
  EXPECT_FALSE(loop.finished());
  EXPECT_EQ(runs.started.size(), 1U) << "no claim while draining";
  EXPECT_TRUE(runs.stopped.empty());
  runs.ended = {{a.lease, Completion{.result = "1"}}};
  settle_down();
  EXPECT_TRUE(loop.finished());
}

TEST_F(ClaimLoopTest, AfterTheDrainTimeTheRestIsStoppedAndReleased) {
  queue.put(a);
  settle_down();
  loop.drain(now);
  now = now + (kDrain - Millis{1});
  EXPECT_EQ(settle_down(), Millis{1});
  EXPECT_TRUE(runs.stopped.empty());
  now = now + Millis{1};
  settle_down();
  EXPECT_EQ(runs.stopped, (std::vector<FakeRuns::Stopped>{{a.lease, StopReason::kShutdown}}));
  settle_down();
  EXPECT_EQ(runs.stopped.size(), 1U) << "asked once by itself";
  runs.ended = {{a.lease, Release{}}};
  settle_down();
  EXPECT_TRUE(loop.finished());
  EXPECT_EQ(loop.counts().released, 1);
}

TEST_F(ClaimLoopTest, EachFurtherDrainIsMoreUrgent) {
  queue.put(a);
  settle_down();
  const FakeRuns::Stopped stop{a.lease, StopReason::kShutdown};
  loop.drain(now);
  EXPECT_TRUE(runs.stopped.empty());
  loop.drain(now);
  EXPECT_EQ(runs.stopped, (std::vector{stop}));
  loop.drain(now);
  EXPECT_EQ(runs.stopped, (std::vector{stop, stop}));
}

TEST_F(ClaimLoopTest, FinishesWhenTheQueuesAreEmpty) {
  ClaimLoop until_empty = make(WhenEmpty::kFinish, 2);
  queue.put(a);
  until_empty.step(now);
  EXPECT_FALSE(until_empty.finished()) << "its own task still runs";
  runs.ended = {{a.lease, Completion{.result = "1"}}};
  queue.backlog_answer = Backlog{.waiting = 1};
  for (int i = 0; i < 5; ++i) until_empty.step(now);
  EXPECT_FALSE(until_empty.finished()) << "something is scheduled";
  queue.backlog_answer = Backlog{.running = 1};
  now = now + Millis{2'000};
  for (int i = 0; i < 5; ++i) until_empty.step(now);
  EXPECT_FALSE(until_empty.finished()) << "another worker runs something";
  queue.backlog_answer = Backlog{.blocked = 1};
  now = now + Millis{2'000};
  for (int i = 0; i < 5; ++i) until_empty.step(now);
  EXPECT_TRUE(until_empty.finished()) << "blocked on what nobody here serves";
}

TEST_F(ClaimLoopTest, AStoreThatWentBackwardsEndsAWorkerThatIsToEnd) {
  ClaimLoop until_empty = make(WhenEmpty::kFinish, 2);
  queue.outage = Error{ErrorCode::kStoreRegressed, "events 3 to 5 are gone", {}};
  for (int i = 0; i < 5; ++i) until_empty.step(now);
  EXPECT_TRUE(until_empty.finished());
  ASSERT_TRUE(until_empty.failure().has_value());
  EXPECT_EQ(until_empty.failure()->code, ErrorCode::kStoreRegressed);
  settle_down();
  EXPECT_FALSE(loop.failure().has_value()) << "others wait until it is accepted";
}

TEST_F(ClaimLoopTest, AClaimThatIsRefusedForGoodEndsTheWorker) {
  queue.outage = Error{ErrorCode::kUnauthorised, "who are you", {}};
  settle_down();
  ASSERT_TRUE(loop.failure().has_value());
  EXPECT_EQ(loop.failure()->code, ErrorCode::kUnauthorised);
  EXPECT_TRUE(loop.finished());
}

TEST_F(ClaimLoopTest, AWorkerThatTheQueueHasForgottenRegistersAgain) {
  queue.claim_refusal = Error{ErrorCode::kUnknownWorker, "register first", {}};
  settle_down();
  EXPECT_FALSE(loop.failure().has_value());
  keeper.step(now);
  EXPECT_EQ(queue.registered.size(), 2U) << "with the next look of the keeper";
}

TEST_F(ClaimLoopTest, AnOutageAtClaimIsWaitedFor) {
  queue.outage = kOutage;
  EXPECT_EQ(settle_down(), Millis{100});
  EXPECT_FALSE(loop.failure().has_value());
  queue.outage.reset();
  queue.put(a);
  now = now + Millis{100};
  settle_down();
  EXPECT_EQ(runs.started.size(), 1U);
}

TEST_F(ClaimLoopTest, AnOrderToDrainLetsWhatRunsFinishHoweverLongItTakes) {
  queue.put(a);
  settle_down();
  queue.drain_ordered = true;
  now = now + Millis{5'000};
  keeper.step(now);
  queue.put(b);
  settle_down();
  EXPECT_EQ(runs.started.size(), 1U) << "no claim while draining";
  now = now + kDrain * 100;
  settle_down();
  EXPECT_TRUE(runs.stopped.empty());
  EXPECT_FALSE(loop.finished());
  EXPECT_TRUE(loop.was_ordered());
  runs.ended.push_back({a.lease, Completion{}});
  settle_down();
  EXPECT_TRUE(loop.finished());
}

TEST_F(ClaimLoopTest, ASignalSetsALimitToAnOrderedDrain) {
  queue.put(a);
  settle_down();
  queue.drain_ordered = true;
  now = now + Millis{5'000};
  keeper.step(now);
  settle_down();
  loop.drain(now);
  settle_down();
  EXPECT_TRUE(runs.stopped.empty());
  now = now + kDrain;
  settle_down();
  EXPECT_EQ(runs.stopped.size(), 1U);
}

TEST_F(ClaimLoopTest, ListensForNoChangeWhileItBacksOff) {
  EXPECT_TRUE(loop.awaits_change(now));
  queue.outage = kOutage;
  const Millis wait = settle_down();
  EXPECT_TRUE(loop.wants_work(now));
  EXPECT_FALSE(loop.awaits_change(now)) << "a change would wake it for nothing";
  EXPECT_TRUE(loop.awaits_change(now + wait));
}

// The store is gone for good.
class StoppingTest : public ClaimLoopTest {
 protected:
  StoppingTest() {
    queue.put(a);
    settle_down();
    queue.outage = kOutage;
    runs.ended = {{a.lease, Completion{.result = "1"}}};
    settle_down();
    loop.drain(now);
    settle_down();
  }
};

TEST_F(StoppingTest, AnEndIsToldAsLongAsSomebodyMayTakeIt) {
  loop.drain(now);
  for (int i = 0; i < 5; ++i) now = now + settle_down();
  EXPECT_FALSE(loop.finished());
  queue.outage.reset();
  now = now + settle_down();
  settle_down();
  EXPECT_TRUE(loop.finished());
  EXPECT_EQ(loop.counts().completed, 1);
}

TEST_F(StoppingTest, AnEndWhoseLeaseIsOverIsGivenUp) {
  now = now + std::max(kLease, kDrain);
  for (int i = 0; i < 3 && !loop.finished(); ++i) now = now + settle_down();
  EXPECT_TRUE(loop.finished());
  EXPECT_EQ(loop.counts().refused, 1);
}

TEST_F(StoppingTest, TheThirdWordEndsItAtOnce) {
  loop.drain(now);
  settle_down();
  EXPECT_FALSE(loop.finished());
  loop.drain(now);
  settle_down();
  EXPECT_TRUE(loop.finished());
}

// Calls that the test lets go when it likes.
class BusyTest : public ClaimLoopTest {
 protected:
  ClaimLoopOptions busy_options(int capacity, WhenEmpty when_empty) {
    return {.worker_id = "host:1:uuid",
            .serves = {{"test", std::nullopt}},
            .capacity = capacity,
            .lease = kLease,
            .drain = kDrain,
            .when_empty = when_empty,
            .wake = [this] { ++wakes; }};
  }
  MakeCall later() {
    return [this](std::function<void()> call) { under_way.push_back(std::move(call)); };
  }
  void answer() {
    ASSERT_EQ(under_way.size(), 1U) << "one after the other";
    std::exchange(under_way, {}).front()();
  }
  void step_often(ClaimLoop& busy) const {
    for (int i = 0; i < 10; ++i) busy.step(now);
  }

  std::vector<std::function<void()>> under_way;
  int wakes = 0;
};

class SettlingTest : public BusyTest {
 protected:
  ClaimLoop make_busy(WhenEmpty when_empty) {
    ClaimLoopOptions options = busy_options(2, when_empty);
    options.make_settlement = later();
    return ClaimLoop(queue, runs, keeper, std::move(options));
  }
};

TEST_F(SettlingTest, ASlotIsFreeOnceItsRunHasEnded) {
  ClaimLoop busy = make_busy(WhenEmpty::kWait);
  a.task.priority = 7;
  for (const ClaimedTask& task : {a, b, c}) queue.put(task);
  step_often(busy);
  runs.ended = {{a.lease, Completion{.result = "1"}}};
  step_often(busy);
  EXPECT_TRUE(queue.settled.empty());
  ASSERT_EQ(runs.started.size(), 3U) << "claimed while the end of the first is on its way";
  EXPECT_EQ(queue.claims.back().n, 1);
  EXPECT_EQ(queue.claims.back().running_priorities, std::vector{b.task.priority}) << "what has ended takes no slot";
  EXPECT_EQ(busy.held(), 3);
  keeper.step(now + Millis{5'000});
  EXPECT_EQ(queue.renewals.at(0).leases.size(), 3U) << "its lease is kept until it is settled";

  answer();
  EXPECT_EQ(wakes, 1);
  step_often(busy);
  EXPECT_EQ(queue.settled.size(), 1U);
  EXPECT_EQ(busy.held(), 2);
  EXPECT_EQ(busy.counts().completed, 1);
}

TEST_F(SettlingTest, EndsGatherWhileOthersAreOnTheirWay) {
  ClaimLoop busy = make_busy(WhenEmpty::kWait);
  for (const ClaimedTask& task : {a, b, c}) queue.put(task);
  step_often(busy);
  runs.ended = {{a.lease, Completion{.result = "1"}}};
  step_often(busy);
  runs.ended = {{b.lease, Completion{.result = "2"}}};
  step_often(busy);
  runs.ended = {{c.lease, Completion{.result = "3"}}};
  step_often(busy);
  answer();
  step_often(busy);
  answer();
  EXPECT_EQ(queue.settled.size(), 3U);
  EXPECT_EQ(queue.calls.back(), "settle 2");
}

TEST_F(SettlingTest, AQueueThatTakesNoEndsGivesNoMoreWork) {
  ClaimLoop busy = make_busy(WhenEmpty::kWait);
  for (int i = 1; i <= 9; ++i) queue.put(numbered_task(i));
  std::size_t ended = 0;
  for (int round = 0; round < 5; ++round) {
    step_often(busy);
    for (; ended < runs.started.size(); ++ended) {
      runs.ended.push_back({runs.started[ended].claimed.lease, Completion{.result = "1"}});
    }
  }
  EXPECT_EQ(busy.held(), 4) << "twice its slots";
}

TEST_F(SettlingTest, FinishesOnlyAfterAClaimThatCameBehindTheLastEnd) {
  ClaimLoop busy = make_busy(WhenEmpty::kFinish);
  queue.put(a);
  step_often(busy);
  runs.ended = {{a.lease, Completion{.result = "1"}}};
  step_often(busy);
  EXPECT_FALSE(busy.finished()) << "its end is not settled";
  queue.put(b);  // what the end of the first one lets go
  answer();
  step_often(busy);
  EXPECT_FALSE(busy.finished());
  ASSERT_EQ(runs.started.size(), 2U);
  runs.ended = {{b.lease, Completion{.result = "1"}}};
  step_often(busy);
  answer();
  step_often(busy);
  EXPECT_TRUE(busy.finished());
}

class ClaimingTest : public BusyTest {
 protected:
  ClaimLoop make_busy(int capacity, WhenEmpty when_empty = WhenEmpty::kWait) {
    ClaimLoopOptions options = busy_options(capacity, when_empty);
    options.make_claim = later();
    return ClaimLoop(queue, runs, keeper, std::move(options));
  }
};

TEST_F(ClaimingTest, AsksForHalfOfTheSlotsSoThatSomeRunWhileOthersAreClaimed) {
  ClaimLoop busy = make_busy(5);
  for (int i = 1; i <= 9; ++i) queue.put(numbered_task(i));
  step_often(busy);
  EXPECT_TRUE(runs.started.empty());
  EXPECT_FALSE(busy.wants_work(now)) << "it has asked";
  const MonoTime asked_at = now;
  now = now + Millis{50};
  answer();
  EXPECT_EQ(wakes, 1);
  step_often(busy);
  EXPECT_EQ(queue.claims.at(0).n, 3);
  ASSERT_EQ(runs.started.size(), 3U);
  EXPECT_EQ(runs.started[0].expires_at, asked_at + kLease) << "from before the call";
  answer();
  step_often(busy);
  EXPECT_EQ(queue.claims.at(1).n, 2) << "what is left";
  EXPECT_EQ(busy.held(), 5);
  EXPECT_TRUE(under_way.empty());
}

TEST_F(ClaimingTest, WaitsWhileAClaimIsOnItsWay) {
  ClaimLoop busy = make_busy(2);
  step_often(busy);
  answer();
  step_often(busy);
  now = now + ClaimLoopOptions{}.poll_max;  // time to look again
  step_often(busy);
  ASSERT_EQ(under_way.size(), 1U);
  now = now + ClaimLoopOptions{}.poll_max;
  EXPECT_GT(busy.step(now), Millis{0});
}

TEST_F(ClaimingTest, AnAnswerThatCameWhenTheLeaseWasNearlyOverIsGivenBack) {
  ClaimLoop busy = make_busy(2);
  queue.put(a);
  step_often(busy);
  answer();
  now = now + kLease * 2 / 3;
  step_often(busy);
  EXPECT_TRUE(runs.started.empty());
  ASSERT_EQ(queue.settled.size(), 1U);
  EXPECT_EQ(std::get<Release>(queue.settled[0].end).begun, Begun::kNo);
}

TEST_F(ClaimingTest, WhatWaitsInTheRunsCountsAgainstReservedSlotsAsIfItRan) {
  ClaimLoop greedy(
      queue, runs, keeper,
      {.worker_id = "host:1:uuid", .serves = {{"test", std::nullopt}}, .capacity = 2, .prefetch = 3, .lease = kLease});
  for (int i = 1; i <= 9; ++i) queue.put(numbered_task(i));
  step_often(greedy);
  EXPECT_EQ(queue.claims.at(0).n, 5);
  EXPECT_EQ(queue.claims.at(0).capacity, 2) << "what can run at once";
  EXPECT_EQ(greedy.held(), 5);
}

TEST_F(ClaimingTest, EndsAreSettledWhileAClaimIsOnItsWay) {
  ClaimLoop busy = make_busy(2);
  for (const ClaimedTask& task : {a, b}) queue.put(task);
  step_often(busy);
  answer();
  step_often(busy);
  runs.ended = {{a.lease, Completion{.result = "1"}}};
  step_often(busy);
  EXPECT_EQ(under_way.size(), 1U);
  EXPECT_EQ(queue.settled.size(), 1U);
}

TEST_F(ClaimingTest, WhatWasClaimedForOneThatDrainsIsGivenBackUnstarted) {
  ClaimLoop busy = make_busy(2);
  queue.put(a);
  step_often(busy);
  busy.drain(now);
  step_often(busy);
  EXPECT_FALSE(busy.finished()) << "the claim may take something";
  answer();
  step_often(busy);
  EXPECT_TRUE(runs.started.empty());
  ASSERT_EQ(queue.settled.size(), 1U);
  EXPECT_EQ(std::get<Release>(queue.settled[0].end).begun, Begun::kNo);
  EXPECT_TRUE(busy.finished());
}

TEST_F(ClaimingTest, ARefusalIsNoMatterToOneThatDrains) {
  ClaimLoop busy = make_busy(2);
  step_often(busy);
  busy.drain(now);
  queue.outage = Error{ErrorCode::kUnauthorised, "who are you", {}};
  answer();
  step_often(busy);
  EXPECT_TRUE(busy.finished());
  EXPECT_FALSE(busy.failure().has_value());
}

TEST_F(ClaimingTest, AnOutageIsWaitedFor) {
  ClaimLoop busy = make_busy(2);
  step_often(busy);
  queue.outage = kOutage;
  answer();
  queue.outage.reset();
  EXPECT_EQ(busy.step(now), Millis{100});
  EXPECT_TRUE(under_way.empty());
  now = now + Millis{100};
  step_often(busy);
  EXPECT_EQ(under_way.size(), 1U);
}

TEST_F(ClaimingTest, FinishesWhenTheLastClaimFoundNothing) {
  ClaimLoop busy = make_busy(2, WhenEmpty::kFinish);
  queue.put(a);
  step_often(busy);
  EXPECT_FALSE(busy.finished());
  answer();
  step_often(busy);
  runs.ended = {{a.lease, Completion{.result = "1"}}};
  step_often(busy);
  EXPECT_FALSE(busy.finished());
  answer();
  step_often(busy);
  EXPECT_TRUE(busy.finished());
}

class StandingClaimTest : public ClaimLoopTest {
 protected:
  StandingClaimTest() {
    queue.takes_standing = true;
    settle_down();
  }
  static Taken<ClaimedTask> taken(std::vector<ClaimedTask> tasks) { return {std::move(tasks), kLease - Millis{40}}; }
};

TEST_F(ClaimLoopTest, AQueueWithoutStandingClaimsIsAskedForOneOnce) {
  settle_down();
  queue.put(a);
  settle_down();
  EXPECT_EQ(queue.calls, (Calls{"register", "claim 2", "leave claim 2", "claim 2"}));
}

TEST_F(StandingClaimTest, StandsForTheFreeSlotsWhileTheLoopWaits) {
  ASSERT_EQ(queue.left.size(), 1U);
  EXPECT_EQ(queue.left[0]->request.n, 2);
  EXPECT_EQ(queue.left[0]->request.lease, kLease);
  settle_down();
  EXPECT_EQ(queue.left.size(), 1U);
  EXPECT_EQ(claims(), 1);
}

TEST_F(StandingClaimTest, WhatItTookStartsWithWhatIsLeftOfTheLease) {
  queue.answer_standing(taken({a}));
  loop.step(now);
  ASSERT_EQ(runs.started.size(), 1U);
  EXPECT_EQ(runs.started[0].claimed.lease, a.lease);
  EXPECT_EQ(runs.started[0].expires_at, now + (kLease - Millis{40}));
  settle_down();
  EXPECT_EQ(queue.left.size(), 2U);
  EXPECT_EQ(queue.left[1]->request.n, 1) << "one slot is taken";
  EXPECT_EQ(loop.counts().claimed, 1);
  keeper.step(now + Millis{5'000});
  EXPECT_EQ(queue.renewals.at(0).leases, std::vector{a.lease});
}

TEST_F(StandingClaimTest, NoSlotIsAskedForTwice) {
  queue.calls.clear();
  queue.put(a);
  settle_down();
  EXPECT_EQ(queue.calls, (Calls{"withdraw", "claim 2", "leave claim 1"}));
  EXPECT_TRUE(queue.left[0]->gone);
}

TEST_F(StandingClaimTest, WhatItTookBeforeItCouldBeWithdrawnCountsToo) {
  queue.put(b);
  queue.put(c);
  queue.left[0]->answer = taken({a});  // between the look and the claim: nobody was told yet
  queue.calls.clear();
  settle_down();
  EXPECT_EQ(queue.calls, (Calls{"withdraw", "claim 1"}));
  EXPECT_EQ(loop.held(), 2);
}

TEST_F(StandingClaimTest, AFullWorkerWaitsAndLeavesNone) {
  queue.answer_standing(taken({a, b}));
  now = now + Millis{3'000};
  EXPECT_EQ(settle_down(), Millis{2'000}) << "it does not look for work that it has no room for";
  EXPECT_EQ(claims(), 1);
  EXPECT_EQ(queue.left.size(), 1U);
  runs.ended = {{a.lease, Completion{.result = "1"}}};
  queue.calls.clear();
  settle_down();
  EXPECT_EQ(queue.calls, (Calls{"settle 1", "claim 1", "leave claim 1"}));
}

TEST_F(StandingClaimTest, RunsThatEndMeanwhileAreSettledAndTheirSlotsAskedFor) {
  queue.answer_standing(taken({a}));
  settle_down();
  runs.ended = {{a.lease, Completion{.result = "1"}}};
  queue.calls.clear();
  settle_down();
  EXPECT_EQ(queue.calls, (Calls{"settle 1", "withdraw", "claim 2", "leave claim 2"}));
}

TEST_F(StandingClaimTest, ADrainWithdrawsItAtOnce) {
  loop.drain(now);
  EXPECT_FALSE(loop.finished()) << "it may have taken something";
  loop.step(now);
  EXPECT_TRUE(loop.finished());
  EXPECT_TRUE(queue.left[0]->gone);
}

TEST_F(StandingClaimTest, WhatItTookForOneThatDrainsIsGivenBackUnstarted) {
  loop.drain(now);
  queue.answer_standing(taken({a}));
  settle_down();
  EXPECT_TRUE(runs.started.empty());
  ASSERT_EQ(queue.settled.size(), 1U);
  EXPECT_EQ(queue.settled[0].lease, a.lease);
  EXPECT_TRUE(std::holds_alternative<Release>(queue.settled[0].end));
  EXPECT_TRUE(loop.finished());
  EXPECT_EQ(loop.counts().released, 1);
}

TEST_F(StandingClaimTest, AnOrderToDrainWithdrawsItToo) {
  queue.drain_ordered = true;
  keeper.step(now + Millis{5'000});
  settle_down();
  EXPECT_TRUE(queue.left[0]->gone);
  EXPECT_TRUE(loop.finished());
}

TEST_F(StandingClaimTest, AnOutageThatItMeetsIsWaitedFor) {
  queue.answer_standing(std::unexpected(kOutage));
  EXPECT_EQ(settle_down(), Millis{100});
  EXPECT_EQ(queue.left.size(), 1U);
  now = now + Millis{100};
  settle_down();
  EXPECT_EQ(claims(), 2);
  EXPECT_EQ(queue.left.size(), 2U);
}

// It may have taken something: that would run for nobody if it were forgotten.
TEST_F(StandingClaimTest, OneThatCannotBeWithdrawnIsAskedAgain) {
  queue.put(a);
  queue.outage = kOutage;
  EXPECT_EQ(settle_down(), Millis{100});
  EXPECT_FALSE(queue.left[0]->gone);
  queue.outage.reset();
  queue.left[0]->answer = taken({b});
  now = now + Millis{100};
  settle_down();
  EXPECT_TRUE(queue.left[0]->gone);
  EXPECT_EQ(loop.held(), 2);
}

TEST_F(StandingClaimTest, OneThatDrainsDoesNotMindWhatItMet) {
  queue.answer_standing(taken({a}));
  settle_down();
  loop.drain(now);
  queue.answer_standing(std::unexpected(Error{ErrorCode::kUnauthorised, "who are you", {}}));
  settle_down();
  EXPECT_TRUE(runs.stopped.empty()) << "what runs may finish";
  EXPECT_FALSE(loop.failure().has_value());
}

TEST_F(StandingClaimTest, NoneIsLeftByOneThatFinishes) {
  ClaimLoop until_empty = make(WhenEmpty::kFinish, 2);
  for (int i = 0; i < 3; ++i) until_empty.step(now);
  EXPECT_TRUE(until_empty.finished());
  EXPECT_EQ(queue.left.size(), 1U) << "the other loop's";
}

}  // namespace
}  // namespace drover::test
