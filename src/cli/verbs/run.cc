// drover run: enqueue, wait, print the result, exit with the task's fate.
#include <fmt/format.h>

#include "cli/await_task.h"
#include "cli/display_text.h"
#include "cli/project.h"
#include "cli/task_input.h"
#include "cli/task_view.h"
#include "cli/verb.h"
#include "core/task_json.h"

namespace drover::cli {
namespace {

struct RunOptions {
  TaskArguments task;
  WaitLimits limits;
  Format format = Format::kAuto;
};

void define(Verb& verb, RunOptions& options) {
  verb.value("TYPE", "", &options.task.spec.type, read_name, "what kind of work it is").required();
  define_task(verb, &options.task);
  define_wait_limits(verb, "--wait-timeout", &options.limits);
  verb.json(&options.format, "print the whole task instead of its result");
}

void print(const Task& task, const RunOptions& options, Context& context) {
  if (options.format == Format::kJson) return context.out.line(to_json(task));
  const std::string result = result_text(task);
  context.out.write(context.out.look().terminal ? harmless(result) : result);
  if (task.state == TaskState::kCompleted) return;
  const std::string why = task.error ? fmt::format(": {}: {}", name_of(task.error->error_class), task.error->message)
                                     : fmt::format(": {}", task.cancel_reason.value_or(""));
  context.say(fmt::format("task {} {}{}", task.id.to_string(), name_of(task.state), why == ": " ? "" : why));
}

int run(const RunOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);  // before the task is read: it finds out which ids are meant
  if (!opened) return context.fail(opened.error());
  auto spec = read_task(options.task);
  if (!spec) return context.fail(spec.error());
  continue_own_trace(context.environment, std::span(&*spec, 1));
  TaskQueue& queue = (*opened)->queue();
  const auto enqueued = queue.enqueue_one(*spec);
  if (!enqueued) return context.fail(enqueued.error());
  const UpkeepThread upkeep(**opened);  // time goes on although no worker may be there
  const Interrupts interrupts;
  Task task;
  const auto end = await_task(queue, enqueued->id, options.limits, context, task);
  if (!end) return context.fail(end.error());
  if (*end != WatchEnd::kDone) {
    const std::string id = enqueued->id.to_string();
    context.say(fmt::format("stopped waiting; task {} goes on (drover wait {}, drover cancel {})", id, id, id));
    return exit_code_of_giving_up(*end);
  }
  print(task, options, context);
  return exit_code_of_fate(task.state);
}

}  // namespace

void add_run(Verbs& verbs) {
  verbs.add<RunOptions>(
      {.name = "run",
       .summary = "Store a task, wait until it ends and print its result",
       .footer =
           R"(Exits with 0 if the task completed, 10 if it failed, 11 if it was cancelled, and 124 after --wait-timeout, which
does not stop the task. A result that is a string is printed as plain text. After a second it says on stderr what it
is waiting for.

Examples:
  drover run summarise --payload @notes.json
  drover run build --timeout 5m --json | jq .result
  drover run build --wait-timeout 10m)"},
      define, run);
}

}  // namespace drover::cli
