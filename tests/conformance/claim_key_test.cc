// Claims with a key: one whose answer was lost is sent again, and gets the same tasks.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

class ClaimKey : public ConformanceTest {
 protected:
  static constexpr auto kWorker = "host:1:a";

  void SetUp() override { register_worker(kWorker); }
  void register_worker(const std::string& id) {
    must(queue().register_worker({.id = id, .version = "1", .serves = {{.queue = "work"}}, .capacity = 8}));
  }
  static ClaimRequest request(const std::string& key, int n = 2, const std::string& worker = kWorker) {
    return {.worker_id = worker, .serves = {{.queue = "work"}}, .n = n, .lease = kLease, .claim_key = key};
  }
  std::vector<ClaimedTask> claim_keyed(const std::string& key, int n = 2, const std::string& worker = kWorker) {
    return must(queue().claim(request(key, n, worker)));
  }
  void enqueue_many(int n) {
    for (int i = 0; i < n; ++i) enqueue({.type = "work", .payload = fmt::format(R"({{"n":{}}})", i)});
  }
  static std::vector<Lease> leases_of(const std::vector<ClaimedTask>& claimed) {
    std::vector<Lease> leases;
    for (const ClaimedTask& task : claimed) leases.push_back(task.lease);
    return leases;
  }
};
ON_EVERY_STORE(ClaimKey);

TEST_P(ClaimKey, ARepeatGetsTheSameTasksWhole) {
  enqueue_many(4);
  const auto first = claim_keyed("k1");
  ASSERT_EQ(first.size(), 2U);
  const auto again = claim_keyed("k1");
  ASSERT_EQ(leases_of(again), leases_of(first));
  EXPECT_EQ(again[0].task, first[0].task);
  EXPECT_EQ(again[1].task.payload, first[1].task.payload);
  EXPECT_EQ(must(queue().backlog(std::vector<Serve>{{.queue = "work"}})).running, 2);
  EXPECT_EQ(complete(again[0].lease), TaskState::kCompleted);
}

TEST_P(ClaimKey, AnotherKeyTakesOthers) {
  enqueue_many(4);
  const auto first = claim_keyed("k1");
  const auto second = claim_keyed("k2");
  EXPECT_EQ(second.size(), 2U);
  EXPECT_NE(leases_of(second), leases_of(first));
  EXPECT_EQ(leases_of(claim_keyed("k2")), leases_of(second));
}

TEST_P(ClaimKey, ARepeatRenewsTheLeases) {
  enqueue_many(1);
  const auto first = claim_keyed("k1");
  pass(kLease - 1ms);
  ASSERT_EQ(leases_of(claim_keyed("k1")), leases_of(first));
  pass(kLease - 1ms);
  EXPECT_EQ(state(first[0].task.id), TaskState::kRunning);
  pass(1ms);
  EXPECT_EQ(state(first[0].task.id), TaskState::kStalled);
}

TEST_P(ClaimKey, ARepeatGetsWhatStillLives) {
  enqueue_many(3);
  const auto first = claim_keyed("k1", 3);
  ASSERT_EQ(first.size(), 3U);
  complete(first[0].lease);
  release(first[1].lease);
  EXPECT_EQ(leases_of(claim_keyed("k1", 3)), std::vector{first[2].lease});
}

// A request that was on its way for long must not take tasks that nobody will work on.
TEST_P(ClaimKey, AKeyWhoseTasksHaveEndedTakesNothing) {
  enqueue_many(3);
  const auto first = claim_keyed("k1", 1);
  complete(first.at(0).lease);
  EXPECT_TRUE(claim_keyed("k1", 1).empty());
  const auto second = claim_keyed("k2", 1);
  ASSERT_EQ(second.size(), 1U);
  lose(second[0].lease);
  EXPECT_TRUE(claim_keyed("k2", 1).empty());
}

TEST_P(ClaimKey, AClaimThatTookNothingIsNotRemembered) {
  EXPECT_TRUE(claim_keyed("k1").empty());
  enqueue_many(1);
  EXPECT_EQ(claim_keyed("k1").size(), 1U);
}

TEST_P(ClaimKey, AnEmptyClaimLeavesTheOneBeforeIt) {
  enqueue_many(1);
  const auto first = claim_keyed("k1");
  EXPECT_TRUE(claim_keyed("k2").empty());
  EXPECT_EQ(leases_of(claim_keyed("k1")), leases_of(first));
}

TEST_P(ClaimKey, IsTheWorkersOwn) {
  register_worker("host:1:b");
  enqueue_many(2);
  const auto first = claim_keyed("k1", 1);
  const auto other = claim_keyed("k1", 1, "host:1:b");
  ASSERT_EQ(other.size(), 1U);
  EXPECT_NE(other[0].task.id, first.at(0).task.id);
}

TEST_P(ClaimKey, NeedsARegisteredWorker) {
  enqueue_many(1);
  EXPECT_EQ(code_of(queue().claim(request("k1", 1, "host:1:nobody"))), ErrorCode::kUnknownWorker);
  EXPECT_EQ(state(all_tasks().at(0).id), TaskState::kPending);
}

TEST_P(ClaimKey, IsForgottenWithTheWorker) {
  enqueue_many(2);
  const auto first = claim_keyed("k1", 1);
  must(queue().unregister_worker(kWorker, "gone"));
  register_worker(kWorker);
  const auto again = claim_keyed("k1", 1);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_NE(again[0].lease, first.at(0).lease);
}

TEST_P(ClaimKey, SurvivesARegistrationAndAnotherProgram) {
  enqueue_many(1);
  const auto first = claim_keyed("k1");
  register_worker(kWorker);
  reopen();
  EXPECT_EQ(leases_of(claim_keyed("k1")), leases_of(first));
}

TEST_P(ClaimKey, ARepeatThatAsksForLessGetsAll) {
  enqueue_many(3);
  const auto first = claim_keyed("k1", 3);
  EXPECT_EQ(leases_of(claim_keyed("k1", 1)), leases_of(first));
}

TEST_P(ClaimKey, ARepeatIsToldOfACancelByItsNextBeat) {
  enqueue_many(1);
  const auto first = claim_keyed("k1");
  cancel(first.at(0).task.id);
  const auto again = claim_keyed("k1");
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(renew(again[0].lease), LeaseState::kCancelRequested);
}

TEST_P(ClaimKey, WhatThePolicyRefusesMakesWayForOthers) {
  enqueue({.type = "old", .queue = "work"});
  const TaskId good = enqueue_work();
  apply_config(R"({"types":{"work":{}},"types_closed":true})");
  const auto claimed = claim_keyed("k1", 1);
  ASSERT_EQ(claimed.size(), 1U);
  EXPECT_EQ(claimed[0].task.id, good);
  EXPECT_EQ(leases_of(claim_keyed("k1", 1)), leases_of(claimed));
}

TEST_P(ClaimKey, AKeyIsAName) {
  for (const std::string& key : {std::string(), std::string("a b"), std::string(129, 'k')}) {
    EXPECT_EQ(code_of(queue().claim(request(key))), ErrorCode::kInvalidArgument) << key;
  }
}

}  // namespace
}  // namespace drover::test
