// drover list: tasks by filter, newest first.
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
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

std::string json_array(std::span<const Task> tasks) {
  std::string text = "[";
  for (const Task& task : tasks) text.append(text.size() > 1 ? ",\n " : "").append(to_json(task));
  return text + "]\n";
}

std::string ids(std::span<const Task> tasks) {
  std::string text;
  for (const Task& task : tasks) text.append(task.id.to_string()).append(1, '\n');
  return text;
}

}  // namespace

int run(const ListOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto listed = list_tasks((*opened)->queue(), options);
  if (!listed) return context.fail(listed.error());
  const TaskPage& page = *listed;
  if (options.format == Format::kJson) {
    context.out.write(json_array(page.tasks));
  } else if (options.ids_only) {
    context.out.write(ids(page.tasks));
  } else if (page.tasks.empty()) {
    context.say("no tasks");
  } else {
    context.out.write(task_table(page.tasks, system_clock().wall()).render(context.out.look()));
  }
  if (page.cursor) context.say(fmt::format("there are more: --cursor {} goes on, --limit N shows more", *page.cursor));
  return kExitOk;
}

}  // namespace drover::cli
