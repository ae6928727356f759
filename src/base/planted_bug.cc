#include "base/planted_bug.h"

#include "base/check.h"

namespace drover {

std::string_view name_of(PlantedBug bug) {
  using enum PlantedBug;
  switch (bug) {
    case kNone:
      return "none";
    case kSettleIgnoresLease:
      return "settle_ignores_lease";
    case kClaimIgnoresRunAt:
      return "claim_ignores_run_at";
    case kReclaimIgnoresRevision:
      return "reclaim_ignores_revision";
    case kStallCountsAttempt:
      return "stall_counts_attempt";
    case kRetryKeepsWorker:
      return "retry_keeps_worker";
    case kDependentsReleasedEarly:
      return "dependents_released_early";
    case kDependentsReleasedApart:
      return "dependents_released_apart";
    case kParentFailureForgotten:
      return "parent_failure_forgotten";
    case kCancelForgetsRequest:
      return "cancel_forgets_request";
    case kRequestIdApart:
      return "request_id_apart";
    case kStallNeverEnds:
      return "stall_never_ends";
    case kBackoffCompounds:
      return "backoff_compounds";
    case kAckBeforeCommit:
      return "ack_before_commit";
    case kDeadlineIgnoresRunning:
      return "deadline_ignores_running";
    case kAtMostOnceRerun:
      return "at_most_once_rerun";
    case kReleaseLosesPlace:
      return "release_loses_place";
    case kRetryMeetsOldAgent:
      return "retry_meets_old_agent";
    case kRetentionBelievesSteps:
      return "retention_believes_steps";
  }
  CHECK_MSG(false, "no such planted bug");
}

}  // namespace drover
