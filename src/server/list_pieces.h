// A page of tasks as JSON, read from the queue a few tasks at a time: however large the tasks are, no more than a few
// of them are in memory.
#pragma once

#include <optional>
#include <string>

#include "server/guarded_queue.h"

namespace drover::server {

class ListPieces {
 public:
  ListPieces(TaskFilter filter, int limit, std::optional<std::string> cursor)
      : filter_(std::move(filter)), left_(limit), cursor_(std::move(cursor)) {}

  // The next piece of {"tasks": [...], "cursor": ..., "searched": ...}; empty after the last.
  [[nodiscard]] Result<std::string> next(GuardedQueue& queue);
  [[nodiscard]] bool is_done() const { return is_done_; }

 private:
  [[nodiscard]] Status add_tasks(GuardedQueue& queue, std::string& piece);

  TaskFilter filter_;
  int left_;
  int at_once_ = 1;
  std::optional<std::string> cursor_;
  std::optional<Searched> searched_;
  bool has_begun_ = false;
  bool has_tasks_ = false;
  bool is_done_ = false;
};

}  // namespace drover::server
