#include "net/call_pool.h"

#include <gtest/gtest.h>

#include <latch>
#include <semaphore>

namespace drover {
namespace {

TEST(CallPoolTest, OneThreadRunsCallsInOrder) {
  std::vector<int> order;
  std::latch done(3);
  CallPool pool(1);
  for (int i = 0; i < 3; ++i) {
    pool.post([&, i] {
      order.push_back(i);
      done.count_down();
    });
  }
  done.wait();
  EXPECT_EQ(order, (std::vector{0, 1, 2}));
}

TEST(CallPoolTest, NoCallWaitsForAnotherWhileThereMayBeMoreThreads) {
  std::latch all_run(3);
  CallPool pool(3);
  for (int i = 0; i < 3; ++i) pool.post([&] { all_run.arrive_and_wait(); });
  all_run.wait();
}

TEST(CallPoolTest, RefusesWhatIsTooMuch) {
  std::binary_semaphore has_begun{0};
  std::binary_semaphore go{0};
  CallPool pool(1, 1);
  ASSERT_TRUE(pool.submit([&] {
    has_begun.release();
    go.acquire();
  }));
  has_begun.acquire();
  EXPECT_TRUE(pool.submit([] {}));
  EXPECT_FALSE(pool.submit([] {}));
  go.release();
}

}  // namespace
}  // namespace drover
