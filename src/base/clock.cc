#include "base/clock.h"

#include <ctime>
#include <fstream>

#include "base/check.h"
#include "base/rng.h"

namespace drover {
namespace {

Millis read_clock(clockid_t id) {
  timespec now{};
  CHECK(::clock_gettime(id, &now) == 0);
  return std::chrono::floor<Millis>(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

std::string read_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  if (std::getline(file, id) && !id.empty()) return id;
  // Without /proc, an id that no other process has: then monotonic times are compared with nobody's, which is safe.
  return "unknown-" + new_lease_id(system_rng()).to_string();
}

class SystemClock final : public Clock {
 public:
  Time wall() const override { return Time(read_clock(CLOCK_REALTIME)); }
  MonoTime mono() const override { return {read_clock(CLOCK_MONOTONIC)}; }
  std::string boot_id() const override { return boot_id_; }

 private:
  const std::string boot_id_ = read_boot_id();
};

}  // namespace

Clock& system_clock() {
  // Never destroyed: other static objects may ask for the time while they end.
  static SystemClock& clock = *new SystemClock;
  return clock;
}

}  // namespace drover
