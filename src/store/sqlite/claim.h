// Claiming: the tasks that are next in the lines that a worker serves, under new leases.
#pragma once

#include <optional>
#include <span>

#include "store/sqlite/transaction.h"
#include "store/store.h"

namespace drover::sqlite {

// Whether there is anything to do for a claim; a hint that needs no lock.
[[nodiscard]] bool anything_ready(Connection& db, std::span<const Serve> serves, Time now);

[[nodiscard]] Claimed claim_tasks(Transaction& transaction, const ClaimRequest& request,
                                  std::span<const LeaseId> lease_ids, const std::optional<ReservedSlots>& reserved);

}  // namespace drover::sqlite
