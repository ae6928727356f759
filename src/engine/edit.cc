// Edit: what may still change of a task that has not started.
#include <fmt/format.h>

#include "core/spec_check.h"
#include "engine/engine.h"
#include "engine/spec.h"

namespace drover {

namespace {

std::unexpected<Error> has_changed(const TaskId& id) {
  return fail(ErrorCode::kVersionMismatch,
              fmt::format("task {} has changed since you read it; nothing was written", id.to_string()));
}

bool may_be_edited(TaskState state) {
  return !is_terminal(state) && state != TaskState::kRunning;
}

Result<trigger::Edit> edit_trigger(const EditOrder& order, const Task& task, const Policy& policy, Time now) {
  trigger::Edit trigger{.priority = order.priority, .run_at = order.run_at, .tags = order.tags};
  if (order.delay) trigger.run_at = now + *order.delay;
  if (!may_be_edited(task.state)) return trigger;  // to be refused
  auto payload = edited_payload(order.payload, order.patch, task, policy);
  if (!payload) return std::unexpected(payload.error());
  trigger.payload = std::move(*payload);
  return trigger;
}

}  // namespace

Result<Task> Engine::edit(const TaskId& id, const EditOrder& order) {
  if (auto valid = check_edit(order); !valid) return std::unexpected(valid.error());
  const auto policy = this->policy();
  if (!policy) return std::unexpected(policy.error());
  for (int attempt = 0; attempt < kDecideTriesMax; ++attempt) {
    const auto now = store_.now();
    if (!now) return std::unexpected(now.error());
    auto read = store_.read(std::span(&id, 1), Parts::kAll);
    if (!read) return std::unexpected(read.error());
    std::optional<TaskRecord>& record = read->front();
    if (!record) return no_such_task(id);
    if (order.version && *order.version != version_of(record->task)) return has_changed(id);
    const auto trigger = edit_trigger(order, record->task, **policy, *now);
    if (!trigger) return std::unexpected(trigger.error());
    auto step = decide(*std::move(record), *trigger, {.now = *now});
    if (!step) return std::unexpected(step.error());
    if (step->events.empty()) return std::move(step->next.task);  // it is so already
    StepGroup group;
    group.steps.push_back(*std::move(step));
    const auto applied = store_.apply(std::span(&group, 1));
    if (!applied) return std::unexpected(applied.error());
    if (applied->front() == Applied::kDone) return std::move(group.steps.front().next.task);
  }
  return too_much_contention("edit");
}

}  // namespace drover
