// What the outside makes of each failure of SQLite.
#include "store/sqlite/failure.h"

#include <gtest/gtest.h>

#include "support/printers.h"

namespace drover::sqlite {
namespace {

struct Meaning {
  int sqlite_code;
  ErrorCode code;
};

const Meaning kMeanings[] = {
    {SQLITE_FULL, ErrorCode::kDiskFull},
    {SQLITE_IOERR_SHMSIZE, ErrorCode::kDiskFull},
    {SQLITE_CORRUPT, ErrorCode::kStoreDamaged},
    {SQLITE_CORRUPT_INDEX, ErrorCode::kStoreDamaged},
    {SQLITE_NOTADB, ErrorCode::kStoreDamaged},
    {SQLITE_BUSY, ErrorCode::kStoreUnavailable},
    {SQLITE_BUSY_SNAPSHOT, ErrorCode::kStoreUnavailable},
    {SQLITE_LOCKED, ErrorCode::kStoreUnavailable},
    {SQLITE_READONLY, ErrorCode::kStoreUnavailable},
    {SQLITE_READONLY_DBMOVED, ErrorCode::kStoreUnavailable},
    {SQLITE_CANTOPEN, ErrorCode::kStoreUnavailable},
    {SQLITE_PERM, ErrorCode::kStoreUnavailable},
    {SQLITE_IOERR_READ, ErrorCode::kStoreUnavailable},
    {SQLITE_IOERR_FSYNC, ErrorCode::kStoreUnavailable},
    {SQLITE_NOMEM, ErrorCode::kStoreUnavailable},
    {SQLITE_CONSTRAINT, ErrorCode::kInternal},
    {SQLITE_MISUSE, ErrorCode::kInternal},
};

TEST(SqliteFailure, HasOneMeaningEach) {
  for (const Meaning& meaning : kMeanings) {
    const Error error = to_error(SqliteFailure(meaning.sqlite_code, "the cause"), "sqlite.test");
    EXPECT_EQ(error.code, meaning.code) << meaning.sqlite_code;
    EXPECT_EQ(error.operation, "sqlite.test");
    EXPECT_NE(error.message.find("the cause"), std::string::npos);
  }
}

TEST(SqliteFailure, OnlyAFailedSyncIsOne) {
  EXPECT_TRUE(is_sync_failure(SqliteFailure(SQLITE_IOERR_FSYNC, "")));
  EXPECT_TRUE(is_sync_failure(SqliteFailure(SQLITE_IOERR_DIR_FSYNC, "")));
  EXPECT_FALSE(is_sync_failure(SqliteFailure(SQLITE_IOERR_WRITE, "")));
  EXPECT_FALSE(is_sync_failure(SqliteFailure(SQLITE_IOERR, "")));
}

TEST(SqliteFailure, GuardedTurnsItIntoAnErrorAndLetsTheRestThrough) {
  const Result<int> fine = guarded("sqlite.test", [] { return 5; });
  EXPECT_EQ(fine.value_or(0), 5);
  const Status failed = guarded("sqlite.test", [] { throw SqliteFailure(SQLITE_FULL, "x"); });
  EXPECT_EQ(failed.error().code, ErrorCode::kDiskFull);
  EXPECT_THROW(static_cast<void>(guarded("sqlite.test", [] { throw std::logic_error("not ours"); })), std::logic_error);
}

}  // namespace
}  // namespace drover::sqlite
