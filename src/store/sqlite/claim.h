// Claiming: the best claimable tasks of the queues that a worker serves, under new leases.
#pragma once

#include <span>
#include <vector>

#include "store/sqlite/transaction.h"
#include "store/store.h"

namespace drover::sqlite {

// Whether there is anything to claim; a hint that needs no lock.
[[nodiscard]] bool anything_ready(Connection& db, std::span<const Serve> serves);

[[nodiscard]] std::vector<TaskRecord> claim_tasks(Transaction& transaction, const ClaimRequest& request,
                                                  std::span<const LeaseId> lease_ids);

}  // namespace drover::sqlite
