#include "cli/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

#include "base/try.h"
#include "core/task_filter.h"

namespace drover::cli {

Result<TaskPage> list_up_to(TaskQueue& queue, const TaskFilter& filter, int limit,
                            const std::optional<std::string>& cursor) {
  constexpr int kPageTasks = 200;
  TaskPage all{.cursor = cursor};
  for (bool is_done = false; !is_done;) {
    const int wanted = std::min(limit - static_cast<int>(all.tasks.size()), kPageTasks);
    auto page = queue.list(filter, wanted, all.cursor);
    if (!page) return page;
    all.searched = both(all.searched, page->searched);
    is_done = !page->cursor ||
              ends_search(filter, page->cursor.has_value(), std::cmp_less(page->tasks.size(), wanted), all.searched);
    std::ranges::move(page->tasks, std::back_inserter(all.tasks));
    all.cursor = std::move(page->cursor);
    is_done = is_done || std::cmp_equal(all.tasks.size(), limit);
  }
  return all;
}

Result<TaskId> task_with_prefix(TaskQueue& queue, const std::string& prefix) {
  constexpr int kShown = 4;
  const auto page = TRY(list_up_to(queue, {.id_prefix = prefix}, kShown + 1, std::nullopt));
  if (page.tasks.size() == 1) return page.tasks.front().id;
  if (page.tasks.empty())
    return fail(ErrorCode::kNotFound, fmt::format("there is no task whose id begins with {}", prefix));
  std::string some;
  for (const Task& task : page.tasks | std::views::take(kShown)) {
    some += fmt::format("{}{} ({})", some.empty() ? "" : ", ", task.id.to_string(), task.type);
  }
  if (std::cmp_greater(page.tasks.size(), kShown)) some += ", ...";
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("the ids of several tasks begin with {}: {}; type more of it", prefix, some));
}

}  // namespace drover::cli
