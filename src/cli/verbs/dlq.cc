// drover dlq list and show: dead letters, by kind and one by one.
#include "cli/verbs/dlq.h"

#include <fmt/format.h>

#include <map>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/dlq_view.h"
#include "cli/listing.h"
#include "cli/project.h"
#include "core/task_json.h"

namespace drover::cli {
namespace {

struct DlqListOptions {
  TaskFilter filter;
  bool tasks = false;  // one by one, not by kind
  int limit = kListLimitDefault;
  std::optional<std::string> cursor;
  Format format = Format::kAuto;
};

struct DlqShowOptions {
  std::variant<TaskId, std::string> what;  // a task, or the fingerprint of a kind
  Format format = Format::kAuto;
};

void define(Verb& verb, DlqListOptions& options) {
  define_dlq_filter(verb, &options.filter);
  verb.flag("--tasks", &options.tasks, true, "one by one, newest first, instead of by kind");
  verb.value("--limit", "N", &options.limit, integer_between({1, 1'000'000}),
             fmt::format("with --tasks: show at most N; default {}", kListLimitDefault));
  verb.value("--cursor", "C", &options.cursor, read_text, "with --tasks: continue a list that was cut off");
  verb.formats(&options.format, "print a JSON array of kinds, or of tasks");
}

void define(Verb& verb, DlqShowOptions& options) {
  verb.task_or("ID|FINGERPRINT", &options.what, read_task_id_or_fingerprint, "a task, or a kind of failure").required();
  verb.json(&options.format, R"(print {"task", "runs"}, or {"group", "tasks"})");
}

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
    context.say(fmt::format("there are more: add --cursor {} to continue, or raise --limit", *page.cursor));
  }
  return kExitOk;
}

// The end of what each run wrote.
Result<std::map<int, std::string>> output_tails(TaskQueue& queue, const TaskId& id) {
  std::map<int, std::string> tails;
  for (std::int64_t after = 0;;) {
    const auto page = TRY(queue.log(id, after, kLogPage));
    for (const LogRecord& record : page.records) {
      std::string& tail = tails[record.run];
      tail += record.text;
      if (tail.size() > kTailBytes) tail.erase(0, tail.size() - kTailBytes);
      after = record.seq;
    }
    if (page.records.size() < static_cast<std::size_t>(kLogPage)) break;
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
  std::vector<RunWithOutput> reports;
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

}  // namespace

void define_dlq_filter(Verb& verb, TaskFilter* filter) {
  filter->states = {TaskState::kFailed};
  verb.value("--fingerprint", "F", &filter->fingerprint, read_fingerprint, "only failures of this kind");
  verb.value("--class", "C", &filter->error_class, read_error_class, "only this class of error");
  verb.value("--type", "T", &filter->type, read_name, "only this type");
  verb.value("--queue", "Q", &filter->queue, read_name, "only this queue");
  verb.value("--owner", "O", &filter->owner, read_name, "only this owner");
  verb.value("--tag", "T", &filter->tag, read_name, "only with this tag");
  verb.value("--escalated", "yes|no", &filter->escalated, read_yes_or_no, "only escalated tasks, or only the others");
  verb.value("--before", "T", &filter->finished_before, parse_time, "only what failed before this time (RFC 3339)");
}

void add_dlq(Verbs& verbs) {
  Verbs& dlq = verbs.family(
      {.name = "dlq",
       .summary = "Dead letters: see why tasks failed, and decide what happens to them",
       .footer =
           R"(A failed task waits for a verdict: retry (perhaps with another payload), wait, escalate or delete. Failures of the
same kind have the same fingerprint: the class, and the message without its numbers, ids, paths and quoted parts.

Examples:
  drover dlq list
  drover dlq show 3f2a9c41d07b
  drover dlq retry --fingerprint 3f2a9c41d07b --reason 'the provider is back')"});
  dlq.add<DlqListOptions>(
      {.name = "list",
       .summary = "List the kinds of failures, those with the most tasks first",
       .footer =
           R"(Piped, it prints tab-separated lines: fingerprint, class, count, escalated, first_at, last_at, example, types, error;
with --tasks: id, type, queue, owner, finished_at, class, fingerprint, to, error.

Examples:
  drover dlq list --type review
  drover dlq list --tasks --class timeout
  drover dlq list --json | jq '.[] | {fingerprint, count}')"},
      define, run);
  dlq.add<DlqShowOptions>(
      {.name = "show",
       .summary = "Show a failed task with all its runs, or one kind of failure with its newest tasks",
       .footer =
           R"(Examples:
  drover dlq show 01920f5e-7a3c-7def-8123-456789abcdef
  drover dlq show 3f2a9c41d07b)"},
      define, run);
  add_dlq_verdicts(dlq);
}

}  // namespace drover::cli
