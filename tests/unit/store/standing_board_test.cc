// Claims that idle workers of one process leave for the commits of another.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "store/sqlite/posix_side_files.h"
#include "support/printers.h"
#include "unit/store/forked.h"
#include "unit/store/store_fixture.h"

namespace drover::test {
namespace {

constexpr Millis kBoardLease{30'000};
constexpr Millis kBoardPatience{20'000};

SqliteOptions board_options(const std::string& path) {
  SqliteOptions options;
  options.path = path;
  options.ballast_bytes = kNoBallast;
  options.lock_wait = Millis(300);
  options.synchronous = SqliteOptions::Synchronous::kNormal;
  return options;
}

std::vector<LeaseId> board_leases(int first, int n) {
  std::vector<LeaseId> leases;
  for (int i = 0; i < n; ++i) leases.push_back(lease_of(first + i));
  return leases;
}

void add_to(Store& store, TaskRecord record) {
  StepGroup group = group_of({first_step(std::move(record), {.now = must(store.now())})});
  group.capacity = Capacity{};
  EXPECT_EQ(must(store.apply(std::vector{std::move(group)})), std::vector{Applied::kDone});
}

TaskRecord once(int number) {
  TaskRecord record = new_record(number);
  record.task.at_most_once = true;
  return record;
}

TaskRecord urgent(int number) {
  TaskRecord record = new_record(number);
  record.task.priority = 0;
  return record;
}

using Left = std::unique_ptr<StandingClaim<TaskRecord>>;

class StandingBoards : public ::testing::Test {
 protected:
  ~StandingBoards() override { set_failpoint_handler(nullptr); }

  // A store of another process, as far as files go: it has its own descriptors.
  [[nodiscard]] std::unique_ptr<Store> open_other() {
    SqliteOptions options = board_options(path_);
    options.clock = &sut_.clock();
    return must(open_sqlite(std::move(options)));
  }
  [[nodiscard]] static Left leave_claim(Store& store, int n, int first_lease = 1,
                                        std::vector<Serve> serves = {{"build", {}}}) {
    const ClaimRequest request{.worker_id = "host:1:w", .serves = std::move(serves), .n = n, .lease = kBoardLease};
    return must(store.leave_claim(request, board_leases(first_lease, n), std::nullopt, [] {}));
  }
  [[nodiscard]] TaskState state_of(int number) { return sut_.read(id_of(number)).task.state; }
  // A process that adds a task and comes to its end, or stands still, at that step of it.
  [[nodiscard]] Child adder(const TaskRecord& record, const std::string& step, int signal) {
    return Child([&] {
      const auto own = open_other();
      die_at(step, signal);
      add_to(*own, record);
    });
  }
  void expect_clean() { EXPECT_EQ(codes_of(must(sut_->fsck(FsckMode::kCheck))), std::vector<std::string>()); }

  TempDir dir_;
  std::string path_ = dir_.file("q.db");
  StoreUnderTest sut_{board_options(path_)};  // enqueues
  std::unique_ptr<Store> idle_ = open_other();
};

TEST_F(StandingBoards, TheCommitOfAnotherProcessStartsTheTask) {
  const Left claim = leave_claim(*idle_, 2);
  std::vector<std::string> steps;
  set_failpoint_handler([&](std::string_view name) { steps.emplace_back(name); });
  sut_.add(1);
  EXPECT_EQ(steps, (std::vector<std::string>{"enqueue.begin", "claim.begin", "enqueue.before_commit",
                                             "claim.before_commit", "enqueue.after_commit", "claim.after_commit"}))
      << "one commit for both";
  ASSERT_TRUE(claim->is_answered());
  sut_.clock().advance(Millis(10'000));
  const auto taken = must(claim->withdraw());
  ASSERT_EQ(taken.tasks.size(), 1U);
  EXPECT_EQ(taken.tasks[0].task.id, id_of(1));
  EXPECT_EQ(taken.tasks[0].task.worker_id, "host:1:w");
  EXPECT_EQ(taken.tasks[0].task.payload, sut_.read(id_of(1)).task.payload);
  EXPECT_EQ(taken.tasks[0].lease, lease_of(1));
  EXPECT_EQ(taken.tasks[0].revision, sut_.read(id_of(1)).revision);
  EXPECT_EQ(taken.lease_left, kBoardLease - Millis(10'000));
  expect_clean();
}

TEST_F(StandingBoards, OneThatServesSomethingElseGoesOnStanding) {
  const Left claim = leave_claim(*idle_, 1, 1, {{"other", {}}, {"build", "another_type"}});
  sut_.add(1);
  EXPECT_FALSE(claim->is_answered());
  EXPECT_TRUE(must(claim->withdraw()).tasks.empty());
  EXPECT_EQ(state_of(1), TaskState::kPending);
}

TEST_F(StandingBoards, TakesNoMoreThanItAskedFor) {
  const Left claim = leave_claim(*idle_, 2);
  std::vector<TaskRecord> records;
  for (int i = 1; i <= 5; ++i) records.push_back(new_record(i));
  EXPECT_EQ(must(sut_.try_add(std::move(records))), std::vector{Applied::kDone});
  EXPECT_EQ(must(claim->withdraw()).tasks.size(), 2U);
  sut_.add(6);
  EXPECT_EQ(must(sut_->backlog(std::vector{Serve{"build", {}}})).running, 2);
}

// It stands in two places, and may be served in one only.
TEST_F(StandingBoards, ACommitOfItsOwnProcessTakesItDown) {
  const Left claim = leave_claim(*idle_, 1);
  add_to(*idle_, new_record(1));
  sut_.add(2);
  EXPECT_EQ(must(claim->withdraw()).tasks.at(0).task.id, id_of(1));
  EXPECT_EQ(state_of(2), TaskState::kPending);
}

TEST_F(StandingBoards, ACommitOfItsOwnProcessTakesNothingAfterAnotherDid) {
  const Left claim = leave_claim(*idle_, 1);
  sut_.add(1);
  add_to(*idle_, new_record(2));
  EXPECT_EQ(must(claim->withdraw()).tasks.at(0).task.id, id_of(1));
  EXPECT_EQ(state_of(2), TaskState::kPending);
}

// A transaction of its own process that finds nothing for it puts it up again.
TEST_F(StandingBoards, StandsForOthersAgainAfterItsOwnProcessFoundNothing) {
  const Left claim = leave_claim(*idle_, 1);
  TaskRecord elsewhere = new_record(1);
  elsewhere.task.queue = "other";
  add_to(*idle_, std::move(elsewhere));
  sut_.add(2);
  EXPECT_EQ(must(claim->withdraw()).tasks.at(0).task.id, id_of(2));
}

TEST_F(StandingBoards, OneWhoseProcessIsGoneTakesNothing) {
  Pipe left;
  Child worker([&] {
    const auto own = open_other();
    const Left claim = leave_claim(*own, 1);
    left.say();
    ::pause();
  });
  left.hear();
  worker.send(SIGKILL);
  EXPECT_EQ(worker.end(), -SIGKILL);
  sut_.add(1);
  EXPECT_EQ(state_of(1), TaskState::kPending);
  // Its place is free for somebody else.
  const Left claim = leave_claim(*idle_, 1);
  sut_.add(2);
  EXPECT_TRUE(claim->is_answered());
}

TEST_F(StandingBoards, OneWhoseProcessIsFrozenTakesNothing) {
  const Left claim = leave_claim(*idle_, 1);
  sut_.clock().advance(Millis(1'001));  // nobody looks after it
  sut_.add(1);
  EXPECT_EQ(state_of(1), TaskState::kPending);
  static_cast<void>(idle_->changes());  // it is back
  sut_.add(2);
  EXPECT_EQ(must(claim->withdraw()).tasks.size(), 1U);
}

TEST_F(StandingBoards, SomebodyWhoDiesBeforeTheCommitTakesNothingForIt) {
  const Left claim = leave_claim(*idle_, 1);
  Child dead = adder(new_record(1), "claim.before_commit", SIGKILL);
  EXPECT_EQ(dead.end(), -SIGKILL);
  EXPECT_FALSE(claim->is_answered());
  EXPECT_TRUE(must(claim->withdraw()).tasks.empty());
  EXPECT_EQ(must(sut_->read(std::vector{id_of(1)}, Parts::kHead)).at(0), std::nullopt);
  expect_clean();
}

TEST_F(StandingBoards, WhatWasCommittedIsFoundAlthoughItsCommitterDied) {
  const Left claim = leave_claim(*idle_, 1);
  Child dead = adder(new_record(1), "claim.after_commit", SIGKILL);
  EXPECT_EQ(dead.end(), -SIGKILL);
  const auto taken = must(claim->withdraw());
  ASSERT_EQ(taken.tasks.size(), 1U);
  EXPECT_EQ(taken.tasks[0].task.id, id_of(1));
  expect_clean();
}

// Nobody knows whether it will be committed: the claim is given up, and its place and its leases with it.
TEST_F(StandingBoards, SomebodyFrozenInTheMiddleIsNotWaitedForLong) {
  Left claim = leave_claim(*idle_, 1);
  Child frozen = adder(new_record(1), "claim.before_commit", SIGSTOP);
  ASSERT_TRUE(frozen.waits_stopped());
  EXPECT_EQ(code_of(claim->withdraw()), ErrorCode::kStoreUnavailable);
  claim.reset();
  const Left next = leave_claim(*idle_, 1, 2);
  frozen.send(SIGCONT);
  EXPECT_EQ(frozen.end(), 0);
  EXPECT_FALSE(next->is_answered());
  EXPECT_EQ(state_of(1), TaskState::kRunning) << "until its lease runs out";
  sut_.add(2);
  EXPECT_EQ(must(next->withdraw()).tasks.at(0).task.id, id_of(2));
  sut_.clock().advance(kBoardLease);
  EXPECT_EQ(must(sut_->lapsed(std::nullopt, 10)).size(), 2U);
  expect_clean();
}

TEST_F(StandingBoards, AreServedInTurnsAndNeverMoreThanAFewInOneCommit) {
  std::vector<Left> claims;
  for (int i = 0; i < 20; ++i) claims.push_back(leave_claim(*idle_, 1, 1 + i));
  for (int i = 1; i <= 20; ++i) sut_.add(i);
  for (const Left& claim : claims) EXPECT_EQ(must(claim->withdraw()).tasks.size(), 1U);
}

TEST_F(StandingBoards, OneTooManyOrTooLargeStandsInItsOwnProcessOnly) {
  std::vector<Serve> many;
  for (int i = 0; i < 100; ++i) many.push_back({"a_queue_with_quite_a_long_name_" + std::to_string(i), {}});
  many.push_back({"build", {}});
  const Left large = leave_claim(*idle_, 1, 1, many);
  sut_.add(1);
  EXPECT_EQ(state_of(1), TaskState::kPending);
  EXPECT_TRUE(must(large->withdraw()).tasks.empty());

  std::vector<Left> claims;
  for (int i = 0; i < 70; ++i) claims.push_back(leave_claim(*idle_, 1, 1 + i));
  for (const Left& claim : claims) EXPECT_TRUE(must(claim->withdraw()).tasks.empty());
}

// Whatever is on the board, the worst is that nobody is served through it.
TEST_F(StandingBoards, GarbageOnTheBoardHurtsNobody) {
  const Left claim = leave_claim(*idle_, 1);
  const auto size = std::filesystem::file_size(path_ + "-standing");
  SeededRng rng(7);
  for (int round = 0; round < 20; ++round) {
    {
      std::fstream board(path_ + "-standing", std::ios::in | std::ios::out | std::ios::binary);
      std::vector<char> noise(size);
      for (char& byte : noise) byte = static_cast<char>(rng.below(round % 2 == 0 ? 256 : 4));
      board.write(noise.data(), static_cast<std::streamsize>(noise.size()));
    }
    sut_.add(100 + round);
    EXPECT_TRUE(claim->is_answered() || state_of(100 + round) == TaskState::kPending);
  }
  EXPECT_TRUE(must(claim->withdraw()).tasks.empty());
  expect_clean();
}

TEST_F(StandingBoards, AStoreGoesOnWithoutABoard) {
  idle_.reset();
  sut_.close();
  std::filesystem::remove(path_ + "-standing");
  std::filesystem::create_directory(path_ + "-standing");
  sut_.reopen(board_options(path_));
  idle_ = open_other();
  const Left claim = leave_claim(*idle_, 1);
  sut_.add(1);
  EXPECT_EQ(state_of(1), TaskState::kPending);
  EXPECT_TRUE(must(claim->withdraw()).tasks.empty());
}

// The real side files, and something that happens once at the lock.
class HookedSideFiles final : public SideFiles {
 public:
  struct Hooks {
    std::function<void()> before_lock;
    std::function<void()> after_unlock;
  };

  HookedSideFiles(std::unique_ptr<SideFiles> real, Hooks& hooks) : real_(std::move(real)), hooks_(hooks) {}
  Status lock(Millis wait) override {
    if (const auto hook = std::exchange(hooks_.before_lock, nullptr)) hook();
    return real_->lock(wait);
  }
  void unlock() override {
    real_->unlock();
    if (const auto hook = std::exchange(hooks_.after_unlock, nullptr)) hook();
  }
  void ring() override { real_->ring(); }
  void wait_for_ring(Millis timeout) override { real_->wait_for_ring(timeout); }
  void stop_waiting() override { real_->stop_waiting(); }
  Room room() override { return real_->room(); }
  bool drop_ballast() override { return real_->drop_ballast(); }
  void restore_ballast() override { real_->restore_ballast(); }

 private:
  std::unique_ptr<SideFiles> real_;
  Hooks& hooks_;
};

void raise_flag(std::atomic<bool>& flag) {
  flag = true;
  flag.notify_all();
}

// One commit tries it and puts it back while it is withdrawn, and the next commit may try it again before the owner
// looks.
TEST_F(StandingBoards, WhatTheNextCommitTakesWhileItIsWithdrawnIsNotForgotten) {
  HookedSideFiles::Hooks hooks;
  SqliteOptions options = board_options(path_);
  options.clock = &sut_.clock();
  options.lock_wait = Millis(8'000);
  options.side_files = std::make_unique<HookedSideFiles>(must(sqlite::open_side_files(path_, kNoBallast)), hooks);
  options.board_path = path_ + "-standing";
  idle_ = must(open_sqlite(std::move(options)));
  const auto second = open_other();
  const Left claim = leave_claim(*idle_, 1);

  thread_local int who = 0;
  std::atomic<bool> first_tries = false;
  std::atomic<bool> owner_waits = false;
  std::atomic<bool> second_has_tried = false;
  std::atomic<bool> owner_has_looked = false;
  set_failpoint_handler([&](std::string_view name) {
    if (who == 1 && name == "claim.begin") {
      raise_flag(first_tries);
      owner_waits.wait(false);
    }
    if (who == 2 && name == "claim.before_commit") {
      raise_flag(second_has_tried);
      owner_has_looked.wait(false);
    }
  });
  std::jthread first([&] {
    who = 1;
    add_to(sut_.store(), once(1));  // nothing for it, after a look
  });
  first_tries.wait(false);
  std::jthread then;
  hooks.before_lock = [&] { raise_flag(owner_waits); };
  hooks.after_unlock = [&] {
    then = std::jthread([&] {
      who = 2;
      add_to(*second, urgent(2));
      raise_flag(second_has_tried);
    });
    second_has_tried.wait(false);
  };
  const auto taken = must(claim->withdraw());
  raise_flag(owner_has_looked);
  first.join();
  then.join();
  EXPECT_EQ(taken.tasks.size(), state_of(2) == TaskState::kRunning ? 1U : 0U)
      << "leased to nobody until its lease ends";
}

// Frozen while it tried it; when it goes on it finds nothing, and would put back what nobody waits for any more.
TEST_F(StandingBoards, OneThatWasGivenUpIsNeverServedAgain) {
  Left claim = leave_claim(*idle_, 1);
  Child frozen = adder(once(1), "claim.begin", SIGSTOP);
  ASSERT_TRUE(frozen.waits_stopped());
  EXPECT_EQ(code_of(claim->withdraw()), ErrorCode::kStoreUnavailable);
  claim.reset();
  frozen.send(SIGCONT);
  EXPECT_EQ(frozen.end(), 0);
  static_cast<void>(idle_->changes());  // the process lives
  sut_.add(urgent(2));
  EXPECT_EQ(state_of(2), TaskState::kPending) << "leased to nobody";
}

// A worker that does not begin would be the end of it.
TEST_F(StandingBoards, WhatMayRunAtMostOnceIsLeftForItToClaim) {
  const Left claim = leave_claim(*idle_, 3);
  EXPECT_EQ(must(sut_.try_add({new_record(1), once(2), new_record(3)})), std::vector{Applied::kDone});
  const auto taken = must(claim->withdraw());
  ASSERT_EQ(taken.tasks.size(), 1U);
  EXPECT_EQ(taken.tasks[0].task.id, id_of(1));
  EXPECT_EQ(state_of(2), TaskState::kPending);
  EXPECT_EQ(state_of(3), TaskState::kPending);
  expect_clean();
  EXPECT_EQ(sut_.claim(5).size(), 2U);
}

TEST_F(StandingBoards, AClaimThatCouldNotBeWithdrawnCanBeAskedAgain) {
  Left claim = leave_claim(*idle_, 1);
  Child frozen = adder(new_record(1), "claim.before_commit", SIGSTOP);
  ASSERT_TRUE(frozen.waits_stopped());
  EXPECT_EQ(code_of(claim->withdraw()), ErrorCode::kStoreUnavailable);
  frozen.send(SIGCONT);
  EXPECT_EQ(frozen.end(), 0);
  EXPECT_EQ(must(claim->withdraw()).tasks.size(), 1U);
}

TEST_F(StandingBoards, APlaceIsNotLostWithWhoeverDiedWhileHeTriedIt) {
  for (int i = 0; i < 64; ++i) {
    const Left claim = leave_claim(*idle_, 1);
    Child dead = adder(new_record(1 + i), "claim.before_commit", SIGKILL);
    EXPECT_EQ(dead.end(), -SIGKILL);
    EXPECT_TRUE(must(claim->withdraw()).tasks.empty());
  }
  const Left claim = leave_claim(*idle_, 1);
  sut_.add(100);
  EXPECT_TRUE(claim->is_answered());
}

// As `drover enqueue` does: each from a process of its own.
TEST_F(StandingBoards, OneShotProcessesServeAllInTurns) {
  std::vector<Left> others;
  for (int i = 0; i < 8; ++i) others.push_back(leave_claim(*idle_, 1, 1 + i, {{"other", {}}}));
  const Left claim = leave_claim(*idle_, 1, 20);
  for (int i = 1; i <= 10; ++i) add_to(*open_other(), new_record(i));
  EXPECT_TRUE(claim->is_answered());
}

// Three processes enqueue, two wait for work in every way that there is: each task is handed out once.
TEST(StandingBoardsUnderLoad, EachTaskIsHandedOutOnce) {
  constexpr int kEach = 60;
  constexpr int kAdders = 3;
  TempDir dir;
  const std::string path = dir.file("q.db");
  const auto open_here = [&] {
    SqliteOptions options = board_options(path);
    options.lock_wait = Millis(8'000);
    return must(open_sqlite(std::move(options)));
  };
  open_here().reset();
  std::vector<std::unique_ptr<Child>> adders;
  for (int c = 0; c < kAdders; ++c) {
    adders.push_back(std::make_unique<Child>([&, c] {
      const auto own = open_here();
      for (int i = 0; i < kEach; ++i) add_to(*own, new_record(c * kEach + i));
    }));
  }
  std::mutex mutex;
  std::map<TaskId, int> handed_out;
  std::atomic<int> total = 0;
  const auto work = [&](int worker) {
    const auto own = open_here();
    SeededRng rng(static_cast<std::uint64_t>(worker));
    const auto end = std::chrono::steady_clock::now() + kBoardPatience;
    const auto take = [&](std::span<const TaskRecord> records) {
      const std::lock_guard lock(mutex);
      for (const TaskRecord& record : records) ++handed_out[record.task.id];
      total += static_cast<int>(records.size());
    };
    while (total < kAdders * kEach && std::chrono::steady_clock::now() < end) {
      const std::uint64_t seen = own->changes();
      const ClaimRequest request{
          .worker_id = "host:1:w" + std::to_string(worker), .serves = {{"build", {}}}, .n = 2, .lease = kBoardLease};
      const std::vector<LeaseId> leases{new_lease_id(rng), new_lease_id(rng)};
      const auto claim = must(own->leave_claim(request, leases, std::nullopt, [] {}));
      own->wait_for_change(seen, Millis(2));
      take(must(claim->withdraw()).tasks);
      const std::vector<LeaseId> others{new_lease_id(rng), new_lease_id(rng)};
      take(must(own->claim(request, others, std::nullopt)).records);
    }
  };
  {
    std::jthread first([&] { work(1); });
    std::jthread second([&] { work(2); });
  }
  for (const auto& adder : adders) EXPECT_EQ(adder->end(), 0);
  EXPECT_EQ(total, kAdders * kEach);
  for (const auto& [id, times] : handed_out) EXPECT_EQ(times, 1) << id.to_string();
  EXPECT_EQ(codes_of(must(open_here()->fsck(FsckMode::kCheck))), std::vector<std::string>());
}

}  // namespace
}  // namespace drover::test
