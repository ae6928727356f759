// A page of tasks, or of their summaries, as JSON, read from the queue a few tasks at a time: however large the tasks
// are, no more than a few of them are in memory.
#pragma once

#include <optional>
#include <string>

#include "server/guarded_queue.h"

namespace drover::server {

enum class ListView : std::uint8_t { kFull, kSummary };

// How many tasks match a filter.
struct MatchCount {
  std::int64_t tasks = 0;
  bool capped = false;  // there are more, or may be
};
inline constexpr std::int64_t kCountMax = 10'000;
[[nodiscard]] Result<MatchCount> count_matches(GuardedQueue& queue, const TaskFilter& filter);

class ListPieces {
 public:
  ListPieces(ListView view, TaskFilter filter, int limit, std::optional<std::string> cursor)
      : view_(view), filter_(std::move(filter)), left_(limit), cursor_(std::move(cursor)) {}

  // What comes with a page of summaries.
  void set_count(const MatchCount& count) { count_ = count; }
  // The next piece of {"tasks": [...], "cursor": ..., "searched": ...}, of summaries with "count"; empty after the
  // last.
  [[nodiscard]] Result<std::string> next(GuardedQueue& queue);
  [[nodiscard]] bool is_done() const { return is_done_; }

 private:
  // What one read brought, as JSON with commas between.
  struct Read {
    std::string json;
    int tasks = 0;
    std::optional<std::string> cursor;
    std::optional<Searched> searched;
  };
  [[nodiscard]] Result<Read> read(GuardedQueue& queue, int wanted) const;
  [[nodiscard]] Status add_tasks(GuardedQueue& queue, std::string& piece);
  [[nodiscard]] std::string ending() const;

  ListView view_;
  TaskFilter filter_;
  int left_;
  int at_once_ = 1;
  std::optional<std::string> cursor_;
  std::optional<Searched> searched_;
  std::optional<MatchCount> count_;
  bool has_begun_ = false;
  bool has_tasks_ = false;
  bool is_done_ = false;
};

}  // namespace drover::server
