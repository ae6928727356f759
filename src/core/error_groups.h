// Failed tasks by kind.
#pragma once

#include <map>
#include <vector>

#include "drover/task_queue.h"

namespace drover {

// Bounded: once there are kErrorGroupsMax kinds, all others are one group without a fingerprint.
class ErrorGroups {
 public:
  // A failed task with its error; its head is enough. Tasks come newest first.
  void add(const Task& task);
  // Most tasks first, then by fingerprint; the rest comes last.
  [[nodiscard]] std::vector<ErrorGroup> take() &&;

 private:
  ErrorGroup& group_of(const TaskError& error);

  std::map<std::string, ErrorGroup> groups_;  // by fingerprint
  ErrorGroup rest_;
};

}  // namespace drover
