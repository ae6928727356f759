// Retention: letting go of finished tasks and old events, oldest first. Never touches unfinished work.
#pragma once

#include "store/sqlite/transaction.h"
#include "store/store.h"

namespace drover::sqlite {

// Returns how many tasks went.
[[nodiscard]] int expire_finished(Transaction& transaction, const Retention& retention, int limit);

// Every row of one task but its events.
void delete_task_rows(Connection& db, std::int64_t seq);

}  // namespace drover::sqlite
