// Another process of this program, which tells times (CLOCK_MONOTONIC, nanoseconds) through a pipe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "child.h"
#include "drover/time.h"

namespace drover::bench {

class Twin {
 public:
  // Starts this program again as `PROGRAM ROLE STORE`.
  Twin(const std::string& role, const std::string& store_address);

  // The next time that it tells; nothing if none came within the bound.
  [[nodiscard]] std::optional<std::int64_t> read(Millis bound);

 private:
  UniqueFd words_;
  std::optional<Child> process_;
};

}  // namespace drover::bench
