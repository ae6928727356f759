// drover list: tasks by filter, newest first.
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"
#include "cli/bulk.h"
#include "cli/listing.h"
#include "cli/project.h"
#include "cli/task_view.h"
#include "cli/verb.h"
#include "core/task_json.h"
#include "wire/write.h"

namespace drover::cli {

namespace {

struct ListOptions {
  TaskFilter filter;
  int limit = kListLimitDefault;
  std::optional<std::string> cursor;
  bool paged = false;
  Format format = Format::kAuto;
};

void define(Verb& verb, ListOptions& options) {
  define_task_filter(verb, &options.filter);
  verb.flag("--oldest", &options.filter.order, TaskOrder::kOldestFirst, "the oldest first");
  verb.value("--limit", "N", &options.limit, integer_between({1, 1'000'000}),
             fmt::format("show at most N; default {}", kListLimitDefault));
  verb.value("--cursor", "C", &options.cursor, read_text, "continue a list that was cut off");
  verb.flag("-q,--quiet", &options.format, Format::kName, "ids only, as -o name");
  verb.formats(&options.format, "print a JSON array of tasks");
  verb.flag("--paged", &options.paged, true, R"(with --json: print {"tasks", "cursor", "searched"} instead)");
  verb.check([&options]() -> Status {
    if (options.paged && options.format != Format::kJson) return complaint("--paged", "needs --json");
    return {};
  });
}

// The gates that may hold some of these tasks back; none if nothing waits, or if this token may not see gates.
Result<std::vector<GateStatus>> gates_before(TaskQueue& queue, std::span<const Task> tasks) {
  if (std::ranges::none_of(tasks, [](const Task& task) { return is_claimable(task.state); })) {
    return std::vector<GateStatus>();
  }
  auto gates = queue.gates();
  if (!gates && gates.error().code == ErrorCode::kForbidden) return std::vector<GateStatus>();
  return gates;
}

// What tasks ask that wait for an answer; none if no task does, or if this token may not see questions. Of very many
// the newest.
Result<std::vector<Question>> questions_of(TaskQueue& queue, std::span<const Task> tasks) {
  if (std::ranges::none_of(tasks, waits_for_answer)) return std::vector<Question>();
  auto open = queue.questions({.state = QuestionState::kOpen}, kPageMax, std::nullopt);
  if (open) return std::move(open->questions);
  if (open.error().code == ErrorCode::kForbidden) return std::vector<Question>();
  return std::unexpected(open.error());
}

// Where to go on, and how far a search has looked.
void say_what_is_left(const TaskPage& page, const TaskFilter& filter, Context& context) {
  if (filter.search && page.cursor) {
    return context.say(fmt::format("searched {}, back to {}: add --cursor {} to look further",
                                   counted(page.searched.value_or(Searched()).tasks, "task"),
                                   format_time(page.searched.value_or(Searched()).back_to), *page.cursor));
  }
  if (page.cursor)
    context.say(fmt::format("there are more: add --cursor {} to continue, or raise --limit", *page.cursor));
}

int run(const ListOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto listed = list_up_to((*opened)->queue(), options.filter, options.limit, options.cursor);
  if (!listed) return context.fail(listed.error());
  const TaskPage& page = *listed;
  if (options.paged) {
    context.out.line(to_json(page));
    return kExitOk;
  }
  const auto gates = gates_before((*opened)->queue(), page.tasks);
  if (!gates) return context.fail(gates.error());
  const auto asked = questions_of((*opened)->queue(), page.tasks);
  if (!asked) return context.fail(asked.error());
  print(Listing<Task>{.items = page.tasks,
                      .nothing = "no tasks",
                      .name = [](const Task& task) { return task.id.to_string(); },
                      .table = [&] { return task_table(page.tasks, system_clock().wall(), *gates, *asked); }},
        options.format, context);
  say_what_is_left(page, options.filter, context);
  return kExitOk;
}

}  // namespace

void add_list(Verbs& verbs) {
  verbs.add<ListOptions>(
      {.name = "list",
       .summary = "List tasks, newest first",
       .footer =
           R"(Piped, it prints tab-separated lines: id, type, queue, owner, state, priority, attempts, max_attempts, created_at, note.

Examples:
  drover list --state running,stalled
  drover list --tag nightly --json | jq '.[].id'
  drover list --since 2h --search 'payment failed'
  drover list --class timeout)"},
      define, run);
}

}  // namespace drover::cli
