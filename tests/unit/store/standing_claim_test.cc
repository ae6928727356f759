// A claim that is left with the store: the commit of a task carries its start.
#include <gtest/gtest.h>

#include "hooks/test_hooks.h"
#include "support/printers.h"
#include "unit/store/store_fixture.h"

namespace drover::test {
namespace {

constexpr Millis kLease{30'000};

class StandingClaims : public ::testing::TestWithParam<bool> {
 protected:
  StandingClaims() : sut_(GetParam() ? StoreUnderTest(dir_.file("q.db")) : StoreUnderTest()) {}
  ~StandingClaims() override { set_failpoint_handler(nullptr); }

  std::unique_ptr<StandingClaim<TaskRecord>> leave_claim(int n, const std::string& queue, int first_lease = 1) {
    std::vector<LeaseId> leases;
    for (int i = 0; i < n; ++i) leases.push_back(lease_of(first_lease + i));
    const ClaimRequest request{.worker_id = "host:1:w", .serves = {{queue, std::nullopt}}, .n = n, .lease = kLease};
    return must(sut_->leave_claim(request, leases, std::nullopt, [this] { ++answers_; }));
  }

  TempDir dir_;
  StoreUnderTest sut_;
  int answers_ = 0;
};

TEST_P(StandingClaims, TheCommitOfATaskStartsIt) {
  const auto claim = leave_claim(2, "build");
  std::vector<std::string> steps;
  set_failpoint_handler([&](std::string_view name) { steps.emplace_back(name); });
  sut_.add(1);
  EXPECT_EQ(steps, (std::vector<std::string>{"enqueue.begin", "claim.begin", "enqueue.before_commit",
                                             "claim.before_commit", "enqueue.after_commit", "claim.after_commit"}))
      << "one commit for both";
  EXPECT_EQ(answers_, 1);
  ASSERT_TRUE(claim->is_answered());
  const auto taken = must(claim->withdraw());
  ASSERT_EQ(taken.tasks.size(), 1U);
  EXPECT_EQ(taken.tasks[0].lease, lease_of(1));
  EXPECT_EQ(taken.tasks[0].revision, sut_.read(id_of(1)).revision);
  EXPECT_EQ(sut_.read(id_of(1)).task.state, TaskState::kRunning);
  EXPECT_EQ(codes_of(must(sut_->fsck(FsckMode::kCheck))), std::vector<std::string>());
}

TEST_P(StandingClaims, TheLeaseCountsFromTheCommitAndNotFromWhenItIsAskedFor) {
  const auto claim = leave_claim(1, "build");
  sut_.clock().advance(Millis{60'000});
  sut_.add(1);
  sut_.clock().advance(Millis{10'000});
  EXPECT_EQ(must(claim->withdraw()).lease_left, kLease - Millis{10'000});
  sut_.clock().advance(kLease - Millis{10'001});
  EXPECT_TRUE(must(sut_->lapsed(std::nullopt, 10)).empty());
  sut_.clock().advance(Millis{1});
  EXPECT_EQ(must(sut_->lapsed(std::nullopt, 10)).size(), 1U);
}

TEST_P(StandingClaims, OfTwoOneGetsTheTask) {
  const auto first = leave_claim(1, "build", 1);
  const auto second = leave_claim(1, "build", 2);
  sut_.add(1);
  EXPECT_TRUE(first->is_answered());
  EXPECT_FALSE(second->is_answered());
  sut_.add(2);
  EXPECT_EQ(must(second->withdraw()).tasks.at(0).task.id, id_of(2));
  EXPECT_EQ(must(first->withdraw()).tasks.at(0).task.id, id_of(1));
}

TEST_P(StandingClaims, OneThatServesAnotherQueueGoesOnStanding) {
  const auto claim = leave_claim(1, "other");
  sut_.add(1);
  EXPECT_FALSE(claim->is_answered());
  EXPECT_TRUE(must(claim->withdraw()).tasks.empty());
  EXPECT_EQ(sut_.read(id_of(1)).task.state, TaskState::kPending);
}

TEST_P(StandingClaims, OneThatIsGoneTakesNothing) {
  leave_claim(1, "build").reset();
  sut_.add(1);
  EXPECT_EQ(sut_.read(id_of(1)).task.state, TaskState::kPending);
}

struct Crash {};

// Nobody learns of a start that is not committed, and the task is not there either.
TEST_P(StandingClaims, WhatDiesBeforeTheCommitLeavesNeitherTaskNorLease) {
  const auto claim = leave_claim(1, "build");
  set_failpoint_handler([](std::string_view name) {
    if (name == "claim.before_commit") throw Crash();
  });
  EXPECT_THROW(sut_.add(1), Crash);
  set_failpoint_handler(nullptr);
  EXPECT_FALSE(claim->withdraw().has_value());
  EXPECT_EQ(must(sut_->read(std::vector{id_of(1)}, Parts::kHead)).at(0), std::nullopt);
  sut_.add(1);
  EXPECT_EQ(sut_.read(id_of(1)).task.state, TaskState::kPending);
  EXPECT_EQ(codes_of(must(sut_->fsck(FsckMode::kCheck))), std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(Stores, StandingClaims, ::testing::Bool(),
                         [](const auto& where) { return where.param ? "File" : "Memory"; });

}  // namespace
}  // namespace drover::test
