// Verdicts on dead letters: by kind, to somebody else, or away. A retry has a file of its own.
#include "core/error_groups.h"
#include "engine/engine.h"

namespace drover {

Result<std::vector<ErrorGroup>> Engine::error_groups(const TaskFilter& filter) {
  constexpr int kPage = 1'000;
  TaskFilter failed = filter;
  failed.states = {TaskState::kFailed};
  ErrorGroups groups;
  std::optional<std::string> cursor;
  do {
    auto page = store_.list(failed, kPage, cursor, Parts::kHead);
    if (!page) return std::unexpected(page.error());
    for (const TaskRecord& record : page->records) groups.add(record.task);
    cursor = std::move(page->cursor);
  } while (cursor);
  return std::move(groups).take();
}

// Decides for this task alone: it has ended, so that nothing follows for others.
Status Engine::decide_end(const TaskId& id, const Trigger& trigger) {
  for (int attempt = 0; attempt < kDecideTriesMax; ++attempt) {
    const auto now = store_.now();
    if (!now) return std::unexpected(now.error());
    auto read = store_.read(std::span(&id, 1), Parts::kHead);
    if (!read) return std::unexpected(read.error());
    std::optional<TaskRecord>& record = read->front();
    if (!record) return no_such_task(id);
    auto step = decide(*std::move(record), trigger, {.now = *now});
    if (!step) return std::unexpected(step.error());
    StepGroup group;
    group.steps.push_back(*std::move(step));
    const auto applied = store_.apply(std::span(&group, 1));
    if (!applied) return std::unexpected(applied.error());
    if (applied->front() == Applied::kDone) return {};
    if (applied->front() == Applied::kStillLeased) return still_leased(id);
  }
  return too_much_contention(name_of(trigger));
}

Result<Task> Engine::escalate(const TaskId& id, const EscalateOrder& order) {
  if (order.to.empty()) return drover::fail(ErrorCode::kInvalidArgument, "say to whom it goes");
  if (auto valid = check_words("to whom", order.to); !valid) return std::unexpected(valid.error());
  if (auto valid = check_verdict(order.verdict); !valid) return std::unexpected(valid.error());
  if (auto done = decide_end(id, trigger::Escalate{order}); !done) return std::unexpected(done.error());
  return get(id);
}

Status Engine::remove(const TaskId& id, const Verdict& verdict) {
  if (auto valid = check_verdict(verdict); !valid) return valid;
  return decide_end(id, trigger::Delete{verdict});
}

}  // namespace drover
