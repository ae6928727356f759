// Notices that somebody set a store's clock, and says so in the log: times of tasks are off from then on, by that much.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"

namespace drover {

// Safe from any thread.
class StepWatch {
 public:
  // Whose clock it is, for the log: "the Redis server".
  explicit StepWatch(std::string whose) : whose_(std::move(whose)) {}

  // The clock showed `wall` at some moment between these two. By how much it was set since the last look; nothing if it
  // ran on, as far as can be told.
  std::optional<Millis> look(Time wall, MonoTime earliest, MonoTime latest);

 private:
  struct Look {
    Time wall;
    MonoTime earliest;
    MonoTime latest;
  };

  const std::string whose_;
  std::mutex mutex_;
  std::optional<Look> last_;
};

}  // namespace drover
