// When a failed or deferred task may run again.
#pragma once

#include "drover/task.h"

namespace drover {

// The delay before the run that follows counted run number `attempts` (from 1). `unit` is uniform in [0, 1).
// Exponential: min(cap / (1 + j), base · m^(attempts−1)) · U(1 − j, 1 + j), so that no delay passes the cap.
[[nodiscard]] Millis retry_delay(const RetryPolicy& policy, int attempts, double unit);

// The delay before the run after deferral number `defers` (from 1), when no Retry-After was given.
[[nodiscard]] Millis defer_delay(int defers, double unit);

}  // namespace drover
