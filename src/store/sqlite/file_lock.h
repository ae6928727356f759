// An exclusive lock between processes that waits for a bounded time and lets nobody starve.
//
// The lock is a flock. Whoever waits for it holds the turn meanwhile (a lock on one byte of the same file), and whoever
// wants the lock asks for the turn first: so a process that lets go and comes back at once cannot overtake one that
// waits. The kernel gives both back when their holder dies.
#pragma once

#include <string>

#include "base/unique_fd.h"
#include "drover/error.h"
#include "drover/time.h"

namespace drover::sqlite {

class FileLock {
 public:
  // Creates the file (0600) if it is missing.
  [[nodiscard]] Status open(const std::string& path);

  // kStoreUnavailable after `wait`. Not for two threads at once.
  [[nodiscard]] Status lock(Millis wait);
  void unlock();

 private:
  std::string path_;
  UniqueFd file_;
};

}  // namespace drover::sqlite
