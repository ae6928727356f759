// drover retry: a failed or cancelled task once more.
#include "cli/project.h"
#include "cli/verbs.h"
#include "cli/who.h"
#include "core/task_json.h"

namespace drover::cli {

int run(const RetryOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto task = (*opened)->queue().retry(options.id, {.verdict = {.by = who(), .why = options.reason}});
  if (!task) return context.fail(task.error());
  context.out.line(options.format == Format::kJson ? to_json(*task) : std::string(name_of(task->state)));
  return kExitOk;
}

}  // namespace drover::cli
