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
// Binds the argument of new_task, which is a statement's first parameter. The span must outlive the statement's run.
void bind_rows(Statement& statement, std::span<const NewTask>& tasks);
// Runs a statement over the tasks, with whatever else it has to be told. Returns whether it gave a row.
template <class... Values>
bool run_over(Connection& db, std::string_view sql, std::span<const NewTask> tasks, const Values&... values) {
  Statement statement = db.prepare(sql);
  bind_rows(statement, tasks);
  return statement.bind(values...).step();
}

}  // namespace drover::sqlite
