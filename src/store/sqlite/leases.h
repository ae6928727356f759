// Renewals, and what running tasks say of themselves: stored only under the live lease.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "store/sqlite/transaction.h"
#include "store/store.h"

namespace drover::sqlite {

[[nodiscard]] std::vector<Renewal> renew_leases(Transaction& transaction, const std::string& worker_id,
                                                std::span<const Lease> leases, Millis lease);
// False: the lease is not live, and nothing was written.
[[nodiscard]] bool write_note(Transaction& transaction, const Note& note, std::int64_t log_bytes_max);

}  // namespace drover::sqlite
