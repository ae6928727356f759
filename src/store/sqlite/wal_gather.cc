#include "store/sqlite/wal_gather.h"

#include <fmt/format.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "base/check.h"
#include "store/sqlite/connection.h"

namespace drover::sqlite {
namespace {

constexpr bool kNever = false;

// SQLite's own VFS takes less than 128 KiB at once.
constexpr std::size_t kGatherBytes = 120UL << 10;

// Of the locks in the shared memory, the one that a writer holds (WAL_WRITE_LOCK).
constexpr int kWriteLock = 0;

// The log as SQLite has it open. The file of the other VFS stands behind it in the same memory.
struct LogFile {
  sqlite3_file base;    // first: SQLite sees only this
  sqlite3_file** here;  // where it is told that the log is open
  const bool* gathers;
  std::unique_ptr<char[]> gathered;
  std::size_t size;     // of what is gathered
  sqlite3_int64 begin;  // where in the log it belongs
};

// As SQLite aligns the memory for a file.
static_assert(alignof(LogFile) == 8 && sizeof(LogFile) % 8 == 0);

LogFile& of(sqlite3_file* file) {
  return *reinterpret_cast<LogFile*>(file);
}

sqlite3_file* behind(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(file) + sizeof(LogFile));
}

// What could not be written stays, and is tried again at the latest by the sync that ends the transaction: a failure
// may show at a read, after which SQLite goes on with the rest of the transaction.
int flush(sqlite3_file* file) {
  LogFile& log = of(file);
  if (log.size == 0) return SQLITE_OK;
  const int code =
      behind(file)->pMethods->xWrite(behind(file), log.gathered.get(), static_cast<int>(log.size), log.begin);
  if (code == SQLITE_OK) log.size = 0;
  return code;
}

// Calls a method of the file behind, once that has all that was written.
template <auto Method, class... Args>
int pass(sqlite3_file* file, Args... args) {
  if (const int code = flush(file); code != SQLITE_OK) return code;
  return (behind(file)->pMethods->*Method)(behind(file), args...);
}

int write(sqlite3_file* file, const void* data, int amount, sqlite3_int64 offset) {
  LogFile& log = of(file);
  const auto bytes = static_cast<std::size_t>(amount);
  const bool follows = offset == log.begin + static_cast<sqlite3_int64>(log.size);
  if (!follows || log.size + bytes > kGatherBytes) {
    if (const int code = flush(file); code != SQLITE_OK) return code;
  }
  // SQLite does not expect exceptions.
  if (*log.gathers && log.gathered == nullptr) log.gathered.reset(new (std::nothrow) char[kGatherBytes]);
  if (!*log.gathers || log.gathered == nullptr || bytes > kGatherBytes) {
    return pass<&sqlite3_io_methods::xWrite>(file, data, amount, offset);
  }
  if (log.size == 0) log.begin = offset;
  std::memcpy(log.gathered.get() + log.size, data, bytes);
  log.size += bytes;
  return SQLITE_OK;
}

// What is gathered here was never synced, so nobody was told of it; but the file is left as SQLite wants it.
int close(sqlite3_file* file) {
  const int flushed = flush(file);
  const int closed = behind(file)->pMethods->xClose(behind(file));
  *of(file).here = nullptr;
  of(file).~LogFile();
  return flushed != SQLITE_OK ? flushed : closed;
}

int sector_size(sqlite3_file* file) {
  return behind(file)->pMethods->xSectorSize(behind(file));
}

int device_characteristics(sqlite3_file* file) {
  return behind(file)->pMethods->xDeviceCharacteristics(behind(file));
}

constexpr sqlite3_io_methods kLogMethods = [] {
  sqlite3_io_methods methods{};
  methods.iVersion = 1;  // a log is neither mapped nor shared memory
  methods.xClose = close;
  methods.xRead = pass<&sqlite3_io_methods::xRead, void*, int, sqlite3_int64>;
  methods.xWrite = write;
  methods.xTruncate = pass<&sqlite3_io_methods::xTruncate, sqlite3_int64>;
  methods.xSync = pass<&sqlite3_io_methods::xSync, int>;
  methods.xFileSize = pass<&sqlite3_io_methods::xFileSize, sqlite3_int64*>;
  methods.xLock = pass<&sqlite3_io_methods::xLock, int>;
  methods.xUnlock = pass<&sqlite3_io_methods::xUnlock, int>;
  methods.xCheckReservedLock = pass<&sqlite3_io_methods::xCheckReservedLock, int*>;
  methods.xFileControl = pass<&sqlite3_io_methods::xFileControl, int, void*>;
  methods.xSectorSize = sector_size;
  methods.xDeviceCharacteristics = device_characteristics;
  return methods;
}();

std::string next_name() {
  static std::atomic<std::uint64_t> made = 0;
  return fmt::format("drover-{}", ++made);
}

}  // namespace

