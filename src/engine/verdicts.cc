// Verdicts on dead letters: by kind, to somebody else, or away. A retry has a file of its own.
#include "base/try.h"
#include "core/error_groups.h"
#include "core/task_filter.h"
#include "engine/engine.h"
#include "engine/verb_steps.h"

namespace drover {

Result<std::vector<ErrorGroup>> Engine::error_groups(const TaskFilter& filter) {
  constexpr int kPage = 1'000;
  TRY(check_filter(filter));
  TaskFilter failed = filter;
  failed.states = {TaskState::kFailed};
  ErrorGroups groups;
  std::optional<std::string> cursor;
  do {
    auto page = TRY(store_.list(failed, kPage, cursor, Parts::kHead));
    for (const TaskRecord& record : page.records) groups.add(record.task);
    cursor = std::move(page.cursor);
  } while (cursor);
  return std::move(groups).take();
}

Result<StepGroup> steps_alone(const TaskRecord& record, const Trigger& trigger, Time now) {
  auto step = TRY(decide(record, trigger, {.now = now}));
  StepGroup group;
  group.steps.push_back(std::move(step));
  return group;
}

// Decides for this task alone.
Status Engine::decide_end(const TaskId& id, const Trigger& trigger) {
  const auto decide_alone = [&](RecordView& /*view*/, const TaskRecord& record) -> Result<StepGroup> {
    const Time now = TRY(store_.now());
    return steps_alone(record, trigger, now);
  };
  return change(id, Parts::kHead, name_of(trigger), decide_alone);
}

Result<Task> Engine::escalate(const TaskId& id, const EscalateOrder& order) {
  if (order.to.empty()) return drover::fail(ErrorCode::kInvalidArgument, "name the person to escalate it to");
  TRY(check_words("to whom", order.to));
  TRY(check_verdict(order.verdict));
  TRY(decide_end(id, trigger::Escalate{order}));
  return get(id);
}

Status Engine::remove(const TaskId& id, const Verdict& verdict) {
  TRY(check_verdict(verdict));
  return decide_end(id, trigger::Delete{verdict});
}

}  // namespace drover
