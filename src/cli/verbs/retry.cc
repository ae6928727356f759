// drover retry: a failed or cancelled task once more, or many by filter.
#include "cli/bulk.h"
#include "cli/project.h"
#include "cli/verb.h"
#include "cli/who.h"
#include "core/task_json.h"

namespace drover::cli {
namespace {

struct RetryOptions {
  BulkChoice choice;
  std::string reason;
  Format format = Format::kAuto;
};

void define(Verb& verb, RetryOptions& options) {
  define_bulk_choice(verb, &options.choice, "all failed tasks");
  define_task_filter(verb, &options.choice.filter);
  verb.value("--reason", "R", &options.reason, read_text, "why; kept in the event");
  verb.json(&options.format, R"(print the task as JSON; for many, {"state", "done", "skipped", "failed", ...})");
}

int run(const RetryOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const Verdict verdict{.by = who(), .why = options.reason};
  if (!options.choice.is_one_task() || options.choice.dry_run) {
    return run_bulk(**opened, {.verb = BulkVerb::kRetry, .verdict = verdict}, options.choice,
                    words_of(BulkVerb::kRetry), options.format, context);
  }
  const auto task = (*opened)->queue().retry(options.choice.ids.front(), {.verdict = verdict});
  if (!task) return context.fail(task.error());
  context.out.line(options.format == Format::kJson ? to_json(*task) : std::string(name_of(task->state)));
  return kExitOk;
}

}  // namespace

void add_retry(Verbs& verbs) {
  verbs.add<RetryOptions>({.name = "retry",
                           .summary = "Run failed or cancelled tasks again",
                           .footer =
                               R"(Attempts are counted from zero again; earlier runs stay on record.

A filter means failed tasks unless --state names others. Several ids, or a filter, are one operation that survives this
command: it counts the tasks and asks before it starts (scripts pass --yes), and retries each task once. See
`drover bulk`.

Examples:
  drover retry --state failed --tag nightly --dry-run
  drover retry --class timeout --since 2h --yes
  drover retry 01920f5e-7a3c-7def-8123-456789abcdef)"},
                          define, run);
}

}  // namespace drover::cli
