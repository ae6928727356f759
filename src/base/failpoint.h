// Steps at which a test may let the process die or the power fail.
//
// A program does nothing at them (base/no_test_hooks.cc); a test program links tests/hooks, which has their names and
// calls the test's handler. The handler may throw.
#pragma once

#include <cstdint>

namespace drover {

enum class Failpoint : std::uint8_t {
  kEnqueueBegin,
  kEnqueueBeforeCommit,
  kEnqueueAfterCommit,
  kSettleBegin,
  kSettleBeforeCommit,
  kSettleAfterCommit,
  kClaimBegin,
  kClaimBeforeCommit,
  kClaimAfterCommit,
  kRenewBegin,
  kRenewBeforeCommit,
  kRenewAfterCommit,
  kNoteBegin,
  kNoteBeforeCommit,
  kNoteAfterCommit,
  kExpireBegin,
  kExpireBeforeCommit,
  kExpireAfterCommit,
  kFleetBegin,
  kFleetBeforeCommit,
  kFleetAfterCommit,
  kRepairBegin,
  kRepairBeforeCommit,
  kRepairAfterCommit,
  kWorkerAfterClaim,
  kWorkerAfterSpawn,
  kWorkerBeforeSettle,
  kWorkerAfterSettle,
  kWorkspaceGit,
  kWorkspaceGitRuns,
  kWorkspaceSaved,
  kWorkspaceRename,
  kWorkspaceRemove,
  kWorkspaceErase,
};

inline constexpr int kFailpointCount = static_cast<int>(Failpoint::kWorkspaceErase) + 1;

void failpoint(Failpoint step);

}  // namespace drover
