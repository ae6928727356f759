#include "sim/power_vfs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/check.h"

namespace drover::sim {

struct OpenFile {
  sqlite3_file base;  // first: SQLite sees only this
  PowerVfs* vfs;
  std::shared_ptr<DiskFile> file;
  bool delete_on_close;
  int lock_level;
  std::shared_ptr<SharedMemory> shm;  // kept by the dead too: SQLite still has pointers into it
  bool shm_attached;
  unsigned shm_shared;     // bit i: holds slot i shared
  unsigned shm_exclusive;  // bit i: holds slot i alone
};

namespace {

OpenFile& of(sqlite3_file* file) {
  return *reinterpret_cast<OpenFile*>(file);
}

void detach_shm(OpenFile& handle) {
  if (!handle.shm_attached) return;
  for (int slot = 0; slot < SharedMemory::kLocks; ++slot) {
    const unsigned bit = 1U << slot;
    if ((handle.shm_shared & bit) != 0) --handle.shm->shared[slot];
    if ((handle.shm_exclusive & bit) != 0) handle.shm->exclusive[slot] = false;
  }
  handle.shm_shared = handle.shm_exclusive = 0;
  handle.shm_attached = false;
  if (--handle.shm->users == 0) handle.file->shm.reset();
}

void lower_lock(OpenFile& handle, int level) {
  DiskFile& file = *handle.file;
  if (handle.lock_level >= SQLITE_LOCK_EXCLUSIVE && level < SQLITE_LOCK_EXCLUSIVE) file.exclusive = false;
  if (handle.lock_level >= SQLITE_LOCK_PENDING && level < SQLITE_LOCK_PENDING) file.pending = false;
  if (handle.lock_level >= SQLITE_LOCK_RESERVED && level < SQLITE_LOCK_RESERVED) file.reserved = false;
  if (handle.lock_level >= SQLITE_LOCK_SHARED && level < SQLITE_LOCK_SHARED) --file.shared_locks;
  handle.lock_level = std::min(handle.lock_level, level);
}

int raise_to_exclusive(OpenFile& handle) {
  DiskFile& file = *handle.file;
  if (file.pending && handle.lock_level < SQLITE_LOCK_PENDING) return SQLITE_BUSY;
  // Pending keeps new readers out while the old ones leave; it stays if the caller must ask again.
  file.pending = true;
  handle.lock_level = SQLITE_LOCK_PENDING;
  if (file.shared_locks > 1) return SQLITE_BUSY;
  file.exclusive = true;
  handle.lock_level = SQLITE_LOCK_EXCLUSIVE;
  return SQLITE_OK;
}

}  // namespace

struct VfsMethods {
  static PowerVfs& vfs_of(sqlite3_vfs* vfs) { return *static_cast<PowerVfs*>(vfs->pAppData); }

  // What every operation passes first: the dead do nothing, the hook may refuse.
  static int enter(PowerVfs& vfs, DiskOp op, const std::string& name) {
    if (vfs.dead()) return SQLITE_IOERR;
    const int code = vfs.disk_.before(op, name);
    if (code != SQLITE_OK) return code;
    return vfs.dead() ? SQLITE_IOERR : SQLITE_OK;  // the hook may have cut the power
  }

