// drover cancel: a task and what depends on it, or many by filter.
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "cli/bulk.h"
#include "cli/listing.h"
#include "cli/project.h"
#include "cli/task_view.h"
#include "cli/verb.h"
#include "cli/who.h"
#include "core/task_json.h"

namespace drover::cli {
namespace {

struct CancelOptions {
  BulkChoice choice;
  std::string reason;
  Format format = Format::kAuto;
};

void define(Verb& verb, CancelOptions& options) {
  define_bulk_choice(verb, &options.choice, "all unfinished tasks");
  define_task_filter(verb, &options.choice.filter);
  verb.value("--reason", "R", &options.reason, read_text, "why; kept with the task");
  verb.json(
      &options.format,
      R"(print {"id", "state", "cancelled", "requested"}; for many, {"state", "done", "skipped", "failed", ...})");
}

std::string outcome_json(const TaskId& id, const CancelOutcome& outcome) {
  json::Writer writer;
  writer.begin_object().key("id").string(id.to_string()).key("state").string(name_of(outcome.state));
  writer.key("cancelled").number(outcome.cancelled).key("requested").number(outcome.requested).end_object();
  return std::move(writer).take();
}

Table effects_table(const std::vector<CancelEffect>& effects) {
  Table table({{"ID"}, {"TYPE", Fit::kElastic}, {"STATE"}, {"WOULD BE"}});
  for (const CancelEffect& effect : effects) {
    const std::string from(effect.from ? name_of(*effect.from) : "(new)");
    table.add({effect.id.to_string(), effect.type, from, Cell(std::string(name_of(effect.to)), paint_of(effect.to))});
  }
  return table;
}

int show_effects(TaskQueue& queue, const TaskId& id, const CancelOptions& options, Context& context) {
  const auto effects = queue.preview_cancel(id);
  if (!effects) return context.fail(effects.error());
  print(Listing<CancelEffect>{.items = *effects,
                              .nothing = "nothing would end",
                              .name = [](const CancelEffect& effect) { return effect.id.to_string(); },
                              .table = [&] { return effects_table(*effects); }},
        options.format, context);
  const auto stopped = std::ranges::count(*effects, TaskState::kRunning, &CancelEffect::from);
  const auto cancelled = std::ranges::count(*effects, TaskState::kCancelled, &CancelEffect::to);
  context.say(fmt::format("nothing was changed: {} would be cancelled, {} of them after a request to stop", cancelled,
                          stopped));
  return kExitOk;
}

int run(const CancelOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  if (!options.choice.is_one_task()) {
    return run_bulk(**opened, {.verb = BulkVerb::kCancel, .verdict = {.by = who(), .why = options.reason}},
                    options.choice, words_of(BulkVerb::kCancel), options.format, context);
  }
  const TaskId& id = options.choice.ids.front();
  if (options.choice.dry_run) return show_effects((*opened)->queue(), id, options, context);
  const auto outcome = (*opened)->queue().cancel(id, options.reason);
  if (!outcome) return context.fail(outcome.error());
  if (options.format == Format::kJson) {
    context.out.line(outcome_json(id, *outcome));
    return kExitOk;
  }
  context.say(fmt::format("{} cancelled, {} asked to stop", outcome->cancelled, outcome->requested));
  context.out.line(name_of(outcome->state));
  return kExitOk;
}

}  // namespace

void add_cancel(Verbs& verbs) {
  verbs.add<CancelOptions>(
      {.name = "cancel",
       .summary = "Cancel tasks and the tasks that depend on them",
       .footer =
           R"(The processes of a running task get TERM and, ten seconds later, KILL. The task is cancelled when they are dead.

Several ids, or a filter, are one operation that survives this command: it counts the tasks and asks before it starts
(scripts pass --yes), and never includes tasks that are enqueued later. See `drover bulk`.

Examples:
  drover cancel 01920f5e-7a3c-7def-8123-456789abcdef --dry-run
  drover cancel --type review --state pending --dry-run
  drover cancel --tag nightly --yes --reason 'the branch is gone'
  drover cancel 01920f5e-7a3c-7def-8123-456789abcdef --reason 'wrong branch')"},
      define, run);
}

}  // namespace drover::cli
