// Concurrent callers share commits; each is answered by itself, and none can spoil another's.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <set>
#include <thread>

#include "hooks/test_hooks.h"
#include "support/printers.h"
#include "unit/store/store_fixture.h"

namespace drover::test {
namespace {

constexpr int kThreads = 8;
constexpr int kTasks = 200;

// Disarms at the end, whatever happens.
class Failpoint {
 public:
  explicit Failpoint(std::function<void(std::string_view)> handler) { set_failpoint_handler(std::move(handler)); }
  ~Failpoint() { set_failpoint_handler(nullptr); }
  Failpoint(const Failpoint&) = delete;
  Failpoint& operator=(const Failpoint&) = delete;
};

struct Crash {};

std::vector<StepGroup> adding(StoreUnderTest& sut, int number) {
  StepGroup group = group_of({first_step(new_record(number), sut.context())});
  group.capacity = Capacity{};
  return {std::move(group)};
}

class GroupCommit : public ::testing::TestWithParam<bool> {
 protected:
  GroupCommit() : sut_(GetParam() ? StoreUnderTest(dir_.file("q.db")) : StoreUnderTest()) {}

  TempDir dir_;
  StoreUnderTest sut_;
};

TEST_P(GroupCommit, EveryTaskOfManyThreadsIsStoredOnceAndAnsweredByItself) {
  std::atomic<int> done = 0;
  std::atomic<int> taken = 0;
  std::latch start(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      for (int i = 0; i < kTasks; ++i) {
        // Every tenth names a task that another thread adds, too.
        const int number = i % 10 == 9 ? 10'000 + i : t * kTasks + i;
        const Applied answer = must(sut_->apply(adding(sut_, number))).at(0);
        ++(answer == Applied::kDone ? done : taken);
        EXPECT_TRUE(answer == Applied::kDone || (answer == Applied::kIdTaken && number >= 10'000));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const int shared = kTasks / 10;
  EXPECT_EQ(done, kThreads * (kTasks - shared) + shared);
  EXPECT_EQ(taken, (kThreads - 1) * shared);

  // Nothing is lost and no number is given out twice.
  const std::vector<Event> events = must(sut_->events(0, 10'000));
  EXPECT_EQ(static_cast<int>(events.size()), done);
  std::set<TaskId> ids;
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].seq, static_cast<std::int64_t>(i + 1));
    ids.insert(events[i].task);
  }
  EXPECT_EQ(static_cast<int>(ids.size()), done);
  EXPECT_EQ(codes_of(must(sut_->fsck(FsckMode::kCheck))), std::vector<std::string>());
}

TEST_P(GroupCommit, WorkersOfManyThreadsNeverShareATask) {
  for (int i = 0; i < kTasks; ++i) sut_.add(i);
  std::mutex mutex;
  std::multiset<TaskId> claimed;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int lease = 10'000 * (t + 1);; lease += 3) {
        const std::vector<TaskRecord> got = sut_.claim(3, lease);
        if (got.empty()) return;
        const std::lock_guard lock(mutex);
        for (const TaskRecord& record : got) claimed.insert(record.task.id);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(claimed.size(), static_cast<std::size_t>(kTasks));
  EXPECT_EQ(std::set(claimed.begin(), claimed.end()).size(), static_cast<std::size_t>(kTasks));
}

TEST_P(GroupCommit, AnOperationThatDiesBeforeItsCommitLeavesNothing) {
  sut_.add(1);
  for (const char* step : {"enqueue.begin", "enqueue.before_commit"}) {
    const Failpoint crash([&](std::string_view name) {
      if (name == step) throw Crash();
    });
    EXPECT_THROW(static_cast<void>(sut_->apply(adding(sut_, 2))), Crash);
  }
  EXPECT_EQ(must(sut_->read(std::vector{id_of(2)}, Parts::kHead)).at(0), std::nullopt);
  EXPECT_EQ(must(sut_->last_event_seq()), 1);
  // The lock is free again, and numbers go on without a gap.
  sut_.add(2);
  EXPECT_EQ(must(sut_->last_event_seq()), 2);
  EXPECT_EQ(codes_of(must(sut_->fsck(FsckMode::kCheck))), std::vector<std::string>());
}

TEST_P(GroupCommit, AnOperationThatDiesAfterItsCommitIsStored) {
  const Failpoint crash([](std::string_view name) {
    if (name == "enqueue.after_commit") throw Crash();
  });
  EXPECT_THROW(static_cast<void>(sut_->apply(adding(sut_, 2))), Crash);
  EXPECT_EQ(sut_.read(id_of(2)).task.state, TaskState::kPending);
}

// A leader that dies takes its batch with it, never the store: whoever waited is told so, or was not in it and is
// served.
TEST_P(GroupCommit, ThoseWhoWaitedForALeaderThatDiesAreAnswered) {
  std::atomic<bool> armed = true;
  const Failpoint crash([&](std::string_view name) {
    if (name == "enqueue.before_commit" && armed.exchange(false)) throw Crash();
  });
  std::atomic<int> crashed = 0;
  std::atomic<int> unknown = 0;
  std::atomic<int> stored = 0;
  std::latch start(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      try {
        const auto answer = sut_->apply(adding(sut_, t));
        if (answer) {
          ++stored;
        } else {
          EXPECT_EQ(answer.error().code, ErrorCode::kStoreUnavailable);
          ++unknown;
        }
      } catch (const Crash&) {
        ++crashed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(crashed, 1);
  EXPECT_EQ(crashed + unknown + stored, kThreads);
  EXPECT_EQ(must(sut_->events(0, 100)).size(), static_cast<std::size_t>(stored));
}

INSTANTIATE_TEST_SUITE_P(Stores, GroupCommit, ::testing::Bool(),
                         [](const auto& where) { return where.param ? "File" : "Memory"; });

}  // namespace
}  // namespace drover::test
