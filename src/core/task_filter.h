// The part of a filter that stores have no index for. They narrow a list down by what they have indexes for, and ask
// here about the rest: a fingerprint is computed, and no store can.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/task_queue.h"

namespace drover {

// Where people type the beginning of an id. Shorter ones fit too many tasks to be meant.
inline constexpr std::size_t kIdPrefixMin = 4;
// Tasks that one search looks at.
inline constexpr std::int64_t kSearchTasksMax = 5'000;

// kInvalidArgument for a text to search for that is empty or too long, and for what no id begins with.
[[nodiscard]] Status check_filter(const TaskFilter& filter);
// All ids that begin so, from the first to the last. Requires a prefix that was checked.
struct IdRange {
  TaskId first;
  TaskId last;
};
[[nodiscard]] IdRange ids_with_prefix(std::string_view prefix);

// Asks one task after another, in the filter's order, and knows when a call has looked at enough of them.
class TaskSieve {
 public:
  explicit TaskSieve(const TaskFilter& filter);

  // Whether a store's indexes leave anything to ask.
  [[nodiscard]] bool is_needed() const { return is_needed_; }
  // What it needs to know of each task.
  [[nodiscard]] Parts parts() const;
  [[nodiscard]] bool takes(const Task& task);
  // The page ends behind the task that was looked at last; its cursor goes on from there.
  [[nodiscard]] bool has_looked_enough() const;
  // All that follow are older than what is wanted, or newer: this was the last page.
  [[nodiscard]] bool is_past_all() const;
  [[nodiscard]] std::optional<Searched> searched() const;

 private:
  [[nodiscard]] bool matches(const Task& task) const;
  [[nodiscard]] bool has_text(const Task& task);

  const TaskFilter& filter_;
  bool is_needed_;
  std::vector<std::string> forms_;  // of the text that is searched for, as it may stand in a prompt and in JSON
  Searched searched_;
  std::int64_t text_bytes_ = 0;
  int past_in_a_row_ = 0;
};

// Of two calls, the second of which went on where the first had ended.
[[nodiscard]] std::optional<Searched> both(const std::optional<Searched>& first, const std::optional<Searched>& second);
// Whether a list that is put together from several pages should end with this one, which may have had fewer tasks than
// were asked for: a search is not to go on for ever.
[[nodiscard]] bool ends_search(const TaskFilter& filter, bool has_more, bool is_short,
                               const std::optional<Searched>& so_far);

}  // namespace drover
