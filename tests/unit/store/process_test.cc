// Several processes on one file: the lock, the bell, and what a death or a freeze at each step leaves behind.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>

#include "support/printers.h"
#include "unit/store/forked.h"
#include "unit/store/store_fixture.h"

namespace drover::test {
namespace {

using std::chrono::steady_clock;

std::unique_ptr<Store> open_file_at(const std::string& path, Millis lock_wait = Millis(8'000)) {
  SqliteOptions options;
  options.path = path;
  options.ballast_bytes = kNoBallast;
  options.lock_wait = lock_wait;
  options.busy_wait = Millis(200);
  // A killed process loses nothing by it; only a power cut would.
  options.synchronous = SqliteOptions::Synchronous::kNormal;
  return must(open_sqlite(std::move(options)));
}

Result<std::vector<Applied>> add(Store& store, int number) {
  StepGroup group = group_of({first_step(new_record(number), {.now = must(store.now())})});
  group.capacity = Capacity{};
  return store.apply(std::vector{std::move(group)});
}

bool exists(Store& store, int number) {
  return must(store.read(std::vector{id_of(number)}, Parts::kHead)).at(0).has_value();
}

class Processes : public ::testing::Test {
 protected:
  TempDir dir_;
  std::string path_ = dir_.file("q.db");
};

TEST_F(Processes, OneFrozenInsideTheLockMakesTheOthersAnswerUnavailable) {
  open_file_at(path_).reset();
  Child frozen([&] {
    const auto store = open_file_at(path_);
    die_at("enqueue.before_commit", SIGSTOP);
    EXPECT_EQ(must(add(*store, 1)), std::vector{Applied::kDone});
  });
  ASSERT_TRUE(frozen.waits_stopped());

  const auto store = open_file_at(path_, Millis(300));
  const auto start = steady_clock::now();
  EXPECT_EQ(code_of(add(*store, 2)), ErrorCode::kStoreUnavailable);
  const auto waited = steady_clock::now() - start;
  EXPECT_GE(waited, Millis(300));
  EXPECT_LT(waited, Millis(3'000));
  // Reading goes on meanwhile.
  EXPECT_EQ(must(store->last_event_seq()), 0);

  frozen.send(SIGCONT);
  EXPECT_EQ(frozen.end(), 0);
  EXPECT_EQ(must(add(*store, 2)), std::vector{Applied::kDone});
  EXPECT_TRUE(exists(*store, 1));
}

TEST_F(Processes, OneKilledInsideTheLockHoldsNobodyUp) {
  const auto store = open_file_at(path_, Millis(1'000));
  for (const char* step : {"enqueue.begin", "enqueue.before_commit"}) {
    Child killed([&] {
      const auto own = open_file_at(path_);
      die_at(step, SIGKILL);
      static_cast<void>(add(*own, 1));
    });
    EXPECT_EQ(killed.end(), -SIGKILL);
    EXPECT_FALSE(exists(*store, 1)) << step;
  }
  EXPECT_EQ(must(add(*store, 2)), std::vector{Applied::kDone});
  EXPECT_EQ(must(store->last_event_seq()), 1);
  EXPECT_EQ(codes_of(must(store->fsck(FsckMode::kCheck))), std::vector<std::string>());
}

TEST_F(Processes, WhatOneCommittedBeforeItWasKilledIsThere) {
  Child killed([&] {
    const auto own = open_file_at(path_);
    die_at("enqueue.after_commit", SIGKILL);
    static_cast<void>(add(*own, 1));
  });
  EXPECT_EQ(killed.end(), -SIGKILL);
  const auto store = open_file_at(path_);
  EXPECT_TRUE(exists(*store, 1));
  EXPECT_EQ(codes_of(must(store->fsck(FsckMode::kCheck))), std::vector<std::string>());
}

TEST_F(Processes, ManyWriteAtOnceAndNothingIsLost) {
  constexpr int kEach = 100;
  const auto store = open_file_at(path_);
  {
    std::vector<std::unique_ptr<Child>> children;
    for (int c = 0; c < 4; ++c) {
      children.push_back(std::make_unique<Child>([&, c] {
        const auto own = open_file_at(path_);
        for (int i = 0; i < kEach; ++i) EXPECT_EQ(must(add(*own, c * kEach + i)), std::vector{Applied::kDone});
      }));
    }
    for (const auto& child : children) EXPECT_EQ(child->end(), 0);
  }
  const auto events = must(store->events(0, 10'000));
  ASSERT_EQ(events.size(), 4U * kEach);
  EXPECT_EQ(events.back().seq, 4 * kEach);
  EXPECT_EQ(codes_of(must(store->fsck(FsckMode::kCheck))), std::vector<std::string>());
}

TEST_F(Processes, ManyMakeTheSameStoreAtOnce) {
  std::vector<std::unique_ptr<Child>> children;
  for (int c = 0; c < 6; ++c) {
    children.push_back(std::make_unique<Child>([&, c] {
      const auto own = open_file_at(path_);
      EXPECT_EQ(must(add(*own, c)), std::vector{Applied::kDone});
    }));
  }
  for (const auto& child : children) EXPECT_EQ(child->end(), 0);
  EXPECT_EQ(must(open_file_at(path_)->last_event_seq()), 6);
}

TEST_F(Processes, AnotherProgramThatHoldsTheDatabaseIsWaitedForWithinBounds) {
  const auto store = open_file_at(path_);
  ASSERT_TRUE(add(*store, 1).has_value());
  RawDatabase other(path_);
  other.run("BEGIN IMMEDIATE");
  EXPECT_EQ(code_of(add(*store, 2)), ErrorCode::kStoreUnavailable);
  EXPECT_TRUE(exists(*store, 1));
  other.run("COMMIT");
  EXPECT_EQ(must(add(*store, 2)), std::vector{Applied::kDone});
}

// Waits until the store has changed since `seen`; true if it has within the bound.
bool changed(Store& store, std::uint64_t seen, Millis bound) {
  const auto end = steady_clock::now() + bound;
  while (store.changes() == seen) {
    const auto left = std::chrono::ceil<Millis>(end - steady_clock::now());
    if (left <= Millis(0)) return false;
    store.wait_for_change(seen, left);
  }
  return true;
}

TEST_F(Processes, TheBellWakesTheOthersLongBeforeTheyWouldLook) {
  constexpr int kRounds = 15;
  open_file_at(path_).reset();
  Pipe go;
  Child ringer([&] {
    const auto own = open_file_at(path_);
    for (int i = 0; i < kRounds; ++i) {
      go.hear();
      EXPECT_EQ(must(add(*own, i)), std::vector{Applied::kDone});
    }
  });
  const auto store = open_file_at(path_);
  std::vector<steady_clock::duration> waits;
  for (int i = 0; i < kRounds; ++i) {
    const std::uint64_t seen = store->changes();
    const auto start = steady_clock::now();
    go.say();
    ASSERT_TRUE(changed(*store, seen, Millis(5'000)));
    waits.push_back(steady_clock::now() - start);
    EXPECT_TRUE(exists(*store, i));
  }
  EXPECT_EQ(ringer.end(), 0);
  std::ranges::sort(waits);
  EXPECT_LT(waits[kRounds / 2], Millis(60)) << "half of the slow poll would be 125 ms";
}

TEST_F(Processes, WithoutABellTheSlowPollNotices) {
  const auto writer = open_file_at(path_);
  const auto store = open_file_at(path_);
  const std::uint64_t before = store->changes();
  store->wait_for_change(before, Millis(1));  // starts the watcher
  std::filesystem::remove(path_ + "-bell");
  const std::uint64_t seen = store->changes();
  ASSERT_TRUE(add(*writer, 1).has_value());
  EXPECT_TRUE(changed(*store, seen, Millis(5'000)));
}

TEST_F(Processes, ACommitOfItsOwnWakesTheProcessToo) {
  for (const std::string& path : {path_, std::string()}) {
    const auto store = open_file_at(path);
    const std::uint64_t seen = store->changes();
    ASSERT_TRUE(add(*store, 1).has_value());
    EXPECT_NE(store->changes(), seen);
    EXPECT_TRUE(changed(*store, seen, Millis(0)));
    const std::uint64_t now = store->changes();
    EXPECT_FALSE(changed(*store, now, Millis(20))) << "nothing happened, and yet it woke";
  }
}

}  // namespace
}  // namespace drover::test
