// From what a caller says of a task to the record that would be stored.
#pragma once

#include <string>

#include "core/policy.h"
#include "core/task_record.h"

namespace drover {

inline constexpr std::string_view kDefaultOwner = "default";

// kUnknownType if the policy takes only its own types, and this is none.
[[nodiscard]] Status check_type(const std::string& type, const Policy& policy);

// Bad values are refused with the field's name. `id` is the task's id if the spec does not choose one.
// Parents, place, counters and its contract are left to the caller.
[[nodiscard]] Result<TaskRecord> record_from_spec(const TaskSpec& spec, const Policy& policy, const TaskId& id,
                                                  Time now);
// The same into an empty record, of no use if it is refused: one is large to move.
[[nodiscard]] Status fill_record(TaskRecord& record, const TaskSpec& spec, const Policy& policy, const TaskId& id,
                                 Time now);

// The payload as a task of this type would be stored with it: with the defaults of its type, and as its schema wants
// it.
[[nodiscard]] Result<std::optional<JsonText>> contract_payload(const Policy& policy, std::string_view type,
                                                               std::optional<JsonText> payload);
// Gives a new record its payload by contract_payload, and checks what else its type asks of it.
[[nodiscard]] Status meet_contract(TaskRecord& record, const Policy& policy);
// Whether a task that was taken under an earlier policy may still start: kInvalidPayload, kUnknownType.
[[nodiscard]] Status check_stored(const Task& task, const Policy& policy);
// The payload that somebody gives a stored task: as that of a new one.
[[nodiscard]] Result<std::optional<JsonText>> checked_payload(const JsonText& payload, const Task& task,
                                                              const Policy& policy);

// What the task gets by a payload or by a patch, checked as the payload of a new one; nothing if the old one stays.
[[nodiscard]] Result<std::optional<JsonText>> edited_payload(const std::optional<JsonText>& payload,
                                                             const std::optional<JsonText>& patch, const Task& task,
                                                             const Policy& policy);

// The fingerprint by which an exact replay of a request id is known.
[[nodiscard]] std::string request_fingerprint(const TaskSpec& spec);

}  // namespace drover
