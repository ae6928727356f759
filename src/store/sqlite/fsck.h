// fsck: the rows against every index and count, both ways.
#pragma once

#include <vector>

#include "store/sqlite/transaction.h"
#include "store/store.h"

namespace drover::sqlite {

// See core/inventory.h.
[[nodiscard]] std::vector<Finding> missing_in(Connection& db);
// Makes temporary views on the connection, and writes nothing else.
[[nodiscard]] std::vector<Finding> check_database(Connection& db, Time now);
// Also puts right what follows from the task rows. Alone in its transaction.
[[nodiscard]] std::vector<Finding> repair_database(Transaction& transaction);

}  // namespace drover::sqlite
