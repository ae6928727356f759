// Cancel: what has not started ends at once, with its dependents and children; what runs is asked to stop.
#include <algorithm>

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
    if (auto status = cascade.run(record, trigger::ConfirmCancel{}); !status) return status;
  }
}

// Of those whose state changes.
Result<std::vector<CancelEffect>> effects_of(const Cascade& cascade, RecordView& view) {
  std::vector<TaskId> ids;
  for (const Step& step : cascade.steps()) ids.push_back(step.next.task.id);
  if (auto read = view.prefetch(ids); !read) return std::unexpected(read.error());
  std::vector<CancelEffect> effects;
  for (const Step& step : cascade.steps()) {
    const Task& task = step.next.task;
    const auto before = view.find_head(task.id);
    if (!before) return std::unexpected(before.error());
    std::optional<TaskState> from;
    if (*before != nullptr) from = (*before)->task.state;
    if (from != task.state) effects.push_back({task.id, task.type, from, task.state});
  }
  return effects;
}

}  // namespace

Result<std::vector<CancelEffect>> Engine::preview_cancel(const TaskId& id) {
  auto policy = this->policy();
  if (!policy) return std::unexpected(policy.error());
  auto now = store_.now();
  if (!now) return std::unexpected(now.error());
  RecordView view(store_);
  const auto found = view.find(id, Parts::kHead);
  if (!found) return std::unexpected(found.error());
  const std::optional<TaskRecord>& record = *found;
  if (!record) return no_such_task(id);
  Cascade cascade(view, rng_, **policy, *now);
  const Trigger trigger = is_asked_to_stop(*record) ? Trigger(trigger::ConfirmCancel{}) : Trigger(trigger::Cancel{});
  if (auto status = cascade.run(*record, trigger); !status) return std::unexpected(status.error());
  if (auto status = confirm_all(cascade); !status) return std::unexpected(status.error());
  return effects_of(cascade, view);
}

Result<CancelOutcome> Engine::cancel(const TaskId& id, const std::string& reason) {
  if (auto valid = check_words("a reason", reason); !valid) return std::unexpected(valid.error());
  auto policy = this->policy();
  if (!policy) return std::unexpected(policy.error());
  for (int attempt = 0; attempt < kDecideTriesMax; ++attempt) {
    auto now = time_of_end();
    if (!now) return std::unexpected(now.error());
    RecordView view(store_);
    const auto found = view.find(id, Parts::kHead);
    if (!found) return std::unexpected(found.error());
    const std::optional<TaskRecord>& record = *found;
    if (!record) return no_such_task(id);
    if (is_asked_to_stop(*record)) return CancelOutcome{.state = record->task.state};
    Cascade cascade(view, rng_, **policy, *now);
    if (auto status = cascade.run(*record, trigger::Cancel{reason}); !status) return std::unexpected(status.error());
    const CancelOutcome outcome{cascade.decided(id)->task.state, cascade.cancelled(), cascade.cancel_requested()};
    const StepGroup group = cascade.take();
    auto applied = store_.apply(std::span(&group, 1));
    if (!applied) return std::unexpected(applied.error());
    if (applied->front() == Applied::kDone) return outcome;
  }
  return too_much_contention("cancel");
}

}  // namespace drover
