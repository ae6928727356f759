#include "cli/listing.h"

#include <algorithm>
#include <iterator>

namespace drover::cli {

Result<TaskPage> list_up_to(TaskQueue& queue, const TaskFilter& filter, int limit,
                            const std::optional<std::string>& cursor) {
  constexpr int kPageTasks = 200;
  TaskPage all{.cursor = cursor};
  do {
    const int wanted = limit - static_cast<int>(all.tasks.size());
    auto page = queue.list(filter, std::min(wanted, kPageTasks), all.cursor);
    if (!page) return page;
    std::ranges::move(page->tasks, std::back_inserter(all.tasks));
    all.cursor = std::move(page->cursor);
  } while (all.cursor && static_cast<int>(all.tasks.size()) < limit);
  return all;
}

}  // namespace drover::cli
