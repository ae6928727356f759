// An older copy of the database is put back: nothing is claimed until somebody accepts what is gone.
#include <gtest/gtest.h>

#include <filesystem>

#include "store/mark_file.h"
#include "support/printers.h"
#include "unit/store/store_fixture.h"

namespace drover::test {
namespace {

namespace fs = std::filesystem;

class Regression : public ::testing::Test {
 protected:
  // The database as it is now: nobody has it open.
  void copy(const std::string& from, const std::string& to) const {
    for (const char* part : {"", "-wal"}) {
      fs::remove(dir_.file(to) + part);
      if (fs::exists(dir_.file(from) + part)) fs::copy_file(dir_.file(from) + part, dir_.file(to) + part);
    }
    fs::remove(dir_.file(to) + "-shm");
  }
  void add(int number) {
    StoreUnderTest sut(dir_.file("q.db"));
    sut.add(number);
  }
  // Three tasks, of which the older copy has two.
  void lose_one() {
    add(1);
    add(2);
    copy("q.db", "old.db");
    add(3);
    copy("old.db", "q.db");
  }
  static Result<Claimed> claim(StoreUnderTest& sut) {
    return sut->claim({.worker_id = "w", .serves = {{"build", {}}}, .n = 1}, std::vector{lease_of(1)}, std::nullopt);
  }

