#include "hooks/test_hooks.h"

#include <atomic>
#include <utility>

#include "base/check.h"

namespace drover {
namespace {

std::atomic<PlantedBug> planted_bug{PlantedBug::kNone};

std::atomic<bool> is_armed{false};

// Never destroyed: threads may still pass a failpoint while the process ends.
std::function<void(std::string_view)>& handler() {
  static auto& instance = *new std::function<void(std::string_view)>;
  return instance;
}

}  // namespace

void failpoint(Failpoint step) {
  if (is_armed.load(std::memory_order_relaxed)) handler()(name_of(step));
}

void set_failpoint_handler(std::function<void(std::string_view)> next) {
  handler() = std::move(next);
  is_armed.store(static_cast<bool>(handler()), std::memory_order_relaxed);
}

bool planted(PlantedBug bug) {
  return planted_bug.load(std::memory_order_relaxed) == bug;
}

void plant(PlantedBug bug) {
  planted_bug.store(bug, std::memory_order_relaxed);
}

std::string_view name_of(Failpoint step) {
  using enum Failpoint;
  switch (step) {
    case kEnqueueBegin:
      return "enqueue.begin";
    case kEnqueueBeforeCommit:
      return "enqueue.before_commit";
    case kEnqueueAfterCommit:
      return "enqueue.after_commit";
    case kSettleBegin:
      return "settle.begin";
    case kSettleBeforeCommit:
      return "settle.before_commit";
    case kSettleAfterCommit:
      return "settle.after_commit";
    case kClaimBegin:
      return "claim.begin";
    case kClaimBeforeCommit:
      return "claim.before_commit";
    case kClaimAfterCommit:
      return "claim.after_commit";
    case kRenewBegin:
      return "renew.begin";
    case kRenewBeforeCommit:
      return "renew.before_commit";
    case kRenewAfterCommit:
      return "renew.after_commit";
    case kNoteBegin:
      return "note.begin";
    case kNoteBeforeCommit:
      return "note.before_commit";
    case kNoteAfterCommit:
      return "note.after_commit";
    case kExpireBegin:
      return "expire.begin";
    case kExpireBeforeCommit:
      return "expire.before_commit";
    case kExpireAfterCommit:
      return "expire.after_commit";
    case kFleetBegin:
      return "fleet.begin";
    case kFleetBeforeCommit:
      return "fleet.before_commit";
    case kFleetAfterCommit:
      return "fleet.after_commit";
    case kRepairBegin:
      return "repair.begin";
    case kRepairBeforeCommit:
      return "repair.before_commit";
    case kRepairAfterCommit:
      return "repair.after_commit";
    case kWorkerAfterClaim:
      return "worker.after_claim";
    case kWorkerAfterSpawn:
      return "worker.after_spawn";
    case kWorkerBeforeSettle:
      return "worker.before_settle";
    case kWorkerAfterSettle:
      return "worker.after_settle";
    case kWorkspaceGit:
      return "workspace.git";
    case kWorkspaceGitRuns:
      return "workspace.git_runs";
    case kWorkspaceSaved:
      return "workspace.saved";
    case kWorkspaceRename:
      return "workspace.rename";
    case kWorkspaceRemove:
      return "workspace.remove";
    case kWorkspaceErase:
      return "workspace.erase";
  }
  CHECK_MSG(false, "no such failpoint");
}

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
    case kUsageBookedAgain:
      return "usage_booked_again";
    case kLostRunWasFree:
      return "lost_run_was_free";
    case kRetentionBelievesSteps:
      return "retention_believes_steps";
    case kSuspendForgetsChildren:
      return "suspend_forgets_children";
    case kAwaitsUnguarded:
      return "awaits_unguarded";
    case kRetentionTakesParents:
      return "retention_takes_parents";
    case kStalledRunReplays:
      return "stalled_run_replays";
    case kClaimKeyTakesOthers:
      return "claim_key_takes_others";
    case kBulkCursorFirst:
      return "bulk_cursor_first";
    case kLateRefusalCuts:
      return "late_refusal_cuts";
    case kAnswersWidenAgain:
      return "answers_widen_again";
    case kSessionForTwo:
      return "session_for_two";
    case kBootstrapMarkedEarly:
      return "bootstrap_marked_early";
    case kConversationUnguarded:
      return "conversation_unguarded";
    case kSuspendForgetsQuestions:
      return "suspend_forgets_questions";
    case kAnswersOverwrite:
      return "answers_overwrite";
    case kEndKeepsQuestions:
      return "end_keeps_questions";
    case kInterruptSparesRunning:
      return "interrupt_spares_running";
    case kReportBooksTotal:
      return "report_books_total";
    case kEndBooksAgain:
      return "end_books_again";
    case kLossKeepsAside:
      return "loss_keeps_aside";
    case kSliceUnasked:
      return "slice_unasked";
    case kClaimForgetsBudget:
      return "claim_forgets_budget";
    case kPeriodKeepsSpend:
      return "period_keeps_spend";
  }
  CHECK_MSG(false, "no such planted bug");
}

}  // namespace drover
