// Renewals, and what running tasks say of themselves: stored only under the live lease.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "store/sqlite/transaction.h"
#include "store/store.h"

namespace drover::sqlite {

[[nodiscard]] Beat renew_leases(Transaction& transaction, const std::string& worker_id, std::span<const Lease> leases,
                                Millis lease);
// Of a running task whose run ends in this transaction, and not by its worker.
void revoke_lease(Transaction& transaction, std::int64_t seq);
// Whether the lease of a revoked run of that task has not run out yet.
[[nodiscard]] bool is_still_leased(Transaction& transaction, std::int64_t seq);
// False: the lease is not live, and nothing was written.
[[nodiscard]] bool write_note(Transaction& transaction, const Note& note, std::int64_t log_bytes_max);

}  // namespace drover::sqlite
