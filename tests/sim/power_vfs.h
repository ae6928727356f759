// A SQLite VFS over a PowerDisk, as one process sees it. All in one thread.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "sim/power_disk.h"

namespace drover::sim {

struct OpenFile;  // SQLite's handle of one file

// Registered with SQLite under its own name while it lives; its connections must be closed before it goes.
class PowerVfs {
 public:
  explicit PowerVfs(PowerDisk& disk);
  ~PowerVfs();
  PowerVfs(const PowerVfs&) = delete;
  PowerVfs& operator=(const PowerVfs&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] PowerDisk& disk() { return disk_; }

  // As kill -9 does: its locks are gone at once, and nothing that it still tries has any effect (SQLITE_IOERR).
  void kill();
  // Killed, or the power was cut since it was made.
  [[nodiscard]] bool dead() const { return killed_ || disk_.power_cycles() != power_cycle_; }

 private:
  friend struct VfsMethods;

  PowerDisk& disk_;
  std::string name_;
  sqlite3_vfs vfs_{};
  std::uint64_t power_cycle_;
  bool killed_ = false;
  std::set<OpenFile*> open_;
};

// The same sequence of SQLite's own randomness (WAL salts) for the same seed. For the whole process.
void seed_sqlite(std::uint64_t seed);

}  // namespace drover::sim
