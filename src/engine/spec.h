// From what a caller says of a task to the record that would be stored.
#pragma once

#include <string>

#include "core/policy.h"
#include "core/task_record.h"

namespace drover {

inline constexpr std::string_view kDefaultOwner = "default";

// Bad values are refused with the field's name. `id` is the task's id if the spec does not choose one.
// Parents, place and counters are left to the caller.
[[nodiscard]] Result<TaskRecord> record_from_spec(const TaskSpec& spec, const Policy& policy, const TaskId& id,
                                                  Time now);

// The fingerprint by which an exact replay of a request id is known.
[[nodiscard]] std::string request_fingerprint(const TaskSpec& spec);

}  // namespace drover
