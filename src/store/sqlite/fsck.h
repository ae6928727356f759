// fsck: the rows against every index and count, both ways.
#pragma once

#include <vector>

#include "store/sqlite/transaction.h"
#include "store/store.h"

namespace drover::sqlite {

[[nodiscard]] std::vector<Finding> check_database(Connection& db);
// Also puts right what can be told from the task rows.
[[nodiscard]] std::vector<Finding> repair_database(Transaction& transaction);

}  // namespace drover::sqlite
