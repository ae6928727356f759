// A disk that forgets what was not synced when the power goes, in memory and deterministic.
//
// Every file has what programs see (its volatile bytes) and what a sync made durable; the changes in between are kept
// in order. A power cut keeps, for every 512-byte sector by itself, the outcome of some prefix of the changes that
// touched it: sectors written later may survive while earlier ones do not, and one write may be torn between its
// sectors. File lengths, creations and deletions that were not synced may survive or not, as well.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"

namespace drover::sim {

inline constexpr std::size_t kSectorBytes = 512;

enum class DiskOp : std::uint8_t { kOpen, kRead, kWrite, kTruncate, kSync, kDelete };

// SQLite's shared memory and its lock table for one database; gone when its last user is.
struct SharedMemory {
  static constexpr int kLocks = 8;

  std::vector<std::unique_ptr<char[]>> regions;
  int users = 0;  // handles of the living
  int shared[kLocks] = {};
  bool exclusive[kLocks] = {};
};

class DiskFile {
 public:
  explicit DiskFile(std::string name) : name_(std::move(name)) {}
  DiskFile(const DiskFile& other);
  DiskFile& operator=(const DiskFile&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  void write(std::size_t offset, std::string_view data);
  void truncate(std::size_t size);
  void sync();
  // What the disk holds after a power cut: durable bytes and a random part of the rest.
  void lose_unsynced(Rng& rng);

  // Advisory locks of the database file, and its shared memory: the kernel's, not the disk's.
  int shared_locks = 0;
  bool reserved = false;
  bool pending = false;
  bool exclusive = false;
  std::shared_ptr<SharedMemory> shm;

 private:
  struct Change {
    std::size_t offset = 0;
    std::optional<std::string> data;  // nothing: a truncation to `offset`
  };

  [[nodiscard]] std::string image_after_cut(Rng& rng) const;
  [[nodiscard]] std::size_t size_after_cut(Rng& rng) const;

  std::string name_;
  std::string bytes_;
  std::string durable_;
  std::vector<Change> unsynced_;
};

class PowerDisk {
 public:
  // Called before every operation; a return value other than SQLITE_OK fails the operation with that code.
  using Hook = std::function<int(DiskOp, const std::string& name)>;
  enum class Sync : std::uint8_t { kHonest, kLies };  // kLies: reports success, keeps nothing

  PowerDisk() = default;
  PowerDisk(const PowerDisk&) = delete;
  PowerDisk& operator=(const PowerDisk&) = delete;

  // Every handle opened before is dead from here on, and the files are as the disk kept them.
  void cut_power(Rng& rng);
  // The disk as it would be after a power cut now; this one goes on.
  [[nodiscard]] std::unique_ptr<PowerDisk> copy_after_cut(Rng& rng) const;

  void set_hook(Hook hook) { hook_ = std::move(hook); }
  void set_sync(Sync sync) { sync_ = sync; }
  // Writes that would make the files longer than this in total fail as on a full disk.
  void set_capacity_bytes(std::optional<std::size_t> capacity) { capacity_bytes_ = capacity; }

  [[nodiscard]] std::uint64_t power_cycles() const { return power_cycles_; }
  [[nodiscard]] std::size_t used_bytes() const;

  // For the VFS.
  [[nodiscard]] int before(DiskOp op, const std::string& name) { return hook_ ? hook_(op, name) : 0; }
  [[nodiscard]] std::shared_ptr<DiskFile> find(const std::string& name) const;
  [[nodiscard]] std::shared_ptr<DiskFile> create(const std::string& name);
  [[nodiscard]] bool fits(const DiskFile& file, std::size_t end) const;
  enum class DeleteSync : std::uint8_t { kLater, kNow };
  void remove(const std::string& name, DeleteSync sync);
  void sync(DiskFile& file);

 private:
  using Directory = std::map<std::string, std::shared_ptr<DiskFile>>;

  Directory names_;
  Directory durable_names_;
  Hook hook_;
  Sync sync_ = Sync::kHonest;
  std::optional<std::size_t> capacity_bytes_;
  std::uint64_t power_cycles_ = 0;
};

}  // namespace drover::sim
