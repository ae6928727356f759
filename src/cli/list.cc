// drover list: tasks by filter, newest first.
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "cli/listing.h"
#include "cli/project.h"
#include "cli/task_view.h"
#include "cli/verbs.h"
#include "core/task_json.h"

namespace drover::cli {
namespace {

constexpr int kPageTasks = 200;

// Up to `limit` tasks, in pages.
Result<TaskPage> list_tasks(TaskQueue& queue, const ListOptions& options) {
  TaskPage all{.cursor = options.cursor};
  do {
    const int wanted = options.limit - static_cast<int>(all.tasks.size());
    auto page = queue.list(options.filter, std::min(wanted, kPageTasks), all.cursor);
    if (!page) return page;
    std::ranges::move(page->tasks, std::back_inserter(all.tasks));
    all.cursor = std::move(page->cursor);
  } while (all.cursor && static_cast<int>(all.tasks.size()) < options.limit);
  return all;
}

}  // namespace

int run(const ListOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto listed = list_tasks((*opened)->queue(), options);
  if (!listed) return context.fail(listed.error());
  const TaskPage& page = *listed;
  print(Listing<Task>{.items = page.tasks,
                      .nothing = "no tasks",
                      .name = [](const Task& task) { return task.id.to_string(); },
                      .table = [&] { return task_table(page.tasks, system_clock().wall()); }},
        options.format, context);
  if (page.cursor) context.say(fmt::format("there are more: --cursor {} goes on, --limit N shows more", *page.cursor));
  return kExitOk;
}

}  // namespace drover::cli
