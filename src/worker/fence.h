// When a lease that nobody renews ends what runs under it, so that nothing outlives its lease.
#pragma once

#include "base/clock.h"

namespace drover {

// It is asked to stop, and nothing begins any more.
[[nodiscard]] inline MonoTime fence_at(MonoTime expires_at, Millis lease) {
  return {expires_at.since_origin - lease / 3};
}

// It is killed.
[[nodiscard]] inline MonoTime fence_kill_at(MonoTime expires_at, Millis lease) {
  return {expires_at.since_origin - lease / 10};
}

}  // namespace drover
