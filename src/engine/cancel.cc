// Cancel: what has not started ends at once, with its dependents and children; what runs is asked to stop.
#include <algorithm>

#include "base/try.h"
#include "engine/cascade.h"
#include "engine/engine.h"

namespace drover {
namespace {

bool is_asked_to_stop(const TaskRecord& record) {
  return record.task.cancel_requested_at && !is_terminal(record.task.state);
}

// As if everything that was asked to stop had stopped.
Status confirm_all(Cascade& cascade) {
  for (;;) {
    const auto running = std::ranges::find_if(cascade.steps(), is_asked_to_stop, &Step::next);
    if (running == cascade.steps().end()) return {};
    const TaskRecord record = running->next;
    TRY(cascade.run(record, trigger::ConfirmCancel{}));
  }
}

// Of those whose state changes.
Result<std::vector<CancelEffect>> effects_of(const Cascade& cascade, RecordView& view) {
  std::vector<TaskId> ids;
  for (const Step& step : cascade.steps()) ids.push_back(step.next.task.id);
  TRY(view.prefetch(ids));
  std::vector<CancelEffect> effects;
  for (const Step& step : cascade.steps()) {
    const Task& task = step.next.task;
    const auto before = TRY(view.find_head(task.id));
    std::optional<TaskState> from;
    if (before != nullptr) from = before->task.state;
    if (from != task.state) effects.push_back({task.id, task.type, from, task.state});
  }
  return effects;
}

}  // namespace

Result<std::vector<CancelEffect>> Engine::preview_cancel(const TaskId& id) {
  auto policy = TRY(this->policy());
  auto now = TRY(store_.now());
  RecordView view(store_);
  const std::optional<TaskRecord> record = TRY(view.find(id, Parts::kHead));
  if (!record) return no_such_task(id);
  Cascade cascade(view, rng_, *policy, now);
  const Trigger trigger = is_asked_to_stop(*record) ? Trigger(trigger::ConfirmCancel{}) : Trigger(trigger::Cancel{});
  TRY(cascade.run(*record, trigger));
  TRY(confirm_all(cascade));
  return effects_of(cascade, view);
}

Result<CancelOutcome> Engine::cancel(const TaskId& id, const Verdict& verdict) {
  TRY(check_words("a reason", verdict.why));
  TRY(check_verdict(verdict));
  const auto policy = TRY(this->policy());
  CancelOutcome outcome;
  const auto decide_cancel = [&](RecordView& view, const TaskRecord& record) -> Result<StepGroup> {
    outcome = {.state = record.task.state};
    if (is_asked_to_stop(record)) return StepGroup{};
    const Time now = TRY(time_of_end());
    Cascade cascade(view, rng_, *policy, now);
    TRY(cascade.run(record, trigger::Cancel{.reason = verdict.why, .by = verdict.by}));
    outcome = {cascade.decided(id)->task.state, cascade.cancelled(), cascade.cancel_requested()};
    return cascade.take();
  };
  TRY(change(id, Parts::kHead, "cancel", decide_cancel));
  return outcome;
}

}  // namespace drover
