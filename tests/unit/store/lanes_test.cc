// Which lane is next: rank, owner, head; every eighth from the oldest; several lines; reserved slots.
#include "unit/store/lanes_fixture.h"

#include <map>

namespace drover::test {
namespace {

using Numbers = std::vector<int>;

TEST_F(Lanes, InALaneTheSmallestPlaceIsFirst) {
  add({}, 3);
  EXPECT_EQ(claim(2), (Numbers{1, 2}));
  end(2, trigger::Release{});
  EXPECT_EQ(claim(5), (Numbers{2, 3}));
}

TEST_F(Lanes, ABetterRankIsFirst) {
  add({.rank = 5});
  add({.rank = 2});
  add({.rank = 9});
  EXPECT_EQ(claim(3), (Numbers{2, 1, 3}));
}

TEST_F(Lanes, OwnersOfARankTakeTurns) {
  add({.owner = "ann"}, 20);
  add({.owner = "bob"}, 20);
  std::map<std::string, int> shares;
  for (int i = 0; i < 20; ++i) ++shares[claim_records(1).records.at(0).task.owner];
  EXPECT_EQ(shares["ann"], 10);
  EXPECT_EQ(shares["bob"], 10);
}

TEST_F(Lanes, OfOneOwnerTheOldestHeadIsFirst) {
  add({.type = "y"});
  add({.type = "x"});
  add({.type = "z"});
  EXPECT_EQ(claim(3), (Numbers{1, 2, 3}));
}

TEST_F(Lanes, EveryEighthTaskIsOfTheLaneThatWaitedLongest) {
  add({.rank = 9}, 3);
  add({.rank = 0}, 30);
  const Numbers order = claim(20);
  EXPECT_EQ(order, (Numbers{4, 5, 6, 7, 8, 9, 10, 1, 11, 12, 13, 14, 15, 16, 17, 2, 18, 19, 20, 21}));
}

TEST_F(Lanes, ALaneThatIsAloneIsTakenWhole) {
  add({}, 100);
  EXPECT_EQ(claim(100).size(), 100U);
  EXPECT_EQ(meter_.lanes_visited, 1);
}

TEST_F(Lanes, AnOwnerThatWasIdleGetsNoCredit) {
  add({.owner = "ann"}, 30);
  EXPECT_EQ(claim(20).size(), 20U);
  add({.owner = "bob"}, 30);
  std::map<std::string, int> shares;
  for (int i = 0; i < 16; ++i) ++shares[claim_records(1).records.at(0).task.owner];
  // What ann has had before bob came counts for nothing but its last turn.
  EXPECT_GE(shares["ann"], 1);
  EXPECT_LE(shares["ann"], 8);
}

TEST_F(Lanes, OneTypeOfAQueueHasItsOwnLine) {
  add({.type = "x"}, 2);
  add({.type = "y"}, 2);
  EXPECT_EQ(claim(5, {{"q", "y"}}), (Numbers{3, 4}));
  EXPECT_EQ(claim(5), (Numbers{1, 2}));
}

TEST_F(Lanes, OfSeveralLinesTheBestRankThenTheOneThatWaitedLongest) {
  add({.queue = "a"}, 4);
  add({.queue = "b"}, 4);
  add({.queue = "b", .rank = 1});
  const std::vector<Serve> serves{{"a", {}}, {"b", {}}};
  EXPECT_EQ(claim(1, serves), Numbers{9});
  EXPECT_EQ(claim(1, serves), Numbers{1});
  EXPECT_EQ(claim(1, serves), Numbers{5});
  EXPECT_EQ(claim(1, serves), Numbers{2});
}

TEST_F(Lanes, EveryEighthVisitIsOfTheLineThatWaitedLongestWhateverItsRank) {
  add({.queue = "a", .rank = 9}, 2);
  add({.queue = "b", .rank = 0}, 20);
  Numbers order;
  for (int i = 0; i < 16; ++i) order.push_back(claim(1, {{"a", {}}, {"b", {}}}).at(0));
  EXPECT_EQ(order, (Numbers{3, 4, 5, 6, 7, 8, 9, 1, 10, 11, 12, 13, 14, 15, 16, 2}));
}

TEST_F(Lanes, ReservedSlotsAreForUrgentTasks) {
  add({.rank = 5}, 5);
  add({.rank = 0}, 2);
  const ReservedSlots reserved{.rank = 0, .n_others = 1};
  EXPECT_EQ(claim(4, {{"q", {}}}, reserved), (Numbers{6, 7, 1}));
  EXPECT_EQ(claim(4, {{"q", {}}}, ReservedSlots{.rank = 0, .n_others = 0}), Numbers());
  EXPECT_EQ(claim(4), (Numbers{2, 3, 4, 5}));
}

TEST_F(Lanes, WhenTheOldestLaneIsNotForThisSlotTheFirstIsTakenInstead) {
  add({.rank = 9}, 2);
  add({.rank = 0}, 20);
  EXPECT_EQ(claim(7).size(), 7U);
  EXPECT_EQ(claim(3, {{"q", {}}}, ReservedSlots{.rank = 0, .n_others = 0}), (Numbers{10, 11, 12}));
}

TEST_F(Lanes, CancelledTasksLeaveTheirLaneAndAnEmptyLaneGoes) {
  add({}, 3);
  end(1, trigger::Cancel{"no"});
  EXPECT_EQ(must(sut_->lane_position(id(1))), std::nullopt);
  EXPECT_EQ(must(sut_->lane_position(id(3)))->ahead, 1);
  end(2, trigger::Cancel{"no"});
  end(3, trigger::Cancel{"no"});
  EXPECT_TRUE(claim(1).empty());
  expect_sound();
}

TEST_F(Lanes, AClaimIsAlsoStoppedByItsVisits) {
  for (int i = 0; i < 100; ++i) add({.owner = "o" + std::to_string(i)});
  const Claimed first = claim_records(100);
  EXPECT_EQ(first.records.size(), 64U);
  EXPECT_TRUE(first.more);
  const Claimed second = claim_records(100);
  EXPECT_EQ(second.records.size(), 36U);
  EXPECT_FALSE(second.more);
}

TEST_F(Lanes, QueuesAreCounted) {
  add({.queue = "b"}, 3);
  add({.queue = "a"}, 2);
  claim(1, {{"b", {}}});
  const auto queues = must(sut_->queues());
  ASSERT_EQ(queues.size(), 2U);
  EXPECT_EQ(queues[0].name, "a");
  EXPECT_EQ(queues[1].tasks[static_cast<std::size_t>(TaskState::kPending)], 2);
  EXPECT_EQ(queues[1].tasks[static_cast<std::size_t>(TaskState::kRunning)], 1);
}

TEST_F(Lanes, AFullQueueTakesNoMoreThoughOthersDo) {
  add({.queue = "a"}, 2);
  Capacity capacity;
  capacity.waiting_per_queue_max = {{"a", 2}};
  const auto try_in = [&](const std::string& queue) {
    TaskRecord record = new_record(900 + static_cast<int>(queue[0]));
    record.task.queue = queue;
    return must(sut_.try_add({record}, capacity)).at(0);
  };
  EXPECT_EQ(try_in("a"), Applied::kQueueFull);
  EXPECT_EQ(try_in("b"), Applied::kDone);
}

}  // namespace
}  // namespace drover::test
