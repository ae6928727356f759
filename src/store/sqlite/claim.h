// Claiming: the tasks that are next in the lines that a worker serves, under new leases.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "store/sqlite/transaction.h"
#include "store/store.h"

namespace drover::sqlite {

// Whether there is anything to do for a claim; a hint that needs no lock.
[[nodiscard]] bool anything_ready(Connection& db, std::span<const Serve> serves, Time now);

// Whether the caller starts what it gets, or hands it to a process that may be frozen and never begin: what may run at
// most once would be lost by that, and is left for it to claim by itself.
enum class ClaimFor : std::uint8_t { kCaller, kOtherProcess };

[[nodiscard]] Claimed claim_tasks(Transaction& transaction, const ClaimRequest& request,
                                  std::span<const LeaseId> lease_ids, const std::optional<ReservedSlots>& reserved,
                                  ClaimFor whom = ClaimFor::kCaller);

}  // namespace drover::sqlite
