#include "sim/store_faults.h"

#include <algorithm>

namespace drover::sim {

using namespace std::chrono_literals;

bool StoreFaults::hits(Fault::Kind kind, int slot) {
  std::erase_if(windows_, [&](const Window& window) { return window.until <= clock_.now(); });
  for (const Window& window : windows_) {
    if (window.fault.kind == kind && window.fault.victim == slot && chance(rng_, window.fault.percent)) return true;
  }
  return false;
}

Status StoreFaults::before(int slot) {
  if (windows_.empty()) return {};
  if (hits(Fault::Kind::kStoreSlow, slot)) scheduler_.run_others(between(rng_, 10ms, 3s));
  if (hits(Fault::Kind::kStoreFails, slot))
    return fail(ErrorCode::kStoreUnavailable, "injected: not done", "sim.store");
  return {};
}

Status StoreFaults::after(int slot) {
  if (windows_.empty()) return {};
  if (hits(Fault::Kind::kStoreForgetsAnswer, slot))
    return fail(ErrorCode::kStoreUnavailable, "injected: fate unknown", "sim.store");
  return {};
}

bool StoreFaults::settles_twice() {
  if (windows_.empty()) return false;
  return std::ranges::any_of(windows_, [&](const Window& window) {
    return window.fault.kind == Fault::Kind::kSettleTwice && window.until > clock_.now() &&
           chance(rng_, window.fault.percent);
  });
}

}  // namespace drover::sim
