// A task as Redis keeps it: a small hash of what moves (fields at their default are left out), and a body that is
// written once. docs/reference/redis-keys.md shows both.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/task_record.h"
#include "drover/error.h"
#include "drover/task_queue.h"
#include "store/redis/reply.h"

namespace drover::redis {

// Name and value of each field that is not at its default, but for those that the functions keep themselves (seq,
// place, bytes, renewed, and the marks for a result and a checkpoint).
using Fields = std::vector<std::pair<std::string_view, std::string>>;
[[nodiscard]] Fields to_fields(const TaskRecord& record);

// "tags|parents|size of payload|size of fallback" and a new line; then payload, fallback and a JSON object of the
// texts.
[[nodiscard]] std::string to_body(const Task& task);

// A record as the functions answer with it: [[id, field, value, …]] for a head, with body, result and checkpoint else.
[[nodiscard]] Result<TaskRecord> to_record(const Reply& reply);
// As claim answers: [id, [field, value, …], [changed field, value, …], body, result, checkpoint].
[[nodiscard]] Result<TaskRecord> to_claimed_record(const Reply& reply);

}  // namespace drover::redis
