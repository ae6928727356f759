// What the store counts of its own work, for tests of bounds.
#pragma once

#include <cstdint>

namespace drover::sqlite {

struct Meter {
  std::int64_t vm_steps = 0;       // of SQLite's virtual machine, for writes
  std::int64_t lanes_visited = 0;  // by claims
  std::int64_t lanes_woken = 0;
};

}  // namespace drover::sqlite
