// What `drover up` shows while it runs: each event as a line, and below them one line that says how things stand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/output.h"
#include "core/event_cursor.h"
#include "drover/task_queue.h"

namespace drover::cli {

class LiveView {
 public:
  // Starts with what happens after event `after`. The queue and the output outlive it.
  LiveView(TaskQueue& queue, Output& out, std::vector<Serve> serves, std::int64_t after)
      : queue_(queue), out_(out), serves_(std::move(serves)), cursor_(after) {}
  ~LiveView() { clear_status(); }
  LiveView(const LiveView&) = delete;
  LiveView& operator=(const LiveView&) = delete;

  // Shows what is new.
  [[nodiscard]] Status refresh();

 private:
  void count(const Event& event);
  [[nodiscard]] std::string status_line(const Backlog& backlog) const;
  void clear_status();

  TaskQueue& queue_;
  Output& out_;
  const std::vector<Serve> serves_;
  EventCursor cursor_;
  std::int64_t completed_ = 0;
  std::int64_t failed_ = 0;
  std::int64_t cancelled_ = 0;
  std::string status_;  // as it stands on the screen
};

// The same for a log: ends of tasks and what went wrong.
void log_event(const Event& event);

}  // namespace drover::cli
