// Groups of steps and changes of gates, packed for the functions `apply` and `put_config`. lua/5_steps.lua takes them
// apart.
#pragma once

#include <span>

#include "store/redis/pack.h"
#include "store/store.h"

namespace drover::redis {

// Most groups are one of two kinds that have a short form: new tasks that wait and have nothing beside their record,
// and the end of a task that had nothing beside it when it was claimed (TaskRecord::kept).
[[nodiscard]] Pack packed_groups(std::span<const StepGroup> groups);
// The end of a run, in its short form.
[[nodiscard]] bool is_short(const StepGroup& group);
// It begins with how many there are.
[[nodiscard]] Pack packed_gates(std::span<const GateStep> gates);

// An event of no task.
[[nodiscard]] std::string event_text(const EventDraft& event);

// "owner|request id", "owner|type|key"
[[nodiscard]] std::string request_key(const std::string& owner, const std::string& request_id);
[[nodiscard]] std::string dedupe_key(const std::string& owner, const std::string& type, const std::string& key);

}  // namespace drover::redis
