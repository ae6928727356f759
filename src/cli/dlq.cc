// drover dlq list and show: dead letters, by kind and one by one.
#include <fmt/format.h>

#include <map>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/dlq_view.h"
#include "cli/listing.h"
#include "cli/project.h"
#include "cli/verbs.h"
#include "core/task_json.h"

namespace drover::cli {
namespace {

constexpr int kLogPage = 200;
constexpr int kNewestShown = 10;
constexpr std::size_t kTailBytes = 2'048;

std::string tasks_json(const std::vector<Task>& tasks) {
  std::string text = "[";
  for (const Task& task : tasks) text.append(text.size() > 1 ? ",\n " : "").append(to_json(task));
  return text + "]";
}

int list_groups(TaskQueue& queue, const DlqListOptions& options, Context& context) {
  const auto groups = queue.error_groups(options.filter);
  if (!groups) return context.fail(groups.error());
  print(Listing<ErrorGroup>{.items = *groups,
                            .nothing = "no dead letters",
                            .name = [](const ErrorGroup& group) { return group.fingerprint; },
                            .table = [&] { return group_table(*groups, system_clock().wall()); }},
        options.format, context);
  return kExitOk;
}

int list_tasks(TaskQueue& queue, const DlqListOptions& options, Context& context) {
  const auto listed = list_up_to(queue, options.filter, options.limit, options.cursor);
  if (!listed) return context.fail(listed.error());
  const TaskPage& page = *listed;
  print(Listing<Task>{.items = page.tasks,
                      .nothing = "no dead letters",
                      .name = [](const Task& task) { return task.id.to_string(); },
                      .table = [&] { return dead_letter_table(page.tasks, system_clock().wall()); }},
        options.format, context);
  if (page.cursor) {
    context.say(fmt::format("there are more: --cursor {} goes on, --limit N shows more", *page.cursor));
  }
  return kExitOk;
}

// The end of what each run wrote.
Result<std::map<int, std::string>> output_tails(TaskQueue& queue, const TaskId& id) {
  std::map<int, std::string> tails;
  for (std::int64_t after = 0;;) {
    const auto page = queue.log(id, after, kLogPage);
    if (!page) return std::unexpected(page.error());
    for (const LogRecord& record : page->records) {
      std::string& tail = tails[record.run];
      tail += record.text;
      if (tail.size() > kTailBytes) tail.erase(0, tail.size() - kTailBytes);
      after = record.seq;
    }
    if (page->records.size() < static_cast<std::size_t>(kLogPage)) break;
  }
  for (auto& [run, tail] : tails) tail = to_utf8(tail);
  return tails;
}

int show_task(TaskQueue& queue, const TaskId& id, Format format, Context& context) {
  const auto task = queue.get(id);
  if (!task) return context.fail(task.error());
  auto runs = queue.runs(id);
  if (!runs) return context.fail(runs.error());
  auto tails = output_tails(queue, id);
  if (!tails) return context.fail(tails.error());
  std::vector<RunReport> reports;
  for (RunSummary& run : *runs) {
    std::string& tail = (*tails)[run.run];
    reports.push_back({std::move(run), std::move(tail)});
  }
  if (format == Format::kJson) {
    context.out.line(dead_letter_json(*task, reports));
  } else {
    context.out.write(dead_letter_page(*task, reports, system_clock().wall(), context.out.look()));
  }
  return kExitOk;
}

int show_group(TaskQueue& queue, const std::string& fingerprint, Format format, Context& context) {
  const TaskFilter filter{.states = {TaskState::kFailed}, .fingerprint = fingerprint};
  const auto groups = queue.error_groups(filter);
  if (!groups) return context.fail(groups.error());
  if (groups->empty()) {
    return context.fail({ErrorCode::kNotFound, fmt::format("no dead letter has the fingerprint {}", fingerprint), {}});
  }
  const auto newest = queue.list(filter, kNewestShown, std::nullopt);
  if (!newest) return context.fail(newest.error());
  if (format == Format::kJson) {
    context.out.line(fmt::format(R"({{"group":{},"tasks":{}}})", to_json(groups->front()), tasks_json(newest->tasks)));
    return kExitOk;
  }
  const Time now = system_clock().wall();
  const Look& look = context.out.look();
  context.out.write(group_table(*groups, now).render(look));
  if (look.terminal) context.out.line("");
  context.out.write(dead_letter_table(newest->tasks, now).render(look));
  return kExitOk;
}

}  // namespace

int run(const DlqListOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  TaskQueue& queue = (*opened)->queue();
  return options.tasks ? list_tasks(queue, options, context) : list_groups(queue, options, context);
}

int run(const DlqShowOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  TaskQueue& queue = (*opened)->queue();
  if (const auto* id = std::get_if<TaskId>(&options.what)) return show_task(queue, *id, options.format, context);
  return show_group(queue, std::get<std::string>(options.what), options.format, context);
}

}  // namespace drover::cli
