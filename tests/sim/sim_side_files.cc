#include "sim/sim_side_files.h"

#include "base/check.h"
#include "sim/world.h"

namespace drover::sim {

bool SideLock::take(const SimProcess& process) {
  if (holder_ != nullptr && holder_ != &process) return false;
  holder_ = &process;
  return true;
}

void SideLock::release(const SimProcess& process) {
  if (holder_ == &process) holder_ = nullptr;
}

// Whoever holds it while this is asked is frozen in the middle of its step: no wait would be long enough.
Status SimSideFiles::lock(Millis /*wait*/) {
  if (process_.dead()) return fail(ErrorCode::kStoreUnavailable, "dead", "sim.lock");
  if (!world_.side_lock().take(process_))
    return fail(ErrorCode::kStoreUnavailable, "another process holds the lock", "sim.lock");
  return {};
}

void SimSideFiles::unlock() {
  world_.side_lock().release(process_);
}

void SimSideFiles::ring() {
  if (!process_.dead()) world_.ring();
}

void SimSideFiles::wait_for_ring(Millis /*timeout*/) {
  CHECK_MSG(false, "nothing waits in a simulation");
}

SideFiles::Room SimSideFiles::room() {
  return world_.room();
}

bool SimSideFiles::drop_ballast() {
  return !process_.dead() && world_.drop_ballast();
}

void SimSideFiles::restore_ballast() {
  if (!process_.dead()) world_.restore_ballast();
}

}  // namespace drover::sim
