// The fault store does what it is told, and nothing else.
#include "support/fault_store.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/printers.h"
#include "unit/store/store_fixture.h"

namespace drover::test {
namespace {

class FaultStoreTest : public ::testing::Test {
 protected:
  Result<std::vector<Applied>> add(int number) {
    return store_.apply(std::vector{group_of({first_step(new_record(number), sut_.context())})});
  }
  bool exists(int number) { return must(sut_->read(std::vector{id_of(number)}, Parts::kHead)).at(0).has_value(); }

  StoreUnderTest sut_;
  FaultStore store_{sut_.store()};
};

TEST_F(FaultStoreTest, WithoutFaultsItIsTheStore) {
  EXPECT_EQ(must(add(1)), std::vector{Applied::kDone});
  EXPECT_EQ(must(store_.read(std::vector{id_of(1)}, Parts::kAll)).at(0), sut_.read(id_of(1)));
  EXPECT_EQ(must(store_.last_event_seq()), 1);
  EXPECT_EQ(store_.calls(StoreCall::kApply), 1);
  EXPECT_EQ(store_.calls(StoreCall::kClaim), 0);
}

TEST_F(FaultStoreTest, AFailureBeforeLeavesNothing) {
  store_.script(StoreCall::kApply, {StoreFault::Kind::kFailBefore, {ErrorCode::kDiskFull, "full", "test"}});
  EXPECT_EQ(code_of(add(1)), ErrorCode::kDiskFull);
  EXPECT_FALSE(exists(1));
  EXPECT_EQ(must(add(1)), std::vector{Applied::kDone});
}

TEST_F(FaultStoreTest, ALostAnswerHasTakenEffect) {
  store_.script(StoreCall::kApply, {StoreFault::Kind::kLoseAnswer});
  EXPECT_EQ(code_of(add(1)), ErrorCode::kStoreUnavailable);
  EXPECT_TRUE(exists(1));
  EXPECT_EQ(must(add(1)), std::vector{Applied::kIdTaken});
}

TEST_F(FaultStoreTest, AConflictIsAnAnswerAndWritesNothing) {
  store_.script(StoreCall::kApply, {StoreFault::Kind::kConflict});
  EXPECT_EQ(must(add(1)), std::vector{Applied::kConflict});
  EXPECT_FALSE(exists(1));
}

TEST_F(FaultStoreTest, ScriptsSkipAndRepeat) {
  store_.script(StoreCall::kApply, {StoreFault::Kind::kFailBefore}, 2, 1);
  EXPECT_TRUE(add(1).has_value());
  EXPECT_FALSE(add(2).has_value());
  EXPECT_FALSE(add(2).has_value());
  EXPECT_TRUE(add(2).has_value());
  store_.script(StoreCall::kClaim, {StoreFault::Kind::kFailBefore}, 100);
  store_.heal();
  EXPECT_TRUE(store_.claim({.serves = {{"build", {}}}, .n = 1}, std::vector{lease_of(1)}, std::nullopt).has_value());
}

TEST_F(FaultStoreTest, TheSameSeedGivesTheSameFaults) {
  const auto run = [&](std::uint64_t seed) {
    store_.randomise(seed, {.fail_before = 0.3, .lose_answer = 0.2});
    std::string trace;
    for (int i = 0; i < 50; ++i) trace += store_.now().has_value() ? '.' : 'x';
    return trace;
  };
  const std::string first = run(7);
  EXPECT_EQ(run(7), first);
  EXPECT_NE(run(8), first);
  const auto faults = std::ranges::count(first, 'x');
  EXPECT_GT(faults, 10);
  EXPECT_LT(faults, 40);
}

}  // namespace
}  // namespace drover::test
