// Windows of time in which calls of the store fail, lose their answer or take long.
#pragma once

#include <vector>

#include "drover/error.h"
#include "sim/plan.h"
#include "sim/scheduler.h"

namespace drover::sim {

class StoreFaults {
 public:
  StoreFaults(Scheduler& scheduler, SimClock& clock, std::uint64_t seed)
      : scheduler_(scheduler), clock_(clock), rng_(seed) {}

  void open_window(const Fault& fault) { windows_.push_back({fault, clock_.now() + fault.lasts}); }
  void close_all() { windows_.clear(); }

  [[nodiscard]] Status before(int slot);
  [[nodiscard]] Status after(int slot);
  // Whether settlements are delivered twice just now.
  [[nodiscard]] bool settles_twice();

 private:
  struct Window {
    Fault fault;
    Millis until;
  };

  [[nodiscard]] bool hits(Fault::Kind kind, int slot);

  Scheduler& scheduler_;
  SimClock& clock_;
  SeededRng rng_;
  std::vector<Window> windows_;
};

}  // namespace drover::sim
