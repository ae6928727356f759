// Few large writes instead of many small ones, and nobody can tell but by the time that it takes.
#include "store/sqlite/wal_gather.h"

#include <gtest/gtest.h>

#include <string>

#include "store/sqlite/connection.h"
#include "support/printers.h"
#include "unit/store/store_fixture.h"

namespace drover::test {
namespace {

using sqlite::Connection;
using sqlite::SqliteFailure;
using sqlite::WalGather;

int log_writes = 0;
bool disk_is_full = false;
bool disk_is_read_only = false;
bool overwrites_safely = true;
sqlite3_io_methods log_methods;
const sqlite3_io_methods* real_methods = nullptr;

int write_log(sqlite3_file* file, const void* data, int amount, sqlite3_int64 offset) {
  ++log_writes;
  if (disk_is_read_only) return SQLITE_IOERR_WRITE;
  return disk_is_full ? SQLITE_FULL : real_methods->xWrite(file, data, amount, offset);
}

int characteristics_of_log(sqlite3_file* file) {
  return overwrites_safely ? real_methods->xDeviceCharacteristics(file) : 0;
}

int open_watched(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  auto* real = static_cast<sqlite3_vfs*>(vfs->pAppData);
  const int code = real->xOpen(real, name, file, flags, out_flags);
  if (code != SQLITE_OK || (flags & SQLITE_OPEN_WAL) == 0) return code;
  real_methods = file->pMethods;
  log_methods = *real_methods;
  log_methods.xWrite = write_log;
  log_methods.xDeviceCharacteristics = characteristics_of_log;
  file->pMethods = &log_methods;
  return code;
}

// SQLite's own VFS, but that it counts what is written to the log, and may find the disk full or read-only.
class WatchedVfs {
 public:
  WatchedVfs() : vfs_(*sqlite3_vfs_find(nullptr)) {
    vfs_.pAppData = sqlite3_vfs_find(nullptr);
    vfs_.zName = "watched";
    vfs_.xOpen = open_watched;
    EXPECT_EQ(sqlite3_vfs_register(&vfs_, 0), SQLITE_OK);
    log_writes = 0;
    disk_is_full = false;
    disk_is_read_only = false;
    overwrites_safely = true;
  }
  ~WatchedVfs() { sqlite3_vfs_unregister(&vfs_); }
  WatchedVfs(const WatchedVfs&) = delete;
  WatchedVfs& operator=(const WatchedVfs&) = delete;

 private:
  sqlite3_vfs vfs_;
};

class WalGatherTest : public ::testing::Test {
 protected:
  WalGatherTest() {
    db_.execute_script("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (a INTEGER, b BLOB)");
    gather_.start();
    log_writes = 0;
  }

  void insert(int rows) {
    db_.run(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) INSERT INTO t SELECT i, "
        "randomblob(1000) FROM n",
        rows);
  }
  std::int64_t rows_seen_by_another() { return RawDatabase(path_).number("SELECT count(*) FROM t"); }