  static int open(sqlite3_vfs* base, const char* name, sqlite3_file* out, int flags, int* out_flags);
  static int remove(sqlite3_vfs* base, const char* name, int sync_dir) {
    PowerVfs& vfs = vfs_of(base);
    if (const int code = enter(vfs, DiskOp::kDelete, name); code != SQLITE_OK) return code;
    if (vfs.disk_.find(name) == nullptr) return SQLITE_IOERR_DELETE_NOENT;
    vfs.disk_.remove(name, sync_dir != 0 ? PowerDisk::DeleteSync::kNow : PowerDisk::DeleteSync::kLater);
    return SQLITE_OK;
  }
  static int access(sqlite3_vfs* base, const char* name, int /*flags*/, int* out) {
    PowerVfs& vfs = vfs_of(base);
    if (vfs.dead()) return SQLITE_IOERR_ACCESS;
    *out = vfs.disk_.find(name) != nullptr ? 1 : 0;
    return SQLITE_OK;
  }
  static int full_pathname(sqlite3_vfs* /*base*/, const char* name, int size, char* out) {
    sqlite3_snprintf(size, out, "%s", name);
    return SQLITE_OK;
  }
  static int randomness(sqlite3_vfs* /*base*/, int size, char* out) {
    std::memset(out, 0, static_cast<std::size_t>(size));
    return size;
  }
  static int wait(sqlite3_vfs* /*base*/, int microseconds) { return microseconds; }
  static int current_time(sqlite3_vfs* /*base*/, double* out) {
    *out = 2460000.5;  // nothing of ours asks SQLite for the time
    return SQLITE_OK;
  }
  static int last_error(sqlite3_vfs* /*base*/, int /*size*/, char* /*out*/) { return 0; }

  static int close(sqlite3_file* base) {
    OpenFile& handle = of(base);
    PowerVfs& vfs = *handle.vfs;
    if (!vfs.dead()) {
      lower_lock(handle, SQLITE_LOCK_NONE);
      detach_shm(handle);
      if (handle.delete_on_close) vfs.disk_.remove(handle.file->name(), PowerDisk::DeleteSync::kLater);
    }
    vfs.open_.erase(&handle);
    handle.~OpenFile();
    return SQLITE_OK;
  }

  static int read(sqlite3_file* base, void* out, int amount, sqlite3_int64 offset) {
    OpenFile& handle = of(base);
    if (const int code = enter(*handle.vfs, DiskOp::kRead, handle.file->name()); code != SQLITE_OK) return code;
    const std::string& bytes = handle.file->bytes();
    const auto wanted = static_cast<std::size_t>(amount);
    const std::size_t begin = std::min(static_cast<std::size_t>(offset), bytes.size());
    const std::size_t got = std::min(wanted, bytes.size() - begin);
    std::memcpy(out, bytes.data() + begin, got);
    if (got == wanted) return SQLITE_OK;
    std::memset(static_cast<char*>(out) + got, 0, wanted - got);
    return SQLITE_IOERR_SHORT_READ;
  }

  static int write(sqlite3_file* base, const void* data, int amount, sqlite3_int64 offset) {
    OpenFile& handle = of(base);
    if (const int code = enter(*handle.vfs, DiskOp::kWrite, handle.file->name()); code != SQLITE_OK) return code;
    const auto size = static_cast<std::size_t>(amount);
    const auto begin = static_cast<std::size_t>(offset);
    if (!handle.vfs->disk_.fits(*handle.file, begin + size)) return SQLITE_FULL;
    handle.file->write(begin, {static_cast<const char*>(data), size});
    return SQLITE_OK;
  }

  static int truncate(sqlite3_file* base, sqlite3_int64 size) {
    OpenFile& handle = of(base);
    if (const int code = enter(*handle.vfs, DiskOp::kTruncate, handle.file->name()); code != SQLITE_OK) return code;
    if (!handle.vfs->disk_.fits(*handle.file, static_cast<std::size_t>(size))) return SQLITE_FULL;
    handle.file->truncate(static_cast<std::size_t>(size));
    return SQLITE_OK;
  }

  static int sync(sqlite3_file* base, int /*flags*/) {
    OpenFile& handle = of(base);
    if (const int code = enter(*handle.vfs, DiskOp::kSync, handle.file->name()); code != SQLITE_OK) return code;
    handle.vfs->disk_.sync(*handle.file);
    return SQLITE_OK;
  }

  static int file_size(sqlite3_file* base, sqlite3_int64* out) {
    if (of(base).vfs->dead()) return SQLITE_IOERR_FSTAT;
    *out = static_cast<sqlite3_int64>(of(base).file->bytes().size());
    return SQLITE_OK;
  }

