#include "store/sqlite/failure.h"

#include <fmt/format.h>

namespace drover::sqlite {
namespace {

struct Meaning {
  ErrorCode code;
  std::string_view text;
};

Meaning meaning_of(const SqliteFailure& failure) {
  if (is_disk_full(failure)) return {ErrorCode::kDiskFull, "the disk is full"};
  if (failure.code() == kNewerSchema) {
    return {ErrorCode::kSchemaTooNew, "a newer drover uses this database; stop this program and upgrade it"};
  }
  switch (failure.primary_code()) {
    case SQLITE_CORRUPT:
      return {ErrorCode::kStoreDamaged,
              "the database is damaged; stop all workers and keep a copy; drover fsck --repair mends indexes, for more "
              "restore a backup (the .recover of sqlite3 may save what is left)"};
    case SQLITE_NOTADB:
      return {ErrorCode::kStoreDamaged, "the file is not a database; name another one, or restore it from a backup"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorCode::kStoreUnavailable, "the database is locked by another program"};
    case SQLITE_READONLY:
      return {ErrorCode::kStoreUnavailable, "the database cannot be written by this user"};
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {ErrorCode::kStoreUnavailable, "the database cannot be opened"};
    case SQLITE_IOERR:
      return {ErrorCode::kStoreUnavailable, "the database cannot be read or written"};
    case SQLITE_NOMEM:
      return {ErrorCode::kStoreUnavailable, "out of memory"};
    default:
      return {ErrorCode::kInternal, "SQLite refused a statement"};
  }
}

}  // namespace

Error to_error(const SqliteFailure& failure, std::string_view operation) {
  const Meaning meaning = meaning_of(failure);
  return {meaning.code, fmt::format("{}: {}", meaning.text, failure.what()), std::string(operation)};
}

bool is_disk_full(const SqliteFailure& failure) {
  // The index of the write-ahead log is a file too; that it cannot grow has hardly another cause.
  return failure.primary_code() == SQLITE_FULL || failure.code() == SQLITE_IOERR_SHMSIZE;
}

bool is_sync_failure(const SqliteFailure& failure) {
  return failure.code() == SQLITE_IOERR_FSYNC || failure.code() == SQLITE_IOERR_DIR_FSYNC;
}

}  // namespace drover::sqlite