  TempDir dir_;
};

TEST_F(Regression, IsNoticedReportedAndAccepted) {
  lose_one();
  StoreUnderTest sut(dir_.file("q.db"));
  EXPECT_EQ(must(sut->state()).loss, (Loss{3, 3}));
  EXPECT_EQ(code_of(claim(sut)), ErrorCode::kStoreRegressed);
  // Everything else goes on, and does not hide the loss.
  sut.add(4);
  sut.add(5);
  EXPECT_EQ(code_of(claim(sut)), ErrorCode::kStoreRegressed);
  sut.reopen(dir_.file("q.db"));
  EXPECT_EQ(must(sut->state()).loss, (Loss{3, 3})) << "as many new events hide nothing";
  EXPECT_EQ(code_of(claim(sut)), ErrorCode::kStoreRegressed);
}

TEST_F(Regression, WorkGoesOnAfterItsAcceptance) {
  lose_one();
  StoreUnderTest waiting(dir_.file("q.db"));
  EXPECT_EQ(code_of(claim(waiting)), ErrorCode::kStoreRegressed);
  {
    StoreUnderTest operating(dir_.file("q.db"));
    const StoreState accepted = must(operating->accept_regression());
    EXPECT_EQ(accepted.loss, (Loss{3, 3}));
    EXPECT_EQ(accepted.extent.epochs.back().cause, Epoch::Cause::kAccepted);
    EXPECT_EQ(must(operating->state()).loss, std::nullopt);
    const Event told = must(operating->events(2, 10)).at(0);
    EXPECT_EQ(told.name, "store.regression_accepted");
    EXPECT_EQ(told.data, R"({"lost_from":3,"lost_to":3})");
  }
  EXPECT_EQ(must(claim(waiting)).records.size(), 1U);
  EXPECT_EQ(codes_of(must(waiting->fsck(FsckMode::kCheck))), std::vector<std::string>());
}

TEST_F(Regression, ADatabaseThatIsGoneHasLostEverything) {
  add(1);
  add(2);
  fs::remove(dir_.file("q.db"));
  fs::remove(dir_.file("q.db-wal"));
  StoreUnderTest sut(dir_.file("q.db"));
  EXPECT_EQ(must(sut->state()).loss, (Loss{1, 2}));
}

// The older copy knows nothing of the epoch that was seen last: as many new events would hide what is gone.
TEST_F(Regression, WhatIsLostStaysAsItWasFound) {
  add(1);
  add(2);
  copy("q.db", "old.db");
  {
    StoreUnderTest sut(dir_.file("q.db"));
    must(sut->accept_regression());
  }
  add(3);
  copy("old.db", "q.db");
  for (int number = 4; number < 8; ++number) {
    StoreUnderTest sut(dir_.file("q.db"));
    EXPECT_EQ(must(sut->state()).loss, (Loss{3, 4})) << "before task " << number;
    EXPECT_EQ(code_of(claim(sut)), ErrorCode::kStoreRegressed);
    sut.add(number);
  }
  StoreUnderTest sut(dir_.file("q.db"));
  must(sut->accept_regression());
  EXPECT_EQ(must(claim(sut)).records.size(), 1U);
}

TEST_F(Regression, ACutLogIsNoticed) {
  add(1);
  const auto whole = fs::file_size(dir_.file("q.db-wal"));
  add(2);
  ASSERT_GT(fs::file_size(dir_.file("q.db-wal")), whole);
  fs::resize_file(dir_.file("q.db-wal"), whole);
  fs::remove(dir_.file("q.db-shm"));
  StoreUnderTest sut(dir_.file("q.db"));
  EXPECT_EQ(must(sut->state()).loss, (Loss{2, 2}));
}

TEST_F(Regression, AProcessThatRunsMovesToTheNewEpoch) {
  StoreUnderTest running(dir_.file("q.db"));
  running.add(1);
  must(running->accept_regression());
  {
    StoreUnderTest other(dir_.file("q.db"));
    must(other->accept_regression());
  }
  running.add(2);
  static_cast<void>(must(claim(running)));  // looks, because the epoch is another
  running.add(3);
  running.close();
  EXPECT_EQ(MarkFile(dir_.file("q.db-mark")).read()->number, 3);
  EXPECT_EQ(MarkFile(dir_.file("q.db-mark")).read()->seq, 6);
}

TEST_F(Regression, WithoutTheMarkNothingIsKnown) {
  lose_one();
  fs::remove(dir_.file("q.db-mark"));
  StoreUnderTest sut(dir_.file("q.db"));
  EXPECT_EQ(must(claim(sut)).records.size(), 1U);
}

// As on another machine: nothing is beside the copy.
TEST_F(Regression, ACopyElsewhereIsFoundOutByWhoeverHadSeenMore) {
  add(1);
  copy("q.db", "old.db");
  StoreMark saw;
  {
    StoreUnderTest sut(dir_.file("q.db"));
    sut.add(2);
    sut.add(3);
    saw = sut->seen();
    EXPECT_EQ(saw.mark.seq, 3);
  }
  fs::create_directory(dir_.path() / "elsewhere");
  copy("old.db", "elsewhere/q.db");
  StoreUnderTest sut(dir_.file("elsewhere/q.db"));
  EXPECT_EQ(must(sut->state()).loss, std::nullopt) << "nobody here knows";
  EXPECT_EQ(must(sut->state()).extent.epochs.back().cause, Epoch::Cause::kRestored);
  // As many new events hide nothing.
  for (int number = 4; number < 9; ++number) sut.add(number);
  EXPECT_EQ(must(sut->hear(saw)), true);
  EXPECT_EQ(must(sut->state()).loss, (Loss{2, 3}));
  EXPECT_EQ(code_of(claim(sut)), ErrorCode::kStoreRegressed);
  EXPECT_EQ(must(sut->hear(saw)), false) << "it is known";
  must(sut->accept_regression());
  EXPECT_EQ(must(claim(sut)).records.size(), 1U);
  EXPECT_EQ(must(sut->hear(saw)), false) << "and accepted";
}

TEST_F(Regression, OpeningAndRenamingADatabaseBeginsNoEpoch) {
  add(1);
  add(2);
  fs::rename(dir_.file("q.db"), dir_.file("renamed.db"));
  fs::rename(dir_.file("q.db-wal"), dir_.file("renamed.db-wal"));
  StoreUnderTest sut(dir_.file("renamed.db"));
  EXPECT_EQ(must(sut->state()).extent.epochs.size(), 1U);
}

TEST_F(Regression, ABootBeginsAnEpochBecauseAPowerCutMayHaveLostSomething) {
  StoreUnderTest sut(dir_.file("q.db"));
  sut.add(1);
  sut.clock().reboot();
  sut.reopen(dir_.file("q.db"));
  const StoreState state = must(sut->state());
  ASSERT_EQ(state.extent.epochs.size(), 2U);
  EXPECT_EQ(state.extent.epochs.back().cause, Epoch::Cause::kRestarted);
  EXPECT_EQ(state.extent.epochs.back().after, 1);
}

TEST_F(Regression, TheWordOfOthersCountsForThisStoreOnly) {
  for (const std::string& path : {std::string(), dir_.file("q.db")}) {
    SqliteOptions options;
    options.path = path;
    options.ballast_bytes = kNoBallast;
    StoreUnderTest sut(std::move(options));
    sut.add(1);
    const StoreMark seen = sut->seen();
    EXPECT_EQ(must(sut->hear(seen)), false);
    EXPECT_EQ(must(sut->hear({"0", {9, "1", 100}})), false) << "of another store";
    EXPECT_EQ(must(sut->state()).loss, std::nullopt);
    EXPECT_EQ(must(sut->hear({seen.store, {seen.mark.number, seen.mark.epoch, 5}})), true);
    EXPECT_EQ(must(sut->state()).loss, (Loss{2, 5}));
    EXPECT_EQ(code_of(claim(sut)), ErrorCode::kStoreRegressed);
    must(sut->accept_regression());
    EXPECT_EQ(must(claim(sut)).records.size(), 1U);
  }
}

// One epoch a boot, for years.
TEST_F(Regression, EpochsAreNotKeptForEver) {
  StoreUnderTest sut(dir_.file("q.db"));
  sut.add(1);
  const std::string store = sut->seen().store;
  for (int i = 0; i < 1'010; ++i) must(sut->accept_regression());
  const StoreState state = must(sut->state());
  EXPECT_EQ(state.extent.epochs.size(), 1'001U);
  EXPECT_EQ(sut->seen().store, store);
  EXPECT_EQ(must(sut->hear({store, {3, "3", 3}})), false) << "of an epoch that is forgotten";
}

}  // namespace
}  // namespace drover::test
