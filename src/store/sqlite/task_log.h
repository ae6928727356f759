// The output of runs: of each the first and the last half of a cap, and how much was left out between them.
#pragma once

#include <cstdint>
#include <span>

#include "store/sqlite/transaction.h"
#include "store/store.h"

namespace drover::sqlite {

// Returns by how much what is kept has grown.
std::int64_t append_log(Transaction& transaction, std::int64_t seq, int run, std::span<const LogChunk> chunks,
                        std::int64_t bytes_max);
[[nodiscard]] LogPage read_log(Connection& db, const TaskId& id, const LogQuery& query);

}  // namespace drover::sqlite