  static int lock(sqlite3_file* base, int level) {
    OpenFile& handle = of(base);
    if (handle.vfs->dead()) return SQLITE_IOERR_LOCK;
    if (handle.lock_level >= level) return SQLITE_OK;
    DiskFile& file = *handle.file;
    if (level == SQLITE_LOCK_SHARED) {
      if (file.pending || file.exclusive) return SQLITE_BUSY;
      ++file.shared_locks;
      handle.lock_level = SQLITE_LOCK_SHARED;
      return SQLITE_OK;
    }
    if (level == SQLITE_LOCK_RESERVED) {
      if (file.reserved) return SQLITE_BUSY;
      file.reserved = true;
      handle.lock_level = SQLITE_LOCK_RESERVED;
      return SQLITE_OK;
    }
    if (file.reserved && handle.lock_level < SQLITE_LOCK_RESERVED) return SQLITE_BUSY;
    file.reserved = true;
    return raise_to_exclusive(handle);
  }

  static int unlock(sqlite3_file* base, int level) {
    if (!of(base).vfs->dead()) lower_lock(of(base), level);
    return SQLITE_OK;
  }

  static int check_reserved_lock(sqlite3_file* base, int* out) {
    *out = of(base).file->reserved ? 1 : 0;
    return SQLITE_OK;
  }
  static int file_control(sqlite3_file* /*base*/, int /*op*/, void* /*arg*/) { return SQLITE_NOTFOUND; }
  static int sector_size(sqlite3_file* /*base*/) { return static_cast<int>(kSectorBytes); }
  static int device_characteristics(sqlite3_file* /*base*/) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

  static int shm_map(sqlite3_file* base, int region, int size, int extend, void volatile** out) {
    OpenFile& handle = of(base);
    *out = nullptr;
    if (handle.vfs->dead()) return SQLITE_IOERR_SHMMAP;
    if (handle.shm == nullptr) {
      if (handle.file->shm == nullptr) handle.file->shm = std::make_shared<SharedMemory>();
      handle.shm = handle.file->shm;
      handle.shm_attached = true;
      ++handle.shm->users;
    }
    auto& regions = handle.shm->regions;
    while (extend != 0 && regions.size() <= static_cast<std::size_t>(region))
      regions.push_back(std::make_unique<char[]>(static_cast<std::size_t>(size)));  // zeroed
    if (regions.size() > static_cast<std::size_t>(region)) *out = regions[static_cast<std::size_t>(region)].get();
    return SQLITE_OK;
  }

  static int shm_lock(sqlite3_file* base, int offset, int count, int flags) {
    OpenFile& handle = of(base);
    if (handle.vfs->dead()) return SQLITE_IOERR_SHMLOCK;
    if (handle.shm == nullptr) return SQLITE_IOERR_SHMLOCK;
    SharedMemory& shm = *handle.shm;
    const bool shared = (flags & SQLITE_SHM_SHARED) != 0;
    if ((flags & SQLITE_SHM_UNLOCK) == 0) {
      for (int slot = offset; slot < offset + count; ++slot) {
        const unsigned bit = 1U << slot;
        const bool others_exclusive = shm.exclusive[slot] && (handle.shm_exclusive & bit) == 0;
        const int others_shared = shm.shared[slot] - ((handle.shm_shared & bit) != 0 ? 1 : 0);
        if (others_exclusive || (!shared && others_shared > 0)) return SQLITE_BUSY;
      }
    }
    for (int slot = offset; slot < offset + count; ++slot)
      set_shm_lock(handle, slot, shared, (flags & SQLITE_SHM_UNLOCK) == 0);
    return SQLITE_OK;
  }

  static void set_shm_lock(OpenFile& handle, int slot, bool shared, bool held) {
    const unsigned bit = 1U << slot;
    unsigned& mask = shared ? handle.shm_shared : handle.shm_exclusive;
    if (((mask & bit) != 0) == held) return;
    mask ^= bit;
    if (shared) {
      handle.shm->shared[slot] += held ? 1 : -1;
    } else {
      handle.shm->exclusive[slot] = held;
    }
  }

