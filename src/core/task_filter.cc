#include "core/task_filter.h"

#include "core/fingerprint.h"

namespace drover {

bool asks_for_end(const TaskFilter& filter) {
  return filter.error_class || filter.fingerprint || filter.finished_before || filter.escalated;
}

bool matches_end(const TaskFilter& filter, const Task& task) {
  if (filter.escalated && *filter.escalated != task.escalation.has_value()) return false;
  if (filter.finished_before && !(task.finished_at && *task.finished_at < *filter.finished_before)) return false;
  if (filter.error_class && !(task.error && task.error->error_class == *filter.error_class)) return false;
  return !filter.fingerprint || (task.error && fingerprint(*task.error) == *filter.fingerprint);
}

}  // namespace drover
