// The terms of a filter by the names that URLs and queries have for them, which are those of `drover list`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/task_queue.h"

namespace drover {

inline constexpr std::size_t kQueryBytesMax = 2'048;
inline constexpr std::size_t kTermNamesMax = 100;  // of one kind

[[nodiscard]] bool is_filter_term(std::string_view name);
// Adds a term whose name is known. Of types, queues, owners, tags and states there may be several, with commas or one
// by one; any other given twice is kInvalidArgument, as is a bad value. Without `now` a time has to be absolute.
[[nodiscard]] Status add_filter_term(TaskFilter& filter, std::string_view name, const std::string& value,
                                     const std::optional<Time>& now);
// What add_filter_term makes the same filter of.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> filter_terms(const TaskFilter& filter);

// A filter as people type it: `state:failed,stalled queue:eng tag:"a b" since:2h timed out`. What has no name is
// searched for. Adds to the filter; kInvalidArgument names the term that is wrong.
[[nodiscard]] Status add_task_query(TaskFilter& filter, std::string_view text, Time now);

}  // namespace drover
