// The writer itself: who goes first, how long the lock is held, and what a full or failing disk does to a batch.
#include "store/sqlite/writer.h"

#include <gtest/gtest.h>

#include <thread>

#include "store/sqlite/schema.h"
#include "support/manual_clock.h"
#include "support/must.h"
#include "support/printers.h"

namespace drover::sqlite {
namespace {

using test::code_of;
using test::must;

// A disk of our own.
class FakeSideFiles final : public SideFiles {
 public:
  Status lock(Millis /*wait*/) override {
    if (locked_elsewhere) return fail(ErrorCode::kStoreUnavailable, "locked", "fake");
    EXPECT_FALSE(std::exchange(locked, true));
    return {};
  }
  void unlock() override { EXPECT_TRUE(std::exchange(locked, false)); }
  void ring() override { ++rings; }
  void wait_for_ring(Millis /*timeout*/) override {}
  void stop_waiting() override {}
  Room room() override { return {free_bytes, ballast_bytes}; }
  bool drop_ballast() override {
    ++drops;
    free_bytes += ballast_bytes;
    return std::exchange(ballast_bytes, 0) > 0;
  }
  void restore_ballast() override {
    free_bytes -= kBallastBytes;
    ballast_bytes = kBallastBytes;
  }

  static constexpr std::int64_t kBallastBytes = 1'000;
  bool locked_elsewhere = false;
  bool locked = false;
  int rings = 0;
  int drops = 0;
  std::int64_t free_bytes = 1'000'000;
  std::int64_t ballast_bytes = kBallastBytes;
};

class WriterTest : public ::testing::Test {
 protected:
  WriterTest() {
    must(prepare_schema(db_, "test"));
    db_.execute_script("CREATE TABLE kept (x)");
    WriterOptions options;
    options.clock = &clock_;
    options.side_files = &side_files_;
    options.room = &room_;
    options.meter = &meter_;
    options.checkpoint_wal_bytes = 4 << 20;
    options.on_commit = [this](const CommitMark&) { ++commits_; };
    options.on_sync_failure = [this](const std::string&) { ++sync_failures_; };
    writer_.emplace(db_, std::move(options));
  }

  static Operation keeping(int x) {
    return {&kSettleFailpoints,
            [x](Transaction& transaction) { transaction.db().run("INSERT INTO kept VALUES (?1)", x); }};
  }

  // Lets `operations` queue up behind one that is running, and returns their answers.
  std::vector<Status> run_behind(const std::vector<Operation>& operations) {
    std::vector<Status> answers(operations.size());
    std::vector<std::thread> threads;
    Operation first = keeping(0);
    first.body = [&, body = first.body](Transaction& transaction) {
      if (threads.empty()) {
        for (std::size_t i = 0; i < operations.size(); ++i) {
          threads.emplace_back([&, i] { answers[i] = writer_->run(operations[i]); });
          while (writer_->waiting() <= i) std::this_thread::yield();
        }
      }
      body(transaction);
    };
    EXPECT_TRUE(writer_->run(first).has_value());
    for (std::thread& thread : threads) thread.join();
    return answers;
  }

  std::string kept() {
    std::string all;
    Statement query = db_.prepare("SELECT x FROM kept ORDER BY rowid");
    while (query.step()) all += query.text() + " ";
    return all;
  }

