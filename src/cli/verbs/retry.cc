// drover retry: a failed or cancelled task once more.
#include "cli/project.h"
#include "cli/verb.h"
#include "cli/who.h"
#include "core/task_json.h"

namespace drover::cli {
namespace {

struct RetryOptions {
  TaskId id;
  std::string reason;
  Format format = Format::kAuto;
};

void define(Verb& verb, RetryOptions& options) {
  verb.task_id(&options.id);
  verb.value("--reason", "R", &options.reason, read_text, "why; kept in the event");
  verb.json(&options.format, "print the task as JSON");
}

int run(const RetryOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto task = (*opened)->queue().retry(options.id, {.verdict = {.by = who(), .why = options.reason}});
  if (!task) return context.fail(task.error());
  context.out.line(options.format == Format::kJson ? to_json(*task) : std::string(name_of(task->state)));
  return kExitOk;
}

}  // namespace

void add_retry(Verbs& verbs) {
  verbs.add<RetryOptions>({.name = "retry",
                           .summary = "Run a failed or cancelled task again",
                           .footer =
                               R"(Its attempts are counted from zero again; its earlier runs stay on record.

Examples:
  drover retry 01920f5e-7a3c-7def-8123-456789abcdef)"},
                          define, run);
}

}  // namespace drover::cli