  TempDir dir_;
  const std::string path_ = dir_.file("gathered.db");
  WatchedVfs watched_;
  WalGather gather_{"watched"};
  Connection db_{{.path = path_, .vfs = gather_.name()}};
};

TEST_F(WalGatherTest, ACommitIsFewWritesAndOthersSeeItAtOnce) {
  insert(8);
  EXPECT_LE(log_writes, 2);
  EXPECT_EQ(rows_seen_by_another(), 8);
  log_writes = 0;
  insert(1'000);  // a megabyte
  EXPECT_LE(log_writes, 14);
  EXPECT_GE(log_writes, 8);
  EXPECT_EQ(rows_seen_by_another(), 1'008);
}

TEST_F(WalGatherTest, ReadsBackWhatATransactionHasSpilled) {
  db_.execute_script("PRAGMA cache_size = 5; BEGIN");
  insert(500);
  EXPECT_EQ(db_.number("SELECT count(*) FROM t WHERE length(b) = 1000"), 500);
  db_.run("UPDATE t SET b = zeroblob(900) WHERE a % 2 = 0");
  EXPECT_EQ(db_.number("SELECT sum(length(b)) FROM t"), 250 * 1'900);
  EXPECT_EQ(rows_seen_by_another(), 0);
  db_.run("COMMIT");
  EXPECT_EQ(rows_seen_by_another(), 500);
  EXPECT_EQ(RawDatabase(path_).text("PRAGMA integrity_check"), "ok");
}

TEST_F(WalGatherTest, ARollbackLeavesNothing) {
  insert(10);
  db_.execute_script("PRAGMA cache_size = 5; BEGIN");
  insert(500);
  db_.run("ROLLBACK");
  EXPECT_EQ(rows_seen_by_another(), 10);
  insert(20);
  EXPECT_EQ(rows_seen_by_another(), 30);
  db_.execute_script("PRAGMA wal_checkpoint(TRUNCATE)");
  insert(1);
  EXPECT_EQ(rows_seen_by_another(), 31);
  EXPECT_EQ(RawDatabase(path_).text("PRAGMA integrity_check"), "ok");
}

TEST_F(WalGatherTest, WhatWasRolledBackIsNotWrittenOverWhatOthersCommittedSince) {
  insert(10);
  // With an empty log nothing has to be read from it to roll back.
  db_.execute_script("PRAGMA cache_size = 5; PRAGMA wal_checkpoint(TRUNCATE); BEGIN");
  insert(60);
  db_.run("ROLLBACK");
  RawDatabase(path_).run("INSERT INTO t SELECT a, zeroblob(3000) FROM t");
  EXPECT_EQ(db_.number("SELECT sum(length(b)) FROM t"), 10 * 4'000);
  insert(1);
  EXPECT_EQ(rows_seen_by_another(), 21);
  EXPECT_EQ(RawDatabase(path_).text("PRAGMA integrity_check"), "ok");
}

TEST_F(WalGatherTest, AFullDiskFailsTheCommitThatDoesNotFit) {
  insert(10);
  disk_is_full = true;
  try {
    insert(10);
    FAIL() << "was committed";
  } catch (const SqliteFailure& failure) {
    EXPECT_EQ(failure.primary_code(), SQLITE_FULL) << failure.what();
  }
  EXPECT_EQ(rows_seen_by_another(), 10);
  disk_is_full = false;
  insert(5);
  EXPECT_EQ(rows_seen_by_another(), 15);
}

// It shows at a read, which undoes one statement, and the transaction goes on.
TEST_F(WalGatherTest, WhatAFullDiskKeptBackIsWrittenOnceThereIsRoom) {
  db_.execute_script("CREATE TABLE u (a INTEGER UNIQUE); PRAGMA cache_size = 5");
  insert(100);
  db_.execute_script("BEGIN");
  insert(60);  // spills some of its pages
  disk_is_full = true;
  try {
    db_.run("INSERT INTO u SELECT a FROM t LIMIT 100");
    FAIL() << "read what was never written";
  } catch (const SqliteFailure& failure) {
    ASSERT_EQ(failure.primary_code(), SQLITE_FULL) << failure.what();
  }
  disk_is_full = false;
  db_.run("COMMIT");
  EXPECT_EQ(rows_seen_by_another(), 160);
  EXPECT_EQ(RawDatabase(path_).text("PRAGMA integrity_check"), "ok");
}

TEST(WalGather, GathersNothingUntilItIsTold) {
  const TempDir dir;
  const WatchedVfs watched;
  WalGather gather("watched");
  Connection db({.path = dir.file("plain.db"), .vfs = gather.name()});
  db.execute_script("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; CREATE TABLE t (a INTEGER)");
  db.run("INSERT INTO t VALUES (1)");
  EXPECT_GE(log_writes, 4);
  EXPECT_EQ(RawDatabase(dir.file("plain.db")).number("SELECT count(*) FROM t"), 1);
}

TEST(WalGather, GathersNothingWhereACommitFillsUpItsSector) {
  const TempDir dir;
  const WatchedVfs watched;
  overwrites_safely = false;
  WalGather gather("watched");
  Connection db({.path = dir.file("padded.db"), .vfs = gather.name()});
  db.execute_script("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (a BLOB)");
  gather.start();
  log_writes = 0;
  db.run("INSERT INTO t VALUES (randomblob(40000))");
  EXPECT_GE(log_writes, 20) << "ten pages, each with its head";
}

TEST(WalGather, NeedsAVfsBehindIt) {
  EXPECT_THROW(WalGather("no such thing"), SqliteFailure);
}

TEST(StoreOnAReadOnlyDisk, SaysThatItCannotBeWrittenUntilItCan) {
  const WatchedVfs vfs;
  const TempDir dir;
  SqliteOptions options;
  options.path = dir.file("q.db");
  options.vfs = "watched";
  options.ballast_bytes = kNoBallast;
  StoreUnderTest sut(std::move(options));
  must(sut->try_write());
  disk_is_read_only = true;
  sut.clock().advance(Millis(1'000));
  EXPECT_EQ(code_of(sut->try_write()), ErrorCode::kStoreUnavailable);
  EXPECT_TRUE(sut->state()) << "reads go on";
  disk_is_read_only = false;
  must(sut->try_write());
  EXPECT_EQ(must(sut->events(0, 10)).size(), 0U) << "nobody sees it";
}

}  // namespace
}  // namespace drover::test
