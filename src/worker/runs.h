// Runs: what a worker is executing right now. The claim loop and the lease keeper speak to it; processes, handlers in
// code and the simulator's fake agents implement it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "drover/task_queue.h"

namespace drover {

// How one run ended, ready to be settled.
using RunEnded = Settlement;

enum class StopReason : std::uint8_t {
  kCancelled,  // ends as CancelConfirmed
  kLeaseLost,  // the task is or may soon be another worker's
  kShutdown,   // this worker is leaving: ends as Release
};

// What cannot be run here now, through no fault of a task: it comes back as a Release that has not begun. After `until`
// one task may be tried.
struct Unable {
  enum class Kind : std::uint8_t {
    kProgram,  // it is missing, or cannot be executed
    kMachine,  // nothing can be started: descriptors, processes, memory or the disk are used up
    kTask,     // some tasks name what is not here; others of the type may run
  };
  Kind kind = Kind::kProgram;
  std::optional<std::string> type;  // none: any
  std::string why;
  MonoTime until{};
  std::size_t tasks = 0;  // of kTask: how many were given back

  bool operator==(const Unable&) const = default;
};

// Every started run comes out of take_ended exactly once, after everything that it started is gone. A run that was
// asked to stop also ends that way. All functions may be called from any thread; a call for a run that is unknown or
// has ended is ignored.
class Runs {
 public:
  virtual ~Runs() = default;

  // Returns at once. The run's right to go on ends at expires_at, unless lease_renewed moves it.
  virtual void start(ClaimedTask claimed, MonoTime expires_at) = 0;
  virtual void lease_renewed(const Lease& lease, MonoTime expires_at) = 0;
  // Asks the run to end, and makes it end after a grace. The first reason given stays; kShutdown given to a run that is
  // stopping already takes away the rest of its grace.
  virtual void stop(const Lease& lease, StopReason reason) = 0;
  [[nodiscard]] virtual std::vector<RunEnded> take_ended() = 0;
  // Ends what has not begun, if anything can wait here.
  virtual void give_back_waiting() {}
  [[nodiscard]] virtual std::vector<Unable> unable() { return {}; }
  // See WorkerInfo.
  [[nodiscard]] virtual std::int64_t workspace_bytes() const { return 0; }
};

}  // namespace drover
