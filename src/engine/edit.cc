// Edit: what may still change of a task that has not started.
#include <fmt/format.h>

#include "base/try.h"
#include "core/spec_check.h"
#include "engine/engine.h"
#include "engine/spec.h"
#include "engine/verb_steps.h"

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

Result<StepGroup> edit_steps(const VerbScene& scene, const TaskRecord& record, const EditOrder& order, Task& edited) {
  const auto trigger = TRY(edit_trigger(order, record.task, scene.policy, scene.now));
  auto step = TRY(decide(record, trigger, {.now = scene.now}));
  edited = step.next.task;
  StepGroup group;
  if (!step.events.empty()) group.steps.push_back(std::move(step));  // otherwise it is so already
  return group;
}

Result<Task> Engine::edit(const TaskId& id, const EditOrder& order) {
  TRY(check_edit(order));
  const auto policy = TRY(this->policy());
  Task edited;
  const auto decide_edit = [&](RecordView& view, const TaskRecord& record) -> Result<StepGroup> {
    if (order.version && *order.version != version_of(record.task)) return has_changed(id);
    const Time now = TRY(store_.now());
    return edit_steps({view, rng_, *policy, now}, record, order, edited);
  };
  TRY(change(id, Parts::kAll, "edit", decide_edit));
  return edited;
}

}  // namespace drover
