// Tasks and events as a dump has them.
#pragma once

#include <span>

#include "core/dump.h"
#include "store/sqlite/transaction.h"

namespace drover::sqlite {

// Tasks get the next numbers in their order, events keep theirs. No rule is asked; what follows from the rows is for a
// repair to put right. The part must be alone in its transaction.
void restore_tasks(Transaction& transaction, std::span<const DumpedTask> tasks);
void restore_events(Transaction& transaction, std::span<const Event> events);

}  // namespace drover::sqlite
