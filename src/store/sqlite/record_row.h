// A task record from its columns (record_columns.h), and values as columns hold them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/task_record.h"
#include "store/sqlite/connection.h"

namespace drover::sqlite {

// From the columns of the view head. Throws SqliteFailure(SQLITE_CORRUPT) for a row that says nothing sensible.
[[nodiscard]] TaskRecord read_head(Statement& row);
// From the columns of the view record, up to the result.
[[nodiscard]] TaskRecord read_all(Statement& row);

// Some of those that indexes go by: null where the task is not in the index.
struct Indexed {
  std::optional<Time> due_at;
  std::optional<Time> late_at;
  std::optional<Time> cascade_at;
  std::optional<std::int64_t> listed_state;

  bool operator==(const Indexed&) const = default;
};
[[nodiscard]] Indexed indexed_of(const TaskRecord& record);
// As body holds it; good until the next call in this thread.
[[nodiscard]] const std::string& text_of(const RetryPolicy& policy);
// Whether tasks in that state are few enough to be listed by an index.
[[nodiscard]] bool is_listed(TaskState state);
// What the texts of a task take, near enough for retention.
[[nodiscard]] std::int64_t body_bytes(const Task& task);

// As task.escalation holds it.
[[nodiscard]] std::optional<JsonText> pack_escalation(const std::optional<Escalation>& escalation);

// As task.last_run and run.packed hold it.
[[nodiscard]] JsonText pack_run(const RunSummary& run);
[[nodiscard]] RunSummary unpack_run(const JsonText& packed);

// As body and lane hold them.
[[nodiscard]] std::string join_gates(std::span<const std::string> gates);
[[nodiscard]] std::vector<std::string> split_gates(std::string_view joined);

// depends_on and tags as body holds them; nothing if empty.
[[nodiscard]] std::optional<std::string> pack_ids(std::span<const TaskId> ids);
[[nodiscard]] std::vector<TaskId> unpack_ids(std::string_view packed);
[[nodiscard]] std::optional<std::string> pack_names(std::span<const std::string> names);
[[nodiscard]] std::vector<std::string> unpack_names(std::string_view packed);

}  // namespace drover::sqlite
