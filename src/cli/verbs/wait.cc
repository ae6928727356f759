// drover wait: until a task ends; exits with its fate.
#include <fmt/format.h>

#include "cli/await_task.h"
#include "cli/project.h"
#include "cli/verb.h"
#include "core/task_json.h"

namespace drover::cli {
namespace {

struct WaitOptions {
  TaskId id;
  WaitLimits limits;
  Format format = Format::kAuto;
};

void define(Verb& verb, WaitOptions& options) {
  verb.task_id(&options.id);
  define_wait_limits(verb, "--timeout", &options.limits);
  verb.json(&options.format, "print the task as JSON");
}

int run(const WaitOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const UpkeepThread upkeep(**opened);  // time goes on although no worker may be there
  const Interrupts interrupts;
  Task task;
  const auto end = await_task((*opened)->queue(), options.id, options.limits, context, task);
  if (!end) return context.fail(end.error());
  if (*end == WatchEnd::kInterrupted) return kExitInterrupted;
  context.out.line(options.format == Format::kJson ? to_json(task) : std::string(name_of(task.state)));
  if (*end == WatchEnd::kDone) return exit_code_of_fate(task.state);
  context.say(fmt::format("task {} has not ended within {}", options.id.to_string(),
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

Examples:
  drover wait 01920f5e-7a3c-7def-8123-456789abcdef --timeout 10m)"},
      define, run);
}

}  // namespace drover::cli
