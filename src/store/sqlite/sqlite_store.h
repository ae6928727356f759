// The embedded store: one SQLite database in a file that several processes may share, or in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "drover/error.h"
#include "store/sqlite/meter.h"
#include "store/sqlite/side_files.h"
#include "store/store.h"

namespace drover {

struct SqliteOptions {
  // What a commit survives: kFull a power cut, kNormal a killed process.
  enum class Synchronous : std::uint8_t { kFull, kNormal };

  std::string path;  // empty: in memory
  Clock* clock = &system_clock();
  Synchronous synchronous = Synchronous::kFull;
  Millis lock_wait{8'000};                         // for the lock; below the 10 s in which a caller is answered
  Millis busy_wait{1'000};                         // for SQLite's own locks, held by other programs
  std::int64_t ballast_bytes = 64LL << 20;         // 0: none
  std::int64_t log_bytes_max = 1LL << 20;          // kept of the output of one run
  std::int64_t checkpoint_wal_bytes = 16LL << 20;  // the write-ahead log is folded in when it has grown past this

  // For simulators: the VFS that SQLite uses (its default if empty) and the side files (the real ones if null; with
  // these set no file is touched but through the VFS).
  std::string vfs;
  std::unique_ptr<SideFiles> side_files;
  // Where it is kept how far the store has been, and no file if empty; PATH-mark with the real side files.
  std::string mark_path = {};
  // Which file the database is: a copy of it is another one, also at the same path. Nothing is known of it if empty.
  std::string file_id = {};
  // After a failed fsync nothing that was written before it can be trusted to be on disk, and asking again proves
  // nothing. The default logs and aborts; if a test's handler returns, the store answers kStoreUnavailable from then
  // on.
  std::function<void(const std::string& what)> on_sync_failure;
  sqlite::Meter* meter = nullptr;  // counts the work of writes; for tests, which outlive the store with it
};

// Opens or creates the database. Creates missing folders (0700) and files (0600), brings an older schema up to date.
// kSchemaTooNew, kStoreDamaged (not a Drover database, or a broken one) and kStoreUnavailable change nothing.
[[nodiscard]] Result<std::unique_ptr<Store>> open_sqlite(SqliteOptions options);

}  // namespace drover
