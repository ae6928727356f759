// SideFiles: what a store on a file needs of the operating system beside SQLite: a lock, a bell, spare room, and
// whether its files are still the same.
//
// The real one (posix_side_files.h) keeps PATH-lock, PATH-bell and PATH-ballast. A simulator that runs several stores
// on an in-memory VFS on one thread gives its own. Calls of lock() to unlock() never overlap within one store; ring,
// room, drop_ballast and restore_ballast are made between them or by the same thread. wait_for_ring is only called by
// the store's own watcher thread, which exists once someone has called Store::wait_for_change.
#pragma once

#include <cstdint>

#include "drover/error.h"
#include "drover/time.h"

namespace drover {

class SideFiles {
 public:
  virtual ~SideFiles() = default;

  // The right to write and to checkpoint, exclusive among all stores on the file. Gives up with kStoreUnavailable after
  // `wait`.
  [[nodiscard]] virtual Status lock(Millis wait) = 0;
  virtual void unlock() = 0;

  // Once the database is open: its files are watched from now on.
  [[nodiscard]] virtual Status watch_files() { return {}; }
  // Whether they are still those that are open (open_files.h); `known_files` without a look. From any thread.
  [[nodiscard]] virtual Status check_files() { return {}; }
  [[nodiscard]] virtual Status known_files() const { return {}; }

  // Tells every store on the file that something was committed.
  virtual void ring() = 0;
  // Returns when someone rang since the last call, when stop_waiting was called, or after the timeout.
  virtual void wait_for_ring(Millis timeout) = 0;
  // From any thread, once: wait_for_ring returns at once from now on.
  virtual void stop_waiting() = 0;

  struct Room {
    std::int64_t free_bytes = INT64_MAX;  // that this user may still write
    std::int64_t ballast_bytes = 0;       // what dropping the ballast would add
  };
  [[nodiscard]] virtual Room room() = 0;
  // Frees the room that was kept for a full disk. False if there was none to free.
  [[nodiscard]] virtual bool drop_ballast() = 0;
  // Keeps room again, if there is enough of it.
  virtual void restore_ballast() = 0;
};

}  // namespace drover
