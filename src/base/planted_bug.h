// Planted bugs: the mistakes that the simulator and the checkers must find, each behind a run-time switch.
//
// A program has no such switch: it answers no (base/no_test_hooks.cc). Test programs link tests/hooks, which has the
// switches and their names. `./dev soak` plants each bug in turn and fails if it is not found;
// tests/sim/planted_bugs.md lists what each one breaks.
#pragma once

#include <cstdint>

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
  kUsageBookedAgain,         // each report of a run is booked whole
  kLostRunWasFree,           // what a run used is forgotten when its lease is lost
  kRetentionBelievesSteps,   // what is not old is deleted when somebody sets the clock
  kSuspendForgetsChildren,   // a task that suspends runs again at once
  kAwaitsUnguarded,          // a child may end between the look at it and the suspend
  kRetentionTakesParents,    // a result goes by its age before those that depend on it have read it
  kStalledRunReplays,        // a result that comes too late is answered as if it had been taken
  kClaimKeyTakesOthers,      // a repeated claim takes other tasks than the first one did
  kBulkCursorFirst,          // a bulk operation's record says what is yet to be done
  kLateRefusalCuts,          // a provider's refusal of a run from before the cut closes its gate again
  kAnswersWidenAgain,        // each report of a run widens the gate of its provider
  kSessionForTwo,            // two tasks run in one session at the same time
  kBootstrapMarkedEarly,     // a run that failed counts as having told its session what it should know
  kConversationUnguarded,    // a conversation is written although somebody else has changed it meanwhile
  kSuspendForgetsQuestions,  // a task that suspends with an open question runs again at once
  kAnswersOverwrite,         // a second answer takes the place of the first
  kEndKeepsQuestions,        // a task's end leaves its questions open
  kInterruptSparesRunning,   // a task that interrupts its session leaves the one that runs there alone
  kReportBooksTotal,         // a report books all that its run has spent, not what it has spent more
  kEndBooksAgain,            // the end of a run books what its reports have booked
  kLossKeepsAside,           // what is set aside for a run whose lease is lost stays so
  kSliceUnasked,             // a run is granted another slice although nothing is left
  kClaimForgetsBudget,       // a run starts although the budget is used up
  kPeriodKeepsSpend,         // a new day goes on with what the day before has spent
};

inline constexpr int kPlantedBugCount = static_cast<int>(PlantedBug::kPeriodKeepsSpend);  // without kNone

[[nodiscard]] bool planted(PlantedBug bug);

}  // namespace drover
