// A filter of tasks as the query of a URL: the terms of core/filter_terms.h, and `q`, which has several of them in one
// text.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/task_queue.h"

namespace drover {

// `others` are parameters that mean something else. Unknown ones and bad values are kInvalidArgument.
[[nodiscard]] Result<TaskFilter> filter_of_query(const std::vector<std::pair<std::string, std::string>>& query,
                                                 std::initializer_list<std::string_view> others);
[[nodiscard]] std::vector<std::pair<std::string, std::string>> query_of_filter(const TaskFilter& filter);

}  // namespace drover
