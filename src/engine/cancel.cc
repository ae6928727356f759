// Cancel: what has not started ends at once, with its dependents and children; what runs is asked to stop.
#include "engine/cascade.h"
#include "engine/engine.h"

namespace drover {

Result<CancelOutcome> Engine::cancel(const TaskId& id, const std::string& reason) {
  if (auto valid = check_words("a reason", reason); !valid) return std::unexpected(valid.error());
  auto policy = this->policy();
  if (!policy) return std::unexpected(policy.error());
  for (int attempt = 0; attempt < kDecideTriesMax; ++attempt) {
    auto now = store_.now();
    if (!now) return std::unexpected(now.error());
    RecordView view(store_);
    const auto found = view.find(id, Parts::kHead);
    if (!found) return std::unexpected(found.error());
    const std::optional<TaskRecord>& record = *found;
    if (!record) return no_such_task(id);
    if (record->task.cancel_requested_at && !is_terminal(record->task.state)) {
      return CancelOutcome{.state = record->task.state};
    }
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