  static void shm_barrier(sqlite3_file* /*base*/) {}

  static int shm_unmap(sqlite3_file* base, int /*delete_flag*/) {
    OpenFile& handle = of(base);
    if (!handle.vfs->dead()) detach_shm(handle);
    handle.shm.reset();
    return SQLITE_OK;
  }
};

namespace {

const sqlite3_io_methods kFileMethods = {
    .iVersion = 2,
    .xClose = VfsMethods::close,
    .xRead = VfsMethods::read,
    .xWrite = VfsMethods::write,
    .xTruncate = VfsMethods::truncate,
    .xSync = VfsMethods::sync,
    .xFileSize = VfsMethods::file_size,
    .xLock = VfsMethods::lock,
    .xUnlock = VfsMethods::unlock,
    .xCheckReservedLock = VfsMethods::check_reserved_lock,
    .xFileControl = VfsMethods::file_control,
    .xSectorSize = VfsMethods::sector_size,
    .xDeviceCharacteristics = VfsMethods::device_characteristics,
    .xShmMap = VfsMethods::shm_map,
    .xShmLock = VfsMethods::shm_lock,
    .xShmBarrier = VfsMethods::shm_barrier,
    .xShmUnmap = VfsMethods::shm_unmap,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

std::string next_vfs_name() {
  static std::uint64_t made = 0;
  return fmt::format("power-{}", ++made);
}

}  // namespace

int VfsMethods::open(sqlite3_vfs* base, const char* name, sqlite3_file* out, int flags, int* out_flags) {
  PowerVfs& vfs = vfs_of(base);
  out->pMethods = nullptr;
  static std::uint64_t temporary_files = 0;
  const std::string path = name != nullptr ? name : fmt::format("temporary-{}", ++temporary_files);
  if (const int code = enter(vfs, DiskOp::kOpen, path); code != SQLITE_OK) return code;
  std::shared_ptr<DiskFile> file = vfs.disk_.find(path);
  if (file == nullptr) {
    if ((flags & SQLITE_OPEN_CREATE) == 0) return SQLITE_CANTOPEN;
    file = vfs.disk_.create(path);
  }
  const bool delete_on_close = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0;
  auto* handle = new (out) OpenFile{.base = {&kFileMethods},
                                    .vfs = &vfs,
                                    .file = std::move(file),
                                    .delete_on_close = delete_on_close,
                                    .lock_level = SQLITE_LOCK_NONE};
  vfs.open_.insert(handle);
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

PowerVfs::PowerVfs(PowerDisk& disk) : disk_(disk), name_(next_vfs_name()), power_cycle_(disk.power_cycles()) {
  vfs_ = {.iVersion = 1,
          .szOsFile = static_cast<int>(sizeof(OpenFile)),
          .mxPathname = 512,
          .zName = name_.c_str(),
          .pAppData = this,
          .xOpen = VfsMethods::open,
          .xDelete = VfsMethods::remove,
          .xAccess = VfsMethods::access,
          .xFullPathname = VfsMethods::full_pathname,
          .xRandomness = VfsMethods::randomness,
          .xSleep = VfsMethods::wait,
          .xCurrentTime = VfsMethods::current_time,
          .xGetLastError = VfsMethods::last_error};
  CHECK(sqlite3_vfs_register(&vfs_, 0) == SQLITE_OK);
}

PowerVfs::~PowerVfs() {
  CHECK_MSG(open_.empty(), "a connection outlives its VFS");
  sqlite3_vfs_unregister(&vfs_);
}

void PowerVfs::kill() {
  if (dead()) return;
  for (OpenFile* handle : open_) {
    lower_lock(*handle, SQLITE_LOCK_NONE);
    detach_shm(*handle);
  }
  killed_ = true;
}

void seed_sqlite(std::uint64_t seed) {
  // Zero would mean "from the system".
  CHECK(sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, static_cast<int>(seed & 0x7fffffff) | 1, nullptr) == SQLITE_OK);
}

}  // namespace drover::sim
