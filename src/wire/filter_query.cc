#include "wire/filter_query.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"
#include "core/filter_terms.h"

namespace drover {
namespace {

Status add(TaskFilter& filter, const std::string& name, const std::string& value) {
  if (name == "q") return add_task_query(filter, value, system_clock().wall());
  if (!is_filter_term(name)) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("unknown parameter {}", quoted_excerpt(name)));
  }
  return add_filter_term(filter, name, value, std::nullopt);
}

}  // namespace

Result<TaskFilter> filter_of_query(const std::vector<std::pair<std::string, std::string>>& query,
                                   std::initializer_list<std::string_view> others) {
  TaskFilter filter;
  for (const auto& [name, value] : query) {
    if (std::ranges::find(others, name) != others.end()) continue;
    const Status added = add(filter, name, value);
    if (added) continue;
    const bool is_known = name == "q" || is_filter_term(name);
    return fail(ErrorCode::kInvalidArgument,
                is_known ? fmt::format("{}: {}", name, added.error().message) : added.error().message);
  }
  return filter;
}

std::vector<std::pair<std::string, std::string>> query_of_filter(const TaskFilter& filter) {
  return filter_terms(filter);
}

}  // namespace drover
