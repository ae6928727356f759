// The lock between processes: exclusive, bounded, and fair to those who wait.
#include "store/sqlite/file_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "support/must.h"
#include "support/printers.h"
#include "support/temp_dir.h"

namespace drover::sqlite {
namespace {

using std::chrono::steady_clock;

// Locks belong to open files: two of them in one process exclude each other as two processes would.
class FileLockTest : public ::testing::Test {
 protected:
  FileLockTest() {
    test::must(one_.open(dir_.file("lock")));
    test::must(two_.open(dir_.file("lock")));
  }

  test::TempDir dir_;
  FileLock one_;
  FileLock two_;
};

TEST_F(FileLockTest, ExcludesAndGivesUpInTime) {
  ASSERT_TRUE(one_.lock(Millis(0)).has_value());
  const auto start = steady_clock::now();
  EXPECT_EQ(test::code_of(two_.lock(Millis(50))), ErrorCode::kStoreUnavailable);
  EXPECT_GE(steady_clock::now() - start, Millis(50));
  one_.unlock();
  EXPECT_TRUE(two_.lock(Millis(0)).has_value());
  two_.unlock();
}

TEST_F(FileLockTest, GivingUpLeavesNothingBehind) {
  ASSERT_TRUE(one_.lock(Millis(0)).has_value());
  EXPECT_FALSE(two_.lock(Millis(1)).has_value());
  one_.unlock();
  EXPECT_TRUE(one_.lock(Millis(0)).has_value());
}

TEST_F(FileLockTest, OneThatLetsGoAndComesBackAtOnceDoesNotStarveTheOther) {
  std::atomic<bool> stop = false;
  std::atomic<int> holds = 0;
  std::mutex mutex;
  std::condition_variable held;
  std::thread hog([&] {
    while (!stop) {
      ASSERT_TRUE(one_.lock(Millis(10'000)).has_value());
      ++holds;
      held.notify_all();
      // Holds it for long, as a leader with full batches does.
      const auto end = steady_clock::now() + Millis(5);
      while (steady_clock::now() < end && !stop) std::this_thread::yield();
      one_.unlock();
    }
  });
  for (int i = 0; i < 10; ++i) {
    const int before = holds;
    std::unique_lock lock(mutex);
    held.wait_for(lock, Millis(10'000), [&] { return holds > before; });
    const int at_start = holds;
    ASSERT_TRUE(two_.lock(Millis(10'000)).has_value());
    EXPECT_LE(holds - at_start, 3) << "overtaken again and again";
    two_.unlock();
  }
  stop = true;
  hog.join();
}

}  // namespace
}  // namespace drover::sqlite
