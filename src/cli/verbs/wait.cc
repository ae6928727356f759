// drover wait: until a task ends; exits with its fate. With --children, from inside a task: the task waits for its own.
#include <fmt/format.h>

#include "cli/await_task.h"
#include "cli/project.h"
#include "cli/verb.h"
#include "core/task_json.h"
#include "worker/door.h"

namespace drover::cli {
namespace {

struct WaitOptions {
  std::vector<TaskId> ids;
  bool children = false;
  WaitLimits limits;
  Format format = Format::kAuto;
};

void define(Verb& verb, WaitOptions& options) {
  verb.tasks("ID", "", &options.ids, "the task; with --children, the children to wait for").several();
  verb.flag("--children", &options.children, true,
            "inside a task: when this run ends with exit code 0, suspend the task until its children are done");
  define_wait_limits(verb, "--timeout", &options.limits);
  verb.json(&options.format, "print the task as JSON");
  verb.check([&options]() -> Status {
    if (options.children || options.ids.size() == 1) return {};
    return fail(ErrorCode::kInvalidArgument, "name one task to wait for; inside a task, --children waits for its own");
  });
}

int suspend(const WaitOptions& options, Context& context) {
  const auto url = context.door();
  if (!url) return context.fail(url.error());
  // The door knows no other tasks.
  if (!context.prefixes.empty()) {
    return context.fail({ErrorCode::kInvalidArgument, "with --children, give whole ids of the children", {}});
  }
  Suspend suspend;
  if (!options.ids.empty()) suspend.children = options.ids;
  const auto told = wait_for_children(*url, suspend);
  return told ? kExitOk : context.fail(told.error());
}

int run(const WaitOptions& options, Context& context) {
  if (options.children) return suspend(options, context);
  const TaskId& id = options.ids.front();
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const UpkeepThread upkeep(**opened);  // time goes on although no worker may be there
  const Interrupts interrupts;
  Task task;
  const auto end = await_task((*opened)->queue(), id, options.limits, context, task);
  if (!end) return context.fail(end.error());
  if (*end == WatchEnd::kInterrupted) return kExitInterrupted;
  context.out.line(options.format == Format::kJson ? to_json(task) : std::string(name_of(task.state)));
  if (*end == WatchEnd::kDone) return exit_code_of_fate(task.state);
  context.say(fmt::format("task {} has not ended within {}", id.to_string(),
                          format_duration(options.limits.timeout.value_or(Millis{0}))));
  return kExitTimedOut;
}

}  // namespace

void add_wait(Verbs& verbs) {
  verbs.add<WaitOptions>(
      {.name = "wait",
       .summary = "Wait until a task ends",
       .footer =
           R"(Prints its state and exits with 0 if it completed, 10 if it failed, 11 if it was cancelled, and 124 after --timeout.
After a second it says on stderr what it waits for.

With --children it runs inside a task, through the socket in DROVER_URL, and returns at once: when the run then ends with exit code 0,
the task suspends until its children (those named, or all) are done, and runs again. Nothing runs and no attempt is used meanwhile.

Examples:
  drover wait 01920f5e-7a3c-7def-8123-456789abcdef --timeout 10m
  drover wait --children)"},
      define, run);
}

}  // namespace drover::cli
