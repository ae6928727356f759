// The machine's clocks in virtual time: the wall clock may be set, the monotonic one starts anew with every boot.
#pragma once

#include <algorithm>
#include <string>

#include "base/clock.h"

namespace drover::sim {

class SimClock final : public Clock {
 public:
  [[nodiscard]] Time wall() const override { return kEpoch + now_ + wall_offset_; }
  [[nodiscard]] MonoTime mono() const override { return {now_ - booted_at_}; }
  [[nodiscard]] std::string boot_id() const override { return "boot-" + std::to_string(boots_); }

  // Virtual time since the simulation began; never runs backwards.
  [[nodiscard]] Millis now() const { return now_; }
  [[nodiscard]] Millis since_start(MonoTime mono) const { return mono.since_origin + booted_at_; }
  void move_to(Millis now) { now_ = std::max(now_, now); }
  void set_wall_offset(Millis offset) { wall_offset_ = offset; }
  [[nodiscard]] Millis wall_offset() const { return wall_offset_; }
  void reboot() {
    booted_at_ = now_;
    ++boots_;
  }

 private:
  static constexpr Time kEpoch{std::chrono::sys_days(std::chrono::January / 1 / 2026)};

  Millis now_{0};
  Millis booted_at_{-3'600'000};
  Millis wall_offset_{0};
  int boots_ = 1;
};

}  // namespace drover::sim
