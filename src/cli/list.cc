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

namespace {

// The gates that may hold some of these tasks back; none if nothing waits, or if this token may not see gates.
Result<std::vector<GateStatus>> gates_before(TaskQueue& queue, std::span<const Task> tasks) {
  if (std::ranges::none_of(tasks, [](const Task& task) { return is_claimable(task.state); })) {
    return std::vector<GateStatus>();
  }
  auto gates = queue.gates();
  if (!gates && gates.error().code == ErrorCode::kForbidden) return std::vector<GateStatus>();
  return gates;
}

}  // namespace

int run(const ListOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto listed = list_up_to((*opened)->queue(), options.filter, options.limit, options.cursor);
  if (!listed) return context.fail(listed.error());
  const TaskPage& page = *listed;
  const auto gates = gates_before((*opened)->queue(), page.tasks);
  if (!gates) return context.fail(gates.error());
  print(Listing<Task>{.items = page.tasks,
                      .nothing = "no tasks",
                      .name = [](const Task& task) { return task.id.to_string(); },
                      .table = [&] { return task_table(page.tasks, system_clock().wall(), *gates); }},
        options.format, context);
  if (page.cursor) context.say(fmt::format("there are more: --cursor {} goes on, --limit N shows more", *page.cursor));
  return kExitOk;
}

}  // namespace drover::cli