struct WalGatherMethods {
  static WalGather& gather_of(sqlite3_vfs* vfs) { return *static_cast<WalGather*>(vfs->pAppData); }

  // Calls a method of the other VFS.
  template <auto Method, class... Args>
  static int pass(sqlite3_vfs* vfs, Args... args) {
    sqlite3_vfs* base = gather_of(vfs).base_;
    return (base->*Method)(base, args...);
  }

  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    WalGather& gather = gather_of(vfs);
    if ((flags & SQLITE_OPEN_WAL) != 0) return open_log(gather, name, file, flags, out_flags);
    const int code = gather.base_->xOpen(gather.base_, name, file, flags, out_flags);
    if (code == SQLITE_OK && (flags & SQLITE_OPEN_MAIN_DB) != 0) watch_lock(gather, file);
    return code;
  }

  static int open_log(WalGather& gather, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    sqlite3_file* real = behind(file);
    file->pMethods = nullptr;
    real->pMethods = nullptr;
    const int code = gather.base_->xOpen(gather.base_, name, real, flags, out_flags);
    if (code == SQLITE_OK) {
      // Where an overwrite may damage what stands beside it, SQLite fills up a sector behind a commit, tells others of
      // that, and does not sync it.
      const bool syncs_all = (real->pMethods->xDeviceCharacteristics(real) & SQLITE_IOCAP_POWERSAFE_OVERWRITE) != 0;
      new (file) LogFile{.base = {&kLogMethods},
                         .here = &gather.log_,
                         .gathers = syncs_all ? &gather.gathers_ : &kNever,
                         .gathered = {},
                         .size = 0,
                         .begin = 0};
      gather.log_ = file;
    } else if (real->pMethods != nullptr) {
      real->pMethods->xClose(real);
    }
    return code;
  }

  // A file without shared memory has no log.
  static void watch_lock(WalGather& gather, sqlite3_file* file) {
    const sqlite3_io_methods* real = file->pMethods;
    if (real->iVersion < 2 || real->xShmLock == nullptr) return;
    gather.database_ = {*real, real, &gather};
    gather.database_.methods.xShmLock = shm_lock;
    file->pMethods = &gather.database_.methods;
  }

  // What is still gathered when the lock goes is of a transaction that was rolled back: whether it can be written does
  // not matter, only that it is not written later.
  static int shm_lock(sqlite3_file* file, int first, int count, int flags) {
    const auto& database = *reinterpret_cast<const WalGather::DatabaseMethods*>(file->pMethods);
    if (first == kWriteLock && (flags & SQLITE_SHM_UNLOCK) != 0 && database.gather->log_ != nullptr) {
      static_cast<void>(flush(database.gather->log_));
      of(database.gather->log_).size = 0;
    }
    return database.real->xShmLock(file, first, count, flags);
  }
};

WalGather::WalGather(const std::string& base_name)
    : base_(sqlite3_vfs_find(base_name.empty() ? nullptr : base_name.c_str())), name_(next_name()) {
  if (base_ == nullptr) throw SqliteFailure(SQLITE_ERROR, "no such VFS: " + base_name);
  using Methods = WalGatherMethods;
  vfs_.iVersion = 1;
  vfs_.szOsFile = static_cast<int>(sizeof(LogFile)) + base_->szOsFile;
  vfs_.mxPathname = base_->mxPathname;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.xOpen = Methods::open;
  vfs_.xDelete = Methods::pass<&sqlite3_vfs::xDelete, const char*, int>;
  vfs_.xAccess = Methods::pass<&sqlite3_vfs::xAccess, const char*, int, int*>;
  vfs_.xFullPathname = Methods::pass<&sqlite3_vfs::xFullPathname, const char*, int, char*>;
  vfs_.xRandomness = Methods::pass<&sqlite3_vfs::xRandomness, int, char*>;
  vfs_.xSleep = Methods::pass<&sqlite3_vfs::xSleep, int>;
  vfs_.xCurrentTime = Methods::pass<&sqlite3_vfs::xCurrentTime, double*>;
  vfs_.xGetLastError = Methods::pass<&sqlite3_vfs::xGetLastError, int, char*>;
  CHECK(sqlite3_vfs_register(&vfs_, 0) == SQLITE_OK);
}

WalGather::~WalGather() {
  sqlite3_vfs_unregister(&vfs_);
}

}  // namespace drover::sqlite
