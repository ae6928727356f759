// What fsck finds in several calls, and what it makes of the events.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "drover/ids.h"
#include "drover/task_queue.h"
#include "store/redis/reply.h"

namespace drover::redis {

// What is found again is told once; of many of a kind the rest is summed up.
class Findings {
 public:
  void add(const Finding& finding);
  [[nodiscard]] std::vector<Finding> take() &&;

 private:
  struct Kind {
    std::size_t n = 0;
    bool repaired = true;  // those that are not told
  };
  std::vector<Finding> told_;
  std::map<std::string, Kind> kinds_;
};

// What the events say, read page by page while others write: whether one is missing or cannot be read, and where each
// task was left.
class EventReview {
 public:
  struct Said {
    TaskState state;
    std::int64_t seq;
  };

  // Number, time and text of each event of a page. It begins with the last one of the page before, unless retention has
  // taken that: then nobody can tell whether one is missing between them. False: there was nothing new.
  bool add_page(std::span<const Reply> items);
  // After all of them: so many were made.
  void add_end(std::int64_t made);
  void add_wrong_state(const TaskId& id, TaskState state);

  [[nodiscard]] std::int64_t last() const { return last_; }
  [[nodiscard]] const std::unordered_map<TaskId, Said>& said() const { return said_; }
  [[nodiscard]] std::vector<Finding> take() && { return std::move(findings_).take(); }

 private:
  void find(std::string_view code, std::string detail) { findings_.add({std::string(code), std::move(detail)}); }
  void add(std::int64_t seq, std::span<const Reply> items, bool follows);

  std::int64_t last_ = 0;
  std::unordered_map<TaskId, Said> said_;
  Findings findings_;
};

}  // namespace drover::redis
