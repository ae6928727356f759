// The circuit breaker of a type: failures in a row close its gate for a while, then one probe decides.
//
// Closed: the gate `type:T` counts failures. Open: the gate has a hold by the breaker, closed until some time. Half
// open: that time has passed; the hold's one permit is for the probe, which is any run that started since.
#pragma once

#include <optional>

#include "core/gate.h"
#include "drover/task_queue.h"

namespace drover {

struct TypePolicy;

struct BreakerPolicy {
  int failures = 5;  // 0: no breaker
  Millis window{60'000};
  Millis open{60'000};

  bool operator==(const BreakerPolicy&) const = default;
};

enum class RunVerdict : std::uint8_t { kGood, kBad, kNeither };
// Completed is good, unless the type wants proof of it and there is none; agent_error, timeout, killed and spawn_failed
// are bad; everything else says nothing of the type.
[[nodiscard]] RunVerdict verdict_of(const Settlement& settlement, const TypePolicy& type);

enum class BreakerChange : std::uint8_t { kNone, kCounted, kOpened, kClosed, kReopened };

// What the end of a run that started at `started_at` does to its type's gate. kNone: the gate stays as it is.
[[nodiscard]] BreakerChange feed_breaker(GateRecord& gate, const BreakerPolicy& policy, RunVerdict verdict,
                                         Time started_at, Time now);

}  // namespace drover
