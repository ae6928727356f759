// Entries of the ledger as Redis keeps them: of each day a hash, of each key a field, whose value is the amounts.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/ledger.h"

namespace drover::redis {

// For the functions: [[day, names, amounts], …] as JSON; empty if there are none. Names are JSON too, amounts are
// numbers with spaces between them.
[[nodiscard]] std::string ledger_text(std::span<const LedgerEntry> entries);
[[nodiscard]] Result<LedgerEntry> parse_ledger_entry(const std::string& day, std::string_view names,
                                                     std::string_view amounts);

}  // namespace drover::redis
