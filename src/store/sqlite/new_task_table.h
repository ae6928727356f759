// New tasks as a table that SQL selects from: new_task(rows). One statement writes many of them, and nothing is bound.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <optional>
#include <span>

#include "core/step.h"
#include "store/sqlite/connection.h"

namespace drover::sqlite {

struct NewTask {
  const Step* step = nullptr;
  std::int64_t seq = 0;
  std::int64_t place = 0;
  std::optional<std::int64_t> lane;  // in which it waits
  std::int64_t held_bytes = 0;
};

// Makes the table known to a connection.
void add_new_task_table(Connection& db);
// Runs a statement whose only parameter is the argument of new_task. Returns whether it gave a row.
bool run_over(Connection& db, std::string_view sql, std::span<const NewTask> tasks);

}  // namespace drover::sqlite
