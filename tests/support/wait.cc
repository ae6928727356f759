#include "support/wait.h"

namespace drover::test {

Result<TaskState> wait_for_end(TaskQueue& queue, const TaskId& id, Millis bound) {
  Result<Task> task;
  const bool ended = wait_for(queue, bound, [&] {
    task = queue.get(id);
    return !task || is_terminal(task->state);
  });
  static_cast<void>(ended);  // the state says it
  if (!task) return std::unexpected(task.error());
  return task->state;
}

}  // namespace drover::test
