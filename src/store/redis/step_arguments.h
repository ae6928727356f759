// Groups of steps and changes of gates, packed for the functions `apply` and `put_config`. lua/5_steps.lua takes them
// apart.
#pragma once

#include <span>

#include "store/redis/pack.h"
#include "store/store.h"

namespace drover::redis {

struct PackedGroups {
  Pack packed;
  std::size_t groups = 0;

  [[nodiscard]] std::size_t size() const { return groups; }
};

// New tasks that wait, and ends of runs, mostly go in forms of their own: new_tasks.h, ended_runs.h.
[[nodiscard]] PackedGroups packed_groups(std::span<const StepGroup* const> groups);
// It begins with how many there are.
[[nodiscard]] Pack packed_gates(std::span<const GateStep> gates, std::span<const QuestionStep> questions);

// "closed_until permits counted_from interval_us burst"; empty if nothing is limited.
[[nodiscard]] std::string limits_text(const GateLimits& limits);
// What stands of a gate's limits beside its record: nothing if a session has only those of its kind.
[[nodiscard]] std::string stored_limits(const GateRecord& gate);

// "name|task|lane|state|run|generation|data"; of a gate, only name and data.
inline constexpr std::string_view kOfNoTask = "|||||||||";
[[nodiscard]] std::string event_text(const EventDraft& event, std::string_view of = kOfNoTask);
inline constexpr std::string_view kAnyTask = "*";  // where the event of many tasks that are alike has the task
[[nodiscard]] std::string event_subject(const Task& task, std::string_view id, std::string_view lane);

// "owner|request id", "owner|type|key"
[[nodiscard]] std::string request_key(const std::string& owner, const std::string& request_id);
[[nodiscard]] std::string dedupe_key(const std::string& owner, const std::string& type, const std::string& key);

}  // namespace drover::redis
