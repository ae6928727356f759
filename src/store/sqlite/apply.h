// Applying groups of steps: all checks of a group, then all its writes.
#pragma once

#include <span>
#include <vector>

#include "store/sqlite/transaction.h"
#include "store/store.h"

namespace drover::sqlite {

// In the transaction's current part, one after the other. Nothing is written of a group whose answer is not kDone.
[[nodiscard]] std::vector<Applied> apply_groups(Transaction& transaction, std::span<const StepGroup> groups);

}  // namespace drover::sqlite
