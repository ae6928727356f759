// Applying groups of steps: all checks of a group, then all its writes.
#pragma once

#include "store/sqlite/transaction.h"
#include "store/store.h"

namespace drover::sqlite {

// In the transaction's current part. Writes nothing unless the answer is kDone.
[[nodiscard]] Applied apply_group(Transaction& transaction, const StepGroup& group);

}  // namespace drover::sqlite
