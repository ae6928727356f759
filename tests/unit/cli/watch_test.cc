#include "cli/watch.h"

#include <gtest/gtest.h>

#include <csignal>

#include "engine/open.h"
#include "support/must.h"
#include "support/printers.h"

namespace drover::cli {
namespace {

using test::code_of;
using test::must;

class WatchTest : public testing::Test {
 protected:
  TaskId enqueue() {
    TaskSpec spec;
    spec.type = "t";
    return must(queue().enqueue_one(spec)).id;
  }
  TaskQueue& queue() { return opened_->queue(); }

  std::unique_ptr<OpenedQueue> opened_ = must(open_queue("memory:"));
};

TEST_F(WatchTest, LooksAgainAfterEveryChange) {
  const TaskId id = enqueue();
  int looks = 0;
  const auto end = watch(queue(), std::nullopt, [&]() -> Result<Seen> {
    const Task task = must(queue().get(id));
    if (++looks == 1) must(queue().cancel(id, "seen"));
    return is_terminal(task.state) ? Seen::kDone : Seen::kNotYet;
  });
  EXPECT_EQ(must(end), WatchEnd::kDone);
  EXPECT_EQ(looks, 2);
}

TEST_F(WatchTest, SaysAtItsTimeThatItCannotSee) {
  int looks = 0;
  const auto look = [&]() -> Result<Seen> {
    if (++looks == 1) return Seen::kNotYet;
    return fail(ErrorCode::kStoreUnavailable, "nobody answers");
  };
  EXPECT_EQ(code_of(watch(queue(), Millis{5}, look)), ErrorCode::kStoreUnavailable);
}

TEST_F(WatchTest, EndsWhenItIsToldTo) {
  const auto never = []() -> Result<Seen> { return Seen::kNotYet; };
  EXPECT_EQ(must(watch(queue(), std::nullopt, never, [] { return true; })), WatchEnd::kDone);
}

TEST_F(WatchTest, EndsOnASignalAndPassesItOn) {
  StopSignal worker;
  const auto never = []() -> Result<Seen> { return Seen::kNotYet; };
  {
    const Interrupts interrupts({&worker});
    EXPECT_EQ(Interrupts::count(), 0);
    ASSERT_EQ(std::raise(SIGINT), 0);
    EXPECT_EQ(must(watch(queue(), std::nullopt, never)), WatchEnd::kInterrupted);
    ASSERT_EQ(std::raise(SIGTERM), 0);
    EXPECT_EQ(Interrupts::count(), 2);
  }
  EXPECT_EQ(worker.requests(), 2);
  // What was before is there again.
  struct sigaction now{};
  ASSERT_EQ(::sigaction(SIGINT, nullptr, &now), 0);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

}  // namespace
}  // namespace drover::cli
