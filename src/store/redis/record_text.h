// A task as Redis keeps it: a record of what moves, one string, and a body that is written once.
// docs/reference/redis-keys.md shows both.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/task_record.h"
#include "drover/error.h"
#include "store/redis/reply.h"

namespace drover::redis {

// The record from its state on; what stands before it is the functions' own (revision, seq, place, bytes, renewals and
// marks). Members at their default are left out of the JSON at its end.
[[nodiscard]] std::string to_said(const TaskRecord& record, const std::string& lane);
// "percent text".
[[nodiscard]] std::string to_text(const Progress& progress);

// "tags|parents|size of payload|size of fallback" and a new line; then payload, fallback and a JSON object of the
// texts.
[[nodiscard]] std::string to_body(const Task& task);

// A record as the functions answer with it: [id, record, progress] for a head, with body, result and checkpoint else.
[[nodiscard]] Result<TaskRecord> to_record(const Reply& reply);
[[nodiscard]] Result<TaskRecord> to_record(std::span<const Reply> parts);
inline constexpr std::size_t kRecordParts = 6;  // of a whole one

// How a record begins: what is needed to make the next one from it.
struct RecordHead {
  std::string_view seq;
  std::string_view place;
  std::int64_t bytes = 0;
  std::string_view marks;
  std::string_view started;
  std::string_view worker;
};

// Of a record as it is stored, if there is nothing beside it but its body.
[[nodiscard]] KeptAs kept_as(std::string_view record_text);
[[nodiscard]] RecordHead head_of(const KeptAs& kept);

}  // namespace drover::redis
