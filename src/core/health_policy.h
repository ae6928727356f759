// From when on the fleet's health is worth a word: `health:` of the policy.
#pragma once

#include "drover/time.h"

namespace drover {

template <class T>
struct Threshold {
  T warning;
  T critical;

  bool operator==(const Threshold&) const = default;
};

struct HealthPolicy {
  Threshold<int> waiting{2, 5};  // times the usual number of waiting tasks
  Threshold<int> lag{100, 500};  // tasks that wait in a queue
  Threshold<int> running_per_worker{50, 200};
  Threshold<Millis> no_progress{Millis{300'000}, Millis{900'000}};
  Threshold<Millis> held{Millis{900'000}, Millis{3'600'000}};  // tasks wait at a gate that lets nothing start
  Threshold<int> budget{80, 100};                              // per cent of a budget are spent
  Threshold<Millis> idle{Millis{60'000}, Millis{300'000}};     // tasks wait although workers are free

  bool operator==(const HealthPolicy&) const = default;
};

}  // namespace drover
