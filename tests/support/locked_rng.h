// Seeded randomness for tests with threads: the numbers are the same for a seed, who gets which is not.
#pragma once

#include <mutex>

#include "base/rng.h"

namespace drover::test {

class LockedRng final : public Rng {
 public:
  explicit LockedRng(std::uint64_t seed) : rng_(seed) {}
  [[nodiscard]] std::uint64_t next() override {
    const std::lock_guard lock(mutex_);
    return rng_.next();
  }

 private:
  std::mutex mutex_;
  SeededRng rng_;
};

}  // namespace drover::test
