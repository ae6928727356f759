// A clock that moves only when a test says so.
#pragma once

#include <mutex>
#include <string>

#include "base/clock.h"

namespace drover::test {

// Safe from any thread. Starts on 1 January 2026, an hour after boot.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] Time wall() const override;
  [[nodiscard]] MonoTime mono() const override;
  [[nodiscard]] std::string boot_id() const override;

  // Time passes: both clocks move.
  void advance(Millis by);
  // Somebody sets the wall clock, forwards or backwards; the monotonic one does not care.
  void jump_wall(Millis by);
  // Another boot: a new boot id, and the monotonic clock starts again.
  void reboot();

 private:
  mutable std::mutex mutex_;
  Time wall_ = std::chrono::sys_days(std::chrono::January / 1 / 2026);
  MonoTime mono_{std::chrono::hours(1)};
  int boots_ = 1;
};

}  // namespace drover::test
