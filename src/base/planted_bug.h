// Planted bugs: the mistakes that the simulator and the checkers must find, each behind a run-time switch.
//
// Only tests switch one on. `./dev soak` plants each in turn and fails if it is not found; tests/sim/planted_bugs.md
// lists what each one breaks.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace drover {

enum class PlantedBug : std::uint8_t {
  kNone,
  kSettleIgnoresLease,       // a late worker's result is taken
  kClaimIgnoresRunAt,        // a scheduled task starts early
  kReclaimIgnoresRevision,   // a lease is taken back although it was renewed meanwhile
  kStallCountsAttempt,       // a lost lease uses up an attempt
  kRetryKeepsWorker,         // the old lease survives a retry
  kDependentsReleasedEarly,  // one completed parent is enough
  kDependentsReleasedApart,  // parent and dependents commit in two steps
  kParentFailureForgotten,   // dependents of a failed task wait for ever
  kCancelForgetsRequest,     // completing after a cancel request ends as completed
  kRequestIdApart,           // request id committed after its task
  kStallNeverEnds,           // max_stalls is not looked at
  kBackoffCompounds,         // delays multiply into themselves
  kAckBeforeCommit,          // an enqueue is acknowledged before its commit
  kDeadlineIgnoresRunning,   // a running task outlives its deadline
  kAtMostOnceRerun,          // at_most_once is run again after a lost lease
  kReleaseLosesPlace,        // a released task goes to the tail
  kRetryMeetsOldAgent,       // a task that its deadline ended is run again while its agent may live
  kRetentionBelievesSteps,   // what is not old is deleted when somebody sets the clock
};

inline constexpr int kPlantedBugCount = 18;  // without kNone

namespace internal {
inline std::atomic<PlantedBug> planted_bug{PlantedBug::kNone};
}

[[nodiscard]] inline bool planted(PlantedBug bug) {
  return internal::planted_bug.load(std::memory_order_relaxed) == bug;
}
inline void plant(PlantedBug bug) {
  internal::planted_bug.store(bug, std::memory_order_relaxed);
}

[[nodiscard]] std::string_view name_of(PlantedBug bug);

}  // namespace drover
