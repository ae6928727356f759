// Retry by an operator: the next generation of a failed or cancelled task, and of what its end had ended.
#include <fmt/format.h>

#include "base/try.h"
#include "core/spec_check.h"
#include "engine/cascade.h"
#include "engine/engine.h"
#include "engine/sessions.h"
#include "engine/spec.h"
#include "engine/verb_steps.h"

namespace drover {

namespace {

// Parents still to wait for; refused while one of them has ended badly, since the task would end at once again.
Result<int> count_unmet(RecordView& view, const TaskRecord& record) {
  const Task& task = record.task;
  TRY(view.prefetch(given_parents(record)));
  int unmet = 0;
  for (const TaskId& id : given_parents(record)) {
    const std::optional<TaskRecord> parent = TRY(view.find(id, Parts::kHead));
    if (!parent) continue;  // retention took it: it had ended
    const TaskState state = parent->task.state;
    if (parent_is_done(state, task.on_parent_failure)) continue;
    if (is_terminal(state)) {
      return fail(ErrorCode::kWrongState,
                  fmt::format("its parent {} is {}: retry that one, and this task comes back with it", id.to_string(),
                              name_of(state)));
    }
    ++unmet;
  }
  return unmet;
}

Result<trigger::Retry> retry_trigger(RecordView& view, const TaskRecord& record, const RetryOrder& order,
                                     const Policy& policy) {
  const Task& task = record.task;
  trigger::Retry trigger{.verdict = order.verdict, .run_at = order.run_at};
  if (!is_terminal(task.state)) return trigger;  // to be refused
  trigger.unmet_parents = TRY(count_unmet(view, record));
  trigger.payload = TRY(edited_payload(order.payload, order.patch, task, policy));
  return trigger;
}

}  // namespace

Result<StepGroup> retry_steps(const VerbScene& scene, const TaskRecord& record, const RetryOrder& order) {
  const auto trigger = TRY(retry_trigger(scene.view, record, order, scene.policy));
  Cascade cascade(scene.view, scene.rng, scene.policy, scene.now);
  TRY(cascade.run(record, trigger));
  return cascade.take();
}

Result<Task> Engine::retry(const TaskId& id, const RetryOrder& order) {
  TRY(check_verdict(order.verdict));
  TRY(check_one_payload(order.payload, order.patch));
  const auto policy = TRY(this->policy());
  const auto decide_retry = [&](RecordView& view, const TaskRecord& record) -> Result<StepGroup> {
    const Time now = TRY(store_.now());
    auto group = TRY(retry_steps({view, rng_, *policy, now}, record, order));
    TRY(rejoin_sessions(store_, group, now));
    return group;
  };
  TRY(change(id, Parts::kAll, "retry", decide_retry));
  return get(id);
}

}  // namespace drover
