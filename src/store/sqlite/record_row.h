// A task record as rows: the one place that knows the columns of task, body and output.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/task_record.h"
#include "store/sqlite/connection.h"

namespace drover::sqlite {

// From the columns of task. Throws SqliteFailure(SQLITE_CORRUPT) for a row that says nothing sensible.
[[nodiscard]] TaskRecord read_head(Statement& row);
// From the columns of task, body and output.
[[nodiscard]] TaskRecord read_all(Statement& row);

// What the store gives a record with every step.
struct Given {
  std::int64_t revision = 0;
  std::int64_t place = 0;
};

// The columns that are fixed at enqueue, and those that steps move, in the order of the table.
void bind_fixed(Statement& statement, std::int64_t seq, const TaskRecord& record);
void bind_moving(Statement& statement, const TaskRecord& record, const Given& given);
// The columns after held_bytes.
void bind_later(Statement& statement, const TaskRecord& record, std::optional<std::int64_t> lane);
void bind_body(Statement& statement, std::int64_t seq, const Task& task);
// What the texts of a task take, near enough for retention.
[[nodiscard]] std::int64_t body_bytes(const Task& task);

[[nodiscard]] std::optional<TaskError> read_error(Statement& row);
void bind_error(Statement& statement, const std::optional<TaskError>& error);

// depends_on and tags as body holds them; nothing if empty.
// As table task and table lane hold them.
[[nodiscard]] std::string join_gates(std::span<const std::string> gates);
[[nodiscard]] std::vector<std::string> split_gates(std::string_view joined);

[[nodiscard]] std::optional<std::string> pack_ids(std::span<const TaskId> ids);
[[nodiscard]] std::vector<TaskId> unpack_ids(std::string_view packed);
[[nodiscard]] std::optional<std::string> pack_names(std::span<const std::string> names);
[[nodiscard]] std::vector<std::string> unpack_names(std::string_view packed);

}  // namespace drover::sqlite