  test::ManualClock clock_;
  FakeSideFiles side_files_;
  Meter meter_;
  Room room_{side_files_, clock_, FakeSideFiles::kBallastBytes};
  Connection db_{{":memory:", "", Millis(0)}};
  int commits_ = 0;
  int sync_failures_ = 0;
  std::optional<Writer> writer_;
};

Operation failing(int code) {
  return {&kSettleFailpoints, [code](Transaction& transaction) {
            transaction.db().run("INSERT INTO kept VALUES ('half')");
            throw SqliteFailure(code, "made up");
          }};
}

// One that stands and spoils the transaction for the others is left out of the next try, and told at its end.
TEST_F(WriterTest, AStandingOneThatSpoiltTheTransactionIsAnsweredOnce) {
  int answered = 0;
  Writer::Standing standing(
      *writer_,
      {.operation = failing(SQLITE_FULL), .is_done = [] { return true; }, .on_answer = [&answered] { ++answered; }});
  EXPECT_TRUE(writer_->run(keeping(1)).has_value());
  EXPECT_EQ(answered, 1);
  const auto answer = standing.withdraw();
  ASSERT_TRUE(answer.has_value());
  EXPECT_FALSE(answer->has_value());
  EXPECT_EQ(kept(), "1 ");
}

TEST_F(WriterTest, WhatQueuesUpSharesOneCommit) {
  for (const Status& answer : run_behind({keeping(1), keeping(2), keeping(3)})) EXPECT_TRUE(answer.has_value());
  EXPECT_EQ(kept(), "0 1 2 3 ");
  EXPECT_EQ(commits_, 1);
  EXPECT_EQ(side_files_.rings, 1);
}

TEST_F(WriterTest, RenewalsGoFirst) {
  Operation urgent = keeping(3);
  urgent.turn = Operation::Turn::kFirst;
  run_behind({keeping(1), keeping(2), urgent});
  EXPECT_EQ(kept(), "0 3 1 2 ");
}

TEST_F(WriterTest, TheLockIsHeldForABoundedTime) {
  Operation slow = keeping(1);
  slow.body = [this, body = slow.body](Transaction& transaction) {
    clock_.advance(Millis(50));
    body(transaction);
  };
  run_behind({slow, keeping(2), keeping(3)});
  EXPECT_EQ(kept(), "0 1 2 3 ");
  EXPECT_EQ(commits_, 2);
}

TEST_F(WriterTest, OneThatMustBeAloneIs) {
  Operation alone = keeping(2);
  alone.company = Operation::Company::kAlone;
  run_behind({keeping(1), alone, keeping(3)});
  EXPECT_EQ(kept(), "0 1 2 3 ");
  EXPECT_EQ(commits_, 3);
}

TEST_F(WriterTest, OneThatFailsIsUndoneAlone) {
  const auto answers = run_behind({keeping(1), failing(SQLITE_CORRUPT), keeping(3)});
  EXPECT_TRUE(answers[0].has_value());
  EXPECT_EQ(code_of(answers[1]), ErrorCode::kStoreDamaged);
  EXPECT_TRUE(answers[2].has_value());
  EXPECT_EQ(kept(), "0 1 3 ");
  EXPECT_EQ(commits_, 1);
}

TEST_F(WriterTest, OneThatEndsTheTransactionOfAllIsLeftOutWhenItIsRepeated) {
  Operation spoiler = failing(SQLITE_IOERR);
  spoiler.body = [body = spoiler.body](Transaction& transaction) {
    transaction.db().run("ROLLBACK");
    body(transaction);
  };
  const auto answers = run_behind({keeping(1), spoiler, keeping(3)});
  EXPECT_TRUE(answers[0].has_value());
  EXPECT_EQ(code_of(answers[1]), ErrorCode::kStoreUnavailable);
  EXPECT_TRUE(answers[2].has_value());
  db_.run("DELETE FROM kept WHERE x = 'half'");  // written by itself, outside any transaction
  EXPECT_EQ(kept(), "0 1 3 ");
}

// Doubles the newest number, if there is one that is not doubled yet.
class Doubler {
 public:
  explicit Doubler(Writer& writer) : standing_(std::in_place, writer, operation()) {}

  Writer::Standing& operator*() { return *standing_; }
  Writer::Standing* operator->() { return &*standing_; }

  int tries = 0;
  int answers = 0;
  std::function<void()> when_tried = [] {};

 private:
  StandingOperation operation() {
    return {.operation = {&kClaimFailpoints, [this](Transaction& transaction) { try_it(transaction); }},
            .is_done = [this] { return doubled_; },
            .on_answer = [this] { ++answers; }};
  }
  void try_it(Transaction& transaction) {
    ++tries;
    Connection& db = transaction.db();
    const std::int64_t newest = db.number("SELECT max(x) FROM kept");
    doubled_ = newest > 0 && newest < 100;
    if (doubled_) db.run("INSERT INTO kept VALUES (?1)", newest * 100);
    when_tried();
  }

