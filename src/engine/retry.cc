// Retry by an operator: the next generation of a failed or cancelled task, and of what its end had ended.
#include <fmt/format.h>

#include "core/spec_check.h"
#include "engine/cascade.h"
#include "engine/engine.h"
#include "engine/spec.h"

namespace drover {

namespace {

// Parents still to wait for; refused while one of them has ended badly, since the task would end at once again.
Result<int> count_unmet(RecordView& view, const Task& task) {
  if (auto read = view.prefetch(task.depends_on); !read) return std::unexpected(read.error());
  int unmet = 0;
  for (const TaskId& id : task.depends_on) {
    const auto found = view.find(id, Parts::kHead);
    if (!found) return std::unexpected(found.error());
    const std::optional<TaskRecord>& parent = *found;
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

Result<trigger::Retry> retry_trigger(RecordView& view, const Task& task, const RetryOrder& order,
                                     const Policy& policy) {
  trigger::Retry trigger{.verdict = order.verdict, .run_at = order.run_at};
  if (!is_terminal(task.state)) return trigger;  // to be refused
  auto unmet = count_unmet(view, task);
  if (!unmet) return std::unexpected(unmet.error());
  trigger.unmet_parents = *unmet;
  auto payload = edited_payload(order.payload, order.patch, task, policy);
  if (!payload) return std::unexpected(payload.error());
  trigger.payload = std::move(*payload);
  return trigger;
}

}  // namespace

Result<Task> Engine::retry(const TaskId& id, const RetryOrder& order) {
  if (auto valid = check_verdict(order.verdict); !valid) return std::unexpected(valid.error());
  if (auto valid = check_one_payload(order.payload, order.patch); !valid) return std::unexpected(valid.error());
  auto policy = this->policy();
  if (!policy) return std::unexpected(policy.error());
  for (int attempt = 0; attempt < kDecideTriesMax; ++attempt) {
    auto now = store_.now();
    if (!now) return std::unexpected(now.error());
    RecordView view(store_);
    const auto found = view.find(id, Parts::kAll);
    if (!found) return std::unexpected(found.error());
    const std::optional<TaskRecord>& record = *found;
    if (!record) return no_such_task(id);
    const auto trigger = retry_trigger(view, record->task, order, **policy);
    if (!trigger) return std::unexpected(trigger.error());
    Cascade cascade(view, rng_, **policy, *now);
    if (auto status = cascade.run(*record, *trigger); !status) return std::unexpected(status.error());
    const StepGroup group = cascade.take();
    auto applied = store_.apply(std::span(&group, 1));
    if (!applied) return std::unexpected(applied.error());
    if (applied->front() == Applied::kDone) return get(id);
    if (applied->front() == Applied::kStillLeased) return still_leased(id);
  }
  return too_much_contention("retry");
}

}  // namespace drover
