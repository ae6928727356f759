// Drives a worker's claim loop and lease keeper in real time, each on its own thread, until it is done.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "net/wake.h"
#include "worker/claim_loop.h"
#include "worker/runs.h"

namespace drover {

// kSideBySide: settlements and claims have a thread each, so that a worker with many short runs does not wait for one
// before the other. It may then hold a task for a moment beside those whose ends the queue has not taken yet.
enum class WorkerCalls : std::uint8_t { kOneByOne, kSideBySide };

struct WorkerLoopOptions {
  WorkerInfo worker;
  std::map<std::string, int, std::less<>> type_limits = {};  // see ClaimLoopOptions
  int prefetch = 0;  // tasks that the runs may be given beyond the worker's capacity
  Millis lease{30'000};
  Millis heartbeat{5'000};
  Millis drain{30'000};
  WhenEmpty when_empty = WhenEmpty::kWait;
  WorkerCalls calls = WorkerCalls::kOneByOne;
};

// {hostname}:{pid}:{uuid}
[[nodiscard]] std::string new_worker_id();

// Works until `stop` is requested or, with WhenEmpty::kFinish, the queues are empty; then drains, unregisters and
// returns what was done. `wake` is rung by the runs when one has ended. An error: the queue could not be reached from
// the start, or refuses this worker.
[[nodiscard]] Result<ClaimLoopCounts> drive_worker(TaskQueue& queue, Runs& runs, const Waker& wake,
                                                   const StopSignal& stop, const WorkerLoopOptions& options);

}  // namespace drover