  bool doubled_ = false;
  std::optional<Writer::Standing> standing_;
};

TEST_F(WriterTest, AStandingOperationSharesTheCommitThatGivesItSomething) {
  Doubler doubler(*writer_);
  ASSERT_TRUE(writer_->run(keeping(0)).has_value());
  EXPECT_EQ(doubler.tries, 1);
  EXPECT_FALSE(doubler->is_answered()) << "there was nothing for it";
  ASSERT_TRUE(writer_->run(keeping(1)).has_value());
  EXPECT_EQ(kept(), "0 1 100 ");
  EXPECT_EQ(commits_, 2) << "one for each of ours, none of its own";
  EXPECT_EQ(doubler.answers, 1);
  ASSERT_TRUE(doubler->is_answered());
  ASSERT_TRUE(writer_->run(keeping(2)).has_value());
  EXPECT_EQ(doubler.tries, 2) << "it stands no longer";
  EXPECT_TRUE(doubler->withdraw().value().has_value());
}

TEST_F(WriterTest, WhatIsWithdrawnIsTriedNoMore) {
  Doubler doubler(*writer_);
  EXPECT_FALSE(doubler->withdraw().has_value());
  EXPECT_FALSE(doubler->withdraw().has_value());
  ASSERT_TRUE(writer_->run(keeping(1)).has_value());
  EXPECT_EQ(doubler.tries, 0);
}

TEST_F(WriterTest, StandingOperationsAreTriedOldestFirst) {
  Doubler older(*writer_);
  Doubler newer(*writer_);
  ASSERT_TRUE(writer_->run(keeping(1)).has_value());
  EXPECT_TRUE(older->is_answered());
  EXPECT_FALSE(newer->is_answered());
  db_.run("DELETE FROM kept");
  ASSERT_TRUE(writer_->run(keeping(2)).has_value());
  EXPECT_TRUE(newer->is_answered());
}

TEST_F(WriterTest, NothingStandsBesideOneThatMustBeAloneOrWroteNothing) {
  Doubler doubler(*writer_);
  Operation alone = keeping(1);
  alone.company = Operation::Company::kAlone;
  ASSERT_TRUE(writer_->run(alone).has_value());
  ASSERT_TRUE(writer_->run({&kSettleFailpoints, [](Transaction&) {}}).has_value());
  EXPECT_EQ(doubler.tries, 0);
}

TEST_F(WriterTest, AStandingOperationThatFailsIsUndoneAlone) {
  Doubler doubler(*writer_);
  doubler.when_tried = [] { throw SqliteFailure(SQLITE_CORRUPT, "made up"); };
  ASSERT_TRUE(writer_->run(keeping(1)).has_value());
  EXPECT_EQ(kept(), "1 ");
  EXPECT_EQ(doubler.answers, 1);
  EXPECT_EQ(code_of(doubler->withdraw().value()), ErrorCode::kStoreDamaged);
}

TEST_F(WriterTest, AnUndoneTransactionLeavesItStanding) {
  Doubler doubler(*writer_);
  Doubler spoiler(*writer_);
  spoiler.when_tried = [&] {
    EXPECT_FALSE(doubler->is_answered());
    db_.run("ROLLBACK");
    throw SqliteFailure(SQLITE_IOERR, "made up");
  };
  ASSERT_TRUE(writer_->run(keeping(1)).has_value());
  EXPECT_EQ(kept(), "1 100 ");
  EXPECT_EQ(commits_, 1);
  EXPECT_EQ(doubler.tries, 2);
  EXPECT_TRUE(doubler->withdraw().value().has_value());
  EXPECT_EQ(code_of(spoiler->withdraw().value()), ErrorCode::kStoreUnavailable);
}

// It may have been committed: to be tried again under the same numbers would be wrong.
TEST_F(WriterTest, AStandingOperationIsToldOfACommitThatFailed) {
  Doubler doubler(*writer_);
  sqlite3_commit_hook(db_.handle(), [](void*) { return 1; }, nullptr);
  EXPECT_FALSE(writer_->run(keeping(1)).has_value());
  EXPECT_EQ(doubler.tries, 1);
  EXPECT_FALSE(doubler->withdraw().value().has_value());
  sqlite3_commit_hook(db_.handle(), nullptr, nullptr);
}

TEST_F(WriterTest, WithdrawingWaitsForACommitUnderWay) {
  Doubler doubler(*writer_);
  std::optional<Status> answer;
  std::thread withdrawing;
  doubler.when_tried = [&] { withdrawing = std::thread([&] { answer = doubler->withdraw(); }); };
  ASSERT_TRUE(writer_->run(keeping(1)).has_value());
  withdrawing.join();
  EXPECT_TRUE(answer.value().has_value());
  EXPECT_EQ(kept(), "1 100 ");
}

TEST_F(WriterTest, NothingIsRungForWhatWroteNothingOrIsSilent) {
  ASSERT_TRUE(writer_->run({&kSettleFailpoints, [](Transaction&) {}}).has_value());
  EXPECT_EQ(commits_, 0);
  Operation silent = keeping(1);
  silent.notice = Operation::Notice::kSilent;
  ASSERT_TRUE(writer_->run(silent).has_value());
  EXPECT_EQ(commits_, 1);
  EXPECT_EQ(side_files_.rings, 0);
}

TEST_F(WriterTest, WithoutTheLockEveryoneIsTold) {
  side_files_.locked_elsewhere = true;
  EXPECT_EQ(code_of(writer_->run(keeping(1))), ErrorCode::kStoreUnavailable);
  side_files_.locked_elsewhere = false;
  EXPECT_TRUE(writer_->run(keeping(2)).has_value());
  EXPECT_EQ(kept(), "2 ");
}

TEST_F(WriterTest, AFullDiskIsMetWithTheBallastOnce) {
  int tries = 0;
  Operation settle = keeping(1);
  settle.body = [&, body = settle.body](Transaction& transaction) {
    body(transaction);
    if (++tries == 1) throw SqliteFailure(SQLITE_FULL, "made up");
  };
  EXPECT_TRUE(writer_->run(settle).has_value());
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(kept(), "1 ");
  EXPECT_EQ(side_files_.ballast_bytes, 0);
}

TEST_F(WriterTest, AFullDiskWithoutBallastIsSaidToBeFull) {
  side_files_.ballast_bytes = 0;
  const auto answers = run_behind({keeping(1), failing(SQLITE_FULL), keeping(2)});
  EXPECT_TRUE(answers[0].has_value());
  EXPECT_EQ(code_of(answers[1]), ErrorCode::kDiskFull);
  EXPECT_TRUE(answers[2].has_value());
  EXPECT_EQ(kept(), "0 1 2 ");
}

TEST_F(WriterTest, NewTasksNeverTakeTheBallast) {
  Operation enqueue = failing(SQLITE_FULL);
  enqueue.need = Operation::Need::kWhenRoom;
  EXPECT_EQ(code_of(writer_->run(enqueue)), ErrorCode::kDiskFull);
  EXPECT_EQ(side_files_.ballast_bytes, FakeSideFiles::kBallastBytes);
}

TEST_F(WriterTest, ANewTaskTakesNoBallastThoughAWorkerWaitsForIt) {
  Doubler doubler(*writer_);
  doubler.when_tried = [] { throw SqliteFailure(SQLITE_FULL, "made up"); };
  Operation enqueue = keeping(1);
  enqueue.need = Operation::Need::kWhenRoom;
  EXPECT_TRUE(writer_->run(enqueue).has_value());
  EXPECT_EQ(kept(), "1 ");
  EXPECT_EQ(side_files_.drops, 0);
}

TEST_F(WriterTest, NewTasksAreRefusedWhileTheDiskIsNearlyFull) {
  Operation enqueue = keeping(1);
  enqueue.need = Operation::Need::kWhenRoom;
  side_files_.free_bytes = 499;
  EXPECT_EQ(code_of(writer_->run(enqueue)), ErrorCode::kDiskFull);
  EXPECT_TRUE(writer_->run(keeping(2)).has_value());

  // The ballast is gone, and what it freed does not count as room for new tasks.
  side_files_.free_bytes = 0;
  ASSERT_TRUE(side_files_.drop_ballast());
  clock_.advance(Millis(1'000));
  EXPECT_EQ(code_of(writer_->run(enqueue)), ErrorCode::kDiskFull);

  // Somebody made room: seen at the next look, a second later at most.
  side_files_.free_bytes = 2'000;
  clock_.advance(Millis(999));
  EXPECT_EQ(code_of(writer_->run(enqueue)), ErrorCode::kDiskFull);
  clock_.advance(Millis(1));
  EXPECT_TRUE(writer_->run(enqueue).has_value());
  EXPECT_EQ(side_files_.ballast_bytes, FakeSideFiles::kBallastBytes);
}

TEST_F(WriterTest, AfterAFailedSyncNothingIsWrittenAnyMore) {
  Operation unsynced = failing(SQLITE_IOERR_FSYNC);
  unsynced.body = [body = unsynced.body](Transaction& transaction) {
    transaction.db().run("ROLLBACK");
    body(transaction);
  };
  EXPECT_EQ(code_of(writer_->run(unsynced)), ErrorCode::kStoreUnavailable);
  EXPECT_EQ(sync_failures_, 1);
  EXPECT_EQ(code_of(writer_->run(keeping(1))), ErrorCode::kStoreUnavailable);
  EXPECT_EQ(sync_failures_, 1);
}

}  // namespace
}  // namespace drover::sqlite
