#include "store/redis/combined_calls.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <semaphore>
#include <thread>

namespace drover::redis {
namespace {

std::vector<StepGroup> groups_of(std::size_t n) {
  return std::vector<StepGroup>(n);
}

TEST(CombinedCallsTest, ACallerAloneSendsAtOnce) {
  std::vector<std::int64_t> sent;
  CombinedCalls calls([&](std::int64_t groups, const Pack&) {
    sent.push_back(groups);
    return Result<std::vector<Applied>>(std::vector<Applied>(static_cast<std::size_t>(groups), Applied::kConflict));
  });
  EXPECT_EQ(calls.apply(groups_of(3)), (std::vector<Applied>(3, Applied::kConflict)));
  EXPECT_EQ(sent, (std::vector<std::int64_t>{3}));
}

// Two calls are under way and held; whoever comes meanwhile goes together, and each gets its own verdicts.
TEST(CombinedCallsTest, WhoComesWhileCallsAreUnderWayGoesTogether) {
  constexpr int kLate = 5;
  std::counting_semaphore<8> let_go(0);
  std::latch held(2);
  std::mutex mutex;
  std::vector<std::int64_t> sent;
  CombinedCalls calls([&](std::int64_t groups, const Pack&) -> Result<std::vector<Applied>> {
    bool is_early = false;
    {
      const std::lock_guard lock(mutex);
      sent.push_back(groups);
      is_early = sent.size() <= 2;
    }
    if (is_early) {
      held.count_down();
      let_go.acquire();
    }
    std::vector<Applied> verdicts(static_cast<std::size_t>(groups), Applied::kDone);
    if (!is_early) verdicts.back() = Applied::kQueueFull;  // only the last caller's last group
    return verdicts;
  });
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back([&] { EXPECT_TRUE(calls.apply(groups_of(1))); });
  held.wait();
  std::atomic<int> full = 0;
  for (int i = 0; i < kLate; ++i) {
    threads.emplace_back([&] {
      const auto verdicts = calls.apply(groups_of(2));
      ASSERT_TRUE(verdicts);
      ASSERT_EQ(verdicts->size(), 2U);
      full += verdicts->back() == Applied::kQueueFull ? 1 : 0;
    });
  }
  while (calls.waiting() < kLate) std::this_thread::yield();
  let_go.release(2);
  threads.clear();
  EXPECT_EQ(sent, (std::vector<std::int64_t>{1, 1, 2 * kLate}));
  EXPECT_EQ(full, 1);
}

TEST(CombinedCallsTest, AFailureIsEverybodys) {
  CombinedCalls calls([](std::int64_t, const Pack&) -> Result<std::vector<Applied>> {
    return fail(ErrorCode::kStoreUnavailable, "gone");
  });
  const auto verdicts = calls.apply(groups_of(1));
  ASSERT_FALSE(verdicts);
  EXPECT_EQ(verdicts.error().code, ErrorCode::kStoreUnavailable);
}

}  // namespace
}  // namespace drover::redis
