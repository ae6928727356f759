// Randomness behind an interface: seeded in tests and in the simulator, the kernel's otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "drover/ids.h"
#include "drover/time.h"

namespace drover {

class Rng {
 public:
  virtual ~Rng() = default;
  [[nodiscard]] virtual std::uint64_t next() = 0;

  // Uniform in [0, bound); bound > 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound);
  // Uniform in [0, 1).
  [[nodiscard]] double unit();
};

// xoshiro256** seeded by splitmix64: the same seed gives the same sequence everywhere. Not for secrets.
class SeededRng final : public Rng {
 public:
  explicit SeededRng(std::uint64_t seed);
  [[nodiscard]] std::uint64_t next() override;

 private:
  std::uint64_t state_[4];
};

// getrandom(2), buffered per thread; fork-safe. Safe from any thread.
[[nodiscard]] Rng& system_rng();

[[nodiscard]] TaskId new_task_id(Rng& rng, Time now);
// Ascending: what a store keeps by id grows at its end.
[[nodiscard]] std::vector<TaskId> new_task_ids(Rng& rng, Time now, std::size_t count);
[[nodiscard]] LeaseId new_lease_id(Rng& rng);

}  // namespace drover
