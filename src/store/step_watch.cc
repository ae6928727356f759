#include "store/step_watch.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"

namespace drover {
namespace {

constexpr Millis kNoticed{500};  // clocks drift apart by less between two looks

}  // namespace

std::optional<Millis> StepWatch::look(Time wall, MonoTime earliest, MonoTime latest) {
  std::optional<Look> before;
  {
    const std::lock_guard lock(mutex_);
    if (last_ && latest < last_->latest) return std::nullopt;  // another thread has looked since
    before = std::exchange(last_, Look{wall, earliest, latest});
  }
  if (!before) return std::nullopt;
  const Millis shown = wall - before->wall;
  const Millis ahead = shown - (latest - before->earliest);
  const Millis behind = (earliest - before->latest) - shown;
  if (ahead < kNoticed && behind < kNoticed) return std::nullopt;
  const Millis step = ahead >= kNoticed ? ahead : -behind;
  log_warn("store",
           fmt::format("the clock of {} was set {} by {}; leases go on as before, times of tasks follow the clock",
                       whose_, step > Millis{0} ? "forward" : "back", format_duration(std::chrono::abs(step))),
           {{"now", format_time(wall)}});
  return step;
}

}  // namespace drover
