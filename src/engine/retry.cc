// Retry by an operator: the next generation of a failed or cancelled task, and of what its end had ended.
#include <fmt/format.h>

#include "engine/cascade.h"
#include "engine/engine.h"

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

}  // namespace

Result<Task> Engine::retry(const TaskId& id) {
  auto policy = this->policy();
  if (!policy) return std::unexpected(policy.error());
  for (int attempt = 0; attempt < kDecideTriesMax; ++attempt) {
    auto now = store_.now();
    if (!now) return std::unexpected(now.error());
    RecordView view(store_);
    const auto found = view.find(id, Parts::kAll);
    if (!found) return std::unexpected(found.error());
    const std::optional<TaskRecord>& record = *found;
    if (!record) return drover::fail(ErrorCode::kNotFound, fmt::format("there is no task {}", id.to_string()));
    int unmet = 0;
    if (is_terminal(record->task.state)) {
      auto counted = count_unmet(view, record->task);
      if (!counted) return std::unexpected(counted.error());
      unmet = *counted;
    }
    Cascade cascade(view, rng_, **policy, *now);
    if (auto status = cascade.run(*record, trigger::Retry{unmet}); !status) return std::unexpected(status.error());
    const StepGroup group = cascade.take();
    auto applied = store_.apply(std::span(&group, 1));
    if (!applied) return std::unexpected(applied.error());
    if (applied->front() == Applied::kDone) return get(id);
    if (applied->front() == Applied::kStillLeased) {
      return drover::fail(
          ErrorCode::kWrongState,
          fmt::format("its deadline ended task {} while it ran, and its agent may not be dead yet: retry "
                      "it once the lease of that run is over",
                      id.to_string()));
    }
  }
  return too_much_contention("retry");
}

}  // namespace drover
