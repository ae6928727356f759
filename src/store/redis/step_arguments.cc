#include "store/redis/step_arguments.h"

#include <fmt/format.h>

#include "core/lane.h"
#include "store/redis/record_fields.h"
#include "store/redis/run_text.h"

namespace drover::redis {
namespace {

std::int64_t body_bytes(const std::string& body, const Step& step) {
  return static_cast<std::int64_t>(body.size() + (step.next.task.result ? step.next.task.result->size() : 0));
}

std::string time_text(const std::optional<Time>& time) {
  return time ? std::to_string(time->time_since_epoch().count()) : "";
}

// "closed_until permits counted_from interval_us burst"; empty if nothing is limited.
std::string limits_text(const GateLimits& limits) {
  if (!limits.limits_anything()) return "";
  const std::string closed = !limits.closed_until                   ? "-"
                             : *limits.closed_until == kUntilOpened ? "x"
                                                                    : time_text(limits.closed_until);
  return fmt::format("{} {} {} {} {}", closed, limits.permits ? std::to_string(*limits.permits) : "-",
                     limits.counted_from.time_since_epoch().count(), limits.interval_us, limits.burst);
}

void add_events(Command& command, std::span<const EventDraft> events) {
  command.add(events.size() * 2);
  for (const EventDraft& event : events) command.add(event.name, event.data);
}

void add_relations(Command& command, const Task& task) {
  command.add(task.request_id ? request_key(task.owner, *task.request_id) : "",
              task.parent_id ? task.parent_id->to_string() : "");
  command.add(task.tags.size());
  for (const std::string& tag : task.tags) command.add(tag);
  command.add(task.depends_on.size());
  for (const TaskId& parent : task.depends_on) command.add(parent.to_string());
}

void add_step(Command& command, const Step& step) {
  const TaskRecord& next = step.next;
  const Task& task = next.task;
  const bool is_new = step.expected_revision == 0;
  const bool needs_place = next.place == 0 && is_claimable(task.state);
  const bool guards_beats = step.guard == Step::Guard::kRevisionAndBeats;
  command.add(task.id.to_string(), step.expected_revision, guards_beats ? std::to_string(step.expected_beats) : "-",
              needs_place ? "1" : "0", name_of(task.state), lane_name(task), task.run, task.generation);
  const Fields fields = to_fields(next);
  command.add((fields.size() + 1) * 2, "rev", step.expected_revision + 1);
  for (const auto& [name, value] : fields) command.add(name, value);
  const bool has_body = is_new || step.payload == Step::PayloadWrite::kReplace;
  const std::string body = has_body ? to_body(task) : std::string();
  command.add(body);
  const bool writes_result = step.result == Step::ResultWrite::kReplace;
  command.add(!writes_result ? "" : task.result ? "=" : "x", writes_result ? task.result.value_or("") : "");
  command.add(is_new ? body_bytes(body, step) : 0, next.place);
  command.add(task.state == TaskState::kScheduled ? time_text(task.run_at) : "",
              is_terminal(task.state) ? "" : time_text(task.deadline_at), next.cascade_due ? "1" : "0");
  command.add(step.run_end ? run_end_text(*step.run_end, task.run, task.generation) : "",
              step.run_end && step.run_end->revoked ? "1" : "0");
  add_events(command, step.events);
  if (is_new) add_relations(command, task);
  command.add(task.dedupe_key ? dedupe_key(task.owner, task.type, *task.dedupe_key) : "");
}

void add_group(Command& command, const StepGroup& group) {
  if (group.capacity) {
    command.add(group.capacity->waiting_max, group.capacity->waiting_per_owner_max);
    command.add(group.capacity->waiting_per_queue_max.size());
    for (const auto& [queue, max] : group.capacity->waiting_per_queue_max) command.add(queue, max);
  } else {
    command.add("", "", 0);
  }
  command.add(group.dedupes.size());
  for (const DedupeGuard& guard : group.dedupes) {
    command.add(dedupe_key(guard.owner, guard.type, guard.key), guard.newest ? guard.newest->to_string() : "");
  }
  add_gate_steps(command, group.gates);
  command.add(group.steps.size());
  for (const Step& step : group.steps) add_step(command, step);
}

}  // namespace

void add_groups(Command& command, std::span<const StepGroup> groups) {
  command.add(groups.size());
  for (const StepGroup& group : groups) add_group(command, group);
}

void add_gate_steps(Command& command, std::span<const GateStep> gates) {
  command.add(gates.size());
  for (const GateStep& gate : gates) {
    const bool kept = gate.next && !is_default(*gate.next);
    command.add(gate.name, gate.expected_revision, gate.next ? "w" : "c", kept ? gate_to_json(*gate.next) : "",
                kept ? limits_text(limits_of(*gate.next)) : "");
    add_events(command, gate.events);
  }
}

std::string request_key(const std::string& owner, const std::string& request_id) {
  return owner + "|" + request_id;
}

std::string dedupe_key(const std::string& owner, const std::string& type, const std::string& key) {
  return owner + "|" + type + "|" + key;
}

}  // namespace drover::redis
