// The ledger of usage: core/ledger.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/ledger.h"
#include "store/sqlite/connection.h"

namespace drover::sqlite {

void book(Connection& db, std::span<const LedgerEntry> entries);
[[nodiscard]] std::vector<std::string> ledger_days(Connection& db);
[[nodiscard]] std::vector<LedgerEntry> ledger_of(Connection& db, const std::string& day);
void forget_ledger_before(Connection& db, const std::string& day);

}  // namespace drover::sqlite
