// Gates: what holds a lane back, where it waits, and what lets it go.
#include "unit/store/lanes_fixture.h"

#include <algorithm>
#include <map>

namespace drover::test {
namespace {

using Numbers = std::vector<int>;
using namespace std::chrono_literals;

TEST_F(Lanes, AClosedGateHoldsUpNothingBehindIt) {
  add({.rank = 0, .owner = "ann"}, 2);
  add({.rank = 5, .owner = "bob"}, 2);
  close("owner:ann");
  EXPECT_EQ(claim(5), (Numbers{3, 4}));
  EXPECT_EQ(parked_at(1), "owner:ann");
  EXPECT_EQ(gate("owner:ann").waiting_lanes, 1);
  EXPECT_TRUE(claim(5).empty());
  open("owner:ann");
  EXPECT_EQ(claim(5), (Numbers{1, 2}));
  expect_sound();
}

TEST_F(Lanes, EveryKindOfGateIsAskedTheFirstThatRefusesKeepsTheLane) {
  add({.gates = {"provider:p", "lock:l"}});
  for (const char* name : {"lock:l", "provider:p", "owner:ann", "type:t", "queue:q", "all"}) {
    close(name);
    EXPECT_TRUE(claim(1).empty());
  }
  EXPECT_EQ(parked_at(1), "lock:l");
  for (const char* name : {"lock:l", "provider:p", "owner:ann", "type:t", "queue:q"}) {
    open(name);
    EXPECT_TRUE(claim(1).empty()) << name;
    EXPECT_EQ(parked_at(1), "all");
  }
  open("all");
  EXPECT_EQ(claim(1), Numbers{1});
}

TEST_F(Lanes, AGateClosedUntilATimeOpensThen) {
  add({});
  close("queue:q", sut_.clock().wall() + 10s);
  EXPECT_TRUE(claim(1).empty());
  EXPECT_EQ(must(sut_->next_wake()), Millis(10'000));
  sut_.clock().advance(9'999ms);
  EXPECT_TRUE(claim(1).empty());
  sut_.clock().advance(1ms);
  EXPECT_EQ(must(sut_->wake_gates()), 1);
  EXPECT_EQ(must(sut_->next_wake()), std::nullopt);
  EXPECT_EQ(claim(1), Numbers{1});
}

TEST_F(Lanes, PermitsAreNeverExceededAndComeBackWithAnyEnd) {
  add({}, 10);
  limit("queue:q", 2);
  EXPECT_EQ(claim(10), (Numbers{1, 2}));
  EXPECT_EQ(gate("queue:q").use.in_use, 2);
  EXPECT_EQ(parked_at(3), "queue:q");
  EXPECT_TRUE(claim(10).empty());
  end(1);
  EXPECT_EQ(claim(10), Numbers{3});
  end(2, trigger::Release{});
  EXPECT_EQ(claim(10), Numbers{2});
  end(3, trigger::LeaseLost{});
  EXPECT_EQ(claim(10), Numbers{3});
  end(2, trigger::Fail{{.message = "broke"}});
  EXPECT_EQ(gate("queue:q").use.in_use, 1);
  expect_sound();
}

TEST_F(Lanes, ALimitThatIsSetCountsWhatRunsAlready) {
  add({}, 4);
  add({.queue = "other", .gates = {"provider:p"}}, 1);
  claim(2);
  claim(1, {{"other", {}}});
  limit("queue:q", 3);
  limit("provider:p", 1);
  EXPECT_EQ(gate("queue:q").use.in_use, 2);
  EXPECT_EQ(gate("provider:p").use.in_use, 1);
  EXPECT_EQ(claim(10), Numbers{3});
  limit("queue:q", 1);
  end(1);
  EXPECT_TRUE(claim(10).empty()) << "more run than may: all of them count";
  open("queue:q");
  EXPECT_EQ(gate("queue:q").use.in_use, 0) << "nothing is counted without a limit";
  EXPECT_EQ(claim(10), Numbers{4});
  expect_sound();
}

TEST_F(Lanes, ALockHasOnePermitUnlessItsGateSaysOtherwise) {
  add({.gates = {"lock:repo"}}, 3);
  EXPECT_EQ(claim(5), Numbers{1});
  end(1);
  EXPECT_EQ(claim(5), Numbers{2});
  limit("lock:repo", 2);
  EXPECT_EQ(claim(5), Numbers{3});
  end(2);
  end(3);
  expect_sound();
}

TEST_F(Lanes, AnOwnerWithoutAGateObeysThatOfTheOthers) {
  add({.owner = "ann"}, 5);
  add({.owner = "bob"}, 5);
  EXPECT_EQ(claim(1), Numbers{1});
  limit("owner:*", 2);
  limit("owner:bob", 3);
  EXPECT_EQ(gate("owner:ann").use.in_use, 1);
  EXPECT_EQ(claim(20).size(), 4U);
  EXPECT_EQ(gate("owner:ann").use.in_use, 2);
  EXPECT_EQ(gate("owner:bob").use.in_use, 3);
  limit("owner:*", 4);
  EXPECT_EQ(claim(20).size(), 2U);
  open("owner:bob");
  EXPECT_EQ(claim(20).size(), 1U);
  open("owner:*");
  EXPECT_EQ(gate("owner:ann").use.in_use, 0);
  EXPECT_EQ(claim(20).size(), 2U);
  expect_sound();
}

TEST_F(Lanes, ARateLetsItsBurstGoThenOneAfterTheOther) {
  add({}, 10);
  set_rate("queue:q", {.units = 10, .per = 1'000ms, .burst = 3});
  EXPECT_EQ(claim(10), (Numbers{1, 2, 3}));
  EXPECT_EQ(must(sut_->next_wake()), Millis(100));
  sut_.clock().advance(99ms);
  EXPECT_TRUE(claim(10).empty());
  sut_.clock().advance(1ms);
  EXPECT_EQ(claim(10), Numbers{4});
  sut_.clock().advance(1h);
  EXPECT_EQ(claim(10), (Numbers{5, 6, 7}));
}

TEST_F(Lanes, ATaskTakesItsCost) {
  add({.cost = 2}, 4);
  set_rate("queue:q", {.units = 1, .per = 1'000ms, .burst = 5});
  EXPECT_EQ(claim(10), (Numbers{1, 2}));
  sut_.clock().advance(1s);
  EXPECT_EQ(claim(10), Numbers{3});
}

TEST_F(Lanes, TheProbesPermitCountsOnlyWhatStartsAfterTheBreak) {
  add({}, 5);
  EXPECT_EQ(claim(2), (Numbers{1, 2}));
  GateRecord record{.name = "type:t"};
  set_hold(record, {.source = HoldSource::kBreaker, .closed_until = sut_.clock().wall() + 1s, .permits = 1});
  set_gate(record);
  EXPECT_TRUE(claim(5).empty());
  sut_.clock().advance(1s);
  EXPECT_EQ(claim(5), Numbers{3});
  end(1);
  EXPECT_TRUE(claim(5).empty()) << "a run from before the break gives no permit back";
  end(3, trigger::LeaseLost{});
  EXPECT_EQ(claim(5), Numbers{3}) << "a probe whose worker died frees its place";
  expect_sound();
}

TEST_F(Lanes, ABatonIsPassedOn) {
  // Both wait for the one permit; the first cannot use it.
  add({.rank = 0, .gates = {"lock:l", "provider:p"}});
  add({.rank = 5, .gates = {"lock:l"}});
  add({.queue = "other", .gates = {"lock:l"}});
  claim(1, {{"other", {}}});
  EXPECT_TRUE(claim(5).empty());
  close("provider:p");
  end(3);
  const Claimed claimed = claim_records(5);
  EXPECT_TRUE(claimed.records.empty());
  EXPECT_TRUE(claimed.more);
  EXPECT_EQ(claim(5), Numbers{2});
}

TEST_F(Lanes, AnOpenedGateLetsLanesOfEveryQueueGo) {
  close("all");
  add({.queue = "a"});
  add({.queue = "b"});
  claim(1, {{"a", {}}});
  claim(1, {{"b", {}}});
  limit("all", 1);
  // Nobody serves a; the permit must not stay with it.
  std::vector<int> taken;
  for (int i = 0; i < 3 && taken.empty(); ++i) taken = claim(1, {{"b", {}}});
  EXPECT_EQ(taken, Numbers{2});
  expect_sound();
}

TEST_F(Lanes, AParkedLaneThatEmptiesGoes) {
  add({});
  close("queue:q", sut_.clock().wall() + 10s);
  claim(1);
  end(1, trigger::Cancel{"no"});
  EXPECT_EQ(gate("queue:q").waiting_lanes, 0);
  EXPECT_EQ(must(sut_->next_wake()), std::nullopt);
  expect_sound();
}

TEST_F(Lanes, AGateIsComparedAndSet) {
  limit("queue:q", 2);
  const std::int64_t revision = gate("queue:q").record.revision;
  StepGroup stale;
  stale.gates = {{.name = "queue:q", .expected_revision = revision - 1, .next = GateRecord{}, .events = {}}};
  EXPECT_EQ(must(sut_->apply(std::vector{stale})), std::vector{Applied::kConflict});
  StepGroup check;
  check.gates = {{.name = "queue:q", .expected_revision = revision, .next = std::nullopt, .events = {}}};
  EXPECT_EQ(must(sut_->apply(std::vector{check})), std::vector{Applied::kDone});
  EXPECT_EQ(gate("queue:q").record.revision, revision);
  open("queue:q");
  EXPECT_EQ(gate("queue:q").record.revision, 0);
  limit("queue:q", 2);
  EXPECT_GT(gate("queue:q").record.revision, revision) << "a revision is never used twice";
}

TEST_F(Lanes, AGatesEventsAreOfNoTask) {
  StepGroup group;
  group.gates = {{.name = "all", .expected_revision = 0, .next = std::nullopt, .events = {{"gate.closed", "{}"}}}};
  EXPECT_EQ(must(sut_->apply(std::vector{group})), std::vector{Applied::kDone});
  const Event event = must(sut_->events(0, 10)).at(0);
  EXPECT_EQ(event.name, "gate.closed");
  EXPECT_TRUE(event.task.is_nil());
}

TEST_F(Lanes, AllGatesAreShownThatAreSetOrWaitedAt) {
  limit("queue:q", 1);
  add({.gates = {"lock:l"}}, 2);
  add({.queue = "other", .gates = {"lock:l"}}, 2);
  claim(1);
  claim(5, {{"other", {}}});
  const auto gates = must(sut_->gates());
  ASSERT_EQ(gates.size(), 2U);
  EXPECT_EQ(gates[0].record.name, "lock:l");
  EXPECT_EQ(gates[0].waiting_lanes, 1);
  EXPECT_EQ(gates[0].use.in_use, 1);
  EXPECT_EQ(gates[1].record.name, "queue:q");
}

TEST_F(Lanes, ThePolicysGatesAndWeightsComeWithItsDocument) {
  GateRecord record{.name = "queue:q"};
  set_hold(record, {.source = HoldSource::kPolicy, .permits = 1});
  const std::vector<GateStep> steps{{.name = "queue:q", .expected_revision = 0, .next = record, .events = {}}};
  EXPECT_TRUE(must(sut_->put_config("{}", 0, steps, {}, {})));
  EXPECT_EQ(gate("queue:q").record.holds.size(), 1U);
  EXPECT_FALSE(must(sut_->put_config("{}", 1, steps, {}, {}))) << "the gate has moved";
  EXPECT_EQ(must(sut_->config()).version, 1);
}

TEST_F(Lanes, AFailedPartLeavesGatesAsTheyWere) {
  add({.gates = {"lock:l"}}, 1);
  StepGroup group;
  group.gates = {{.name = "lock:l", .expected_revision = 7, .next = GateRecord{}, .events = {}}};
  EXPECT_EQ(must(sut_->apply(std::vector{group})), std::vector{Applied::kConflict});
  EXPECT_EQ(claim(1), Numbers{1});
  expect_sound();
}

TEST_F(Lanes, RepairCountsAnewAndOpensEveryLane) {
  add({}, 4);
  limit("queue:q", 1);
  EXPECT_EQ(claim(4), Numbers{1});
  const auto findings = must(sut_->fsck(FsckMode::kRepair));
  EXPECT_TRUE(findings.empty());
  end(1);
  EXPECT_EQ(claim(4), Numbers{2});
}

// ---- fairness

std::map<std::string, int> owners_of(const std::vector<TaskRecord>& records) {
  std::map<std::string, int> owners;
  for (const TaskRecord& record : records) ++owners[record.task.owner];
  return owners;
}

TEST_F(Lanes, OwnersShareALimitedGateEqually) {
  for (const char* owner : {"ann", "bob", "cem"}) add({.owner = owner, .gates = {"provider:p"}}, 300);
  limit("provider:p", 2);
  std::map<std::string, int> shares;
  for (int i = 0; i < 450; ++i) {
    for (const TaskRecord& record : claim_records(2).records) {
      ++shares[record.task.owner];
      end(number_of(record));
    }
  }
  EXPECT_EQ(shares["ann"] + shares["bob"] + shares["cem"], 900);
  for (const char* owner : {"ann", "bob", "cem"}) EXPECT_EQ(shares[owner], 300) << owner;
}

TEST_F(Lanes, WhileTheyShareALimitedGateNobodyIsAhead) {
  for (const char* owner : {"ann", "bob", "cem"}) add({.owner = owner, .gates = {"provider:p"}}, 300);
  limit("provider:p", 2);
  std::map<std::string, int> shares;
  for (int i = 0; i < 150; ++i) {
    for (const TaskRecord& record : claim_records(2).records) {
      ++shares[record.task.owner];
      end(number_of(record));
    }
  }
  for (const char* owner : {"ann", "bob", "cem"}) EXPECT_NEAR(shares[owner], 100, 8) << owner;
}

TEST_F(Lanes, WeightsGiveTheirShares) {
  EXPECT_TRUE(must(sut_->put_config("{}", 0, {}, {.owners = {{"ann", 3}}, .others = 1}, {})));
  add({.owner = "ann"}, 12'000);
  add({.owner = "bob"}, 12'000);
  std::map<std::string, int> shares;
  int taken = 0;
  while (taken < 10'000) {
    for (const auto& [owner, count] : owners_of(claim_records(50).records)) {
      shares[owner] += count;
      taken += count;
    }
  }
  EXPECT_NEAR(shares["ann"], 7'500, 375);
  EXPECT_NEAR(shares["bob"], 2'500, 125);
}

TEST_F(Lanes, OneTaskBehindAHundredThousandIsInTheFirstClaim) {
  add({.owner = "ann"}, 100'000);
  claim(100);
  const int bobs = add({.owner = "bob"});
  const Numbers next = claim(10);
  EXPECT_EQ(std::ranges::count(next, bobs), 1);
}

TEST_F(Lanes, TheLastRankRunsAmongAnEndlessStreamOfTheFirst) {
  const int last = add({.rank = 9});
  int claims = 0;
  for (bool taken = false; !taken; ++claims) {
    add({.rank = 0}, 2);
    taken = std::ranges::count(claim(1), last) > 0;
    ASSERT_LT(claims, 20);
  }
  EXPECT_LE(claims, 8);
}

}  // namespace
}  // namespace drover::test
