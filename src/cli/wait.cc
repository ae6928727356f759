// drover wait: until a task ends; exits with its fate.
#include <fmt/format.h>

#include "cli/await_task.h"
#include "cli/project.h"
#include "cli/verbs.h"
#include "core/task_json.h"

namespace drover::cli {

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

}  // namespace drover::cli
