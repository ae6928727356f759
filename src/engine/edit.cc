// Edit: what may still change of a task that has not started.
#include <fmt/format.h>

#include "base/try.h"
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
  trigger.payload = TRY(edited_payload(order.payload, order.patch, task, policy));
  return trigger;
}

}  // namespace

Result<Task> Engine::edit(const TaskId& id, const EditOrder& order) {
  TRY(check_edit(order));
  const auto policy = TRY(this->policy());
  for (int attempt = 0; attempt < kDecideTriesMax; ++attempt) {
    const auto now = TRY(store_.now());
    auto read = TRY(store_.read(std::span(&id, 1), Parts::kAll));
    std::optional<TaskRecord>& record = read.front();
    if (!record) return no_such_task(id);
    if (order.version && *order.version != version_of(record->task)) return has_changed(id);
    const auto trigger = TRY(edit_trigger(order, record->task, *policy, now));
    auto step = TRY(decide(*std::move(record), trigger, {.now = now}));
    if (step.events.empty()) return std::move(step.next.task);  // it is so already
    StepGroup group;
    group.steps.push_back(std::move(step));
    const auto applied = TRY(store_.apply(std::span(&group, 1)));
    if (applied.front() == Applied::kDone) return std::move(group.steps.front().next.task);
  }
  return too_much_contention("edit");
}

}  // namespace drover
