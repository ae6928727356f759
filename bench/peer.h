// Another process of this program, which tells times (CLOCK_MONOTONIC, nanoseconds) through a pipe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "drover/time.h"

namespace drover::bench {

class Peer {
 public:
  // Starts this program again as `PROGRAM ROLE STORE`.
  Peer(const std::string& role, const std::string& store_path);
  ~Peer();  // kills it
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // The next time that it tells; nothing if none came within the bound.
  [[nodiscard]] std::optional<std::int64_t> read(Millis bound);

 private:
  pid_t pid_ = -1;
  UniqueFd words_;
};

}  // namespace drover::bench
