// Clocks. The store's clock is the only one that decides; tests and the simulator inject theirs.
#pragma once

#include <string>

#include "drover/time.h"

namespace drover {

// Time since an arbitrary origin that never jumps and never runs backwards within one boot.
struct MonoTime {
  Millis since_origin{0};

  auto operator<=>(const MonoTime&) const = default;
  friend MonoTime operator+(MonoTime a, Millis b) { return {a.since_origin + b}; }
  friend Millis operator-(MonoTime a, MonoTime b) { return a.since_origin - b.since_origin; }
};

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Time wall() const = 0;
  [[nodiscard]] virtual MonoTime mono() const = 0;
  // Monotonic times compare only between processes that see the same boot id.
  [[nodiscard]] virtual std::string boot_id() const = 0;
};

// CLOCK_REALTIME, CLOCK_MONOTONIC and the kernel's boot id. Lives for ever, safe from any thread.
[[nodiscard]] Clock& system_clock();

}  // namespace drover
