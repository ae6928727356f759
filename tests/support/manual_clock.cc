#include "support/manual_clock.h"

#include <fmt/format.h>

namespace drover::test {

Time ManualClock::wall() const {
  const std::lock_guard lock(mutex_);
  return wall_;
}

MonoTime ManualClock::mono() const {
  const std::lock_guard lock(mutex_);
  return mono_;
}

std::string ManualClock::boot_id() const {
  const std::lock_guard lock(mutex_);
  return fmt::format("00000000-0000-4000-8000-{:012}", boots_);
}

void ManualClock::advance(Millis by) {
  const std::lock_guard lock(mutex_);
  wall_ += by;
  mono_ = mono_ + by;
}

void ManualClock::jump_wall(Millis by) {
  const std::lock_guard lock(mutex_);
  wall_ += by;
}

void ManualClock::reboot() {
  const std::lock_guard lock(mutex_);
  mono_ = {};
  ++boots_;
}

}  // namespace drover::test
