// drover edit: what may still change of tasks that wait.
#include <fmt/format.h>

#include "cli/bulk.h"
#include "cli/project.h"
#include "cli/task_input.h"
#include "cli/verb.h"
#include "cli/who.h"
#include "core/task_json.h"

namespace drover::cli {
namespace {

struct EditOptions {
  BulkChoice choice;
  std::string reason;
  EditOrder order;                     // without its payload
  std::optional<std::string> payload;  // JSON, @file, or - for stdin
  std::vector<std::string> tags;       // none: they stay
  Format format = Format::kAuto;
};

void define(Verb& verb, EditOptions& options) {
  define_bulk_choice(verb, &options.choice, "all waiting tasks");
  define_task_filter(verb, &options.choice.filter, "--tagged");
  EditOrder& order = options.order;
  verb.value("--priority", "P", &order.priority, parse_priority, "0 (first) to 9, or critical, high, normal, low");
  verb.value("--delay", "D", &order.delay, parse_duration, "wait at least this long from now; 0s means at once");
  verb.value("--at", "T", &order.run_at, parse_time, "start no earlier than this time (RFC 3339)");
  verb.value("--payload", "JSON|@FILE|-", &options.payload, read_text, "replaces the payload: JSON, a file or stdin");
  verb.list("--tag", "T", &options.tags, read_name, "a label; the labels you give replace all the old ones");
  verb.value("--reason", "R", &options.reason, read_text, "why; kept with an operation on several tasks");
  verb.json(&options.format, R"(print the task as JSON; for many, {"state", "done", "skipped", "failed", ...})");
  verb.check([&options, &order]() -> Status {
    if (order.delay && order.run_at) return complaint("--delay and --at", "give one of them");
    const bool any = order.priority || order.delay || order.run_at || options.payload || !options.tags.empty();
    return any ? Status{}
               : complaint("edit", "give something to change: --priority, --delay, --at, --payload or --tag");
  });
}

int run(const EditOptions& options, Context& context) {
  EditOrder order = options.order;
  if (options.payload) {
    auto payload = read_payload(*options.payload);
    if (!payload) return context.fail(payload.error());
    order.payload = *std::move(payload);
  }
  if (!options.tags.empty()) order.tags = options.tags;
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  if (!options.choice.is_one_task() || options.choice.dry_run) {
    const BulkOrder many{
        .verb = BulkVerb::kEdit, .verdict = {.by = who(), .why = options.reason}, .edit = std::move(order)};
    return run_bulk(**opened, many, options.choice, words_of(BulkVerb::kEdit), options.format, context);
  }
  const TaskId& id = options.choice.ids.front();
  const auto task = (*opened)->queue().edit(id, order);
  if (!task) return context.fail(task.error());
  if (options.format == Format::kJson) {
    context.out.line(to_json(*task));
    return kExitOk;
  }
  context.say(fmt::format("changed task {}", id.to_string()));
  context.out.line(name_of(task->state));
  return kExitOk;
}

}  // namespace

void add_edit(Verbs& verbs) {
  verbs.add<EditOptions>(
      {.name = "edit",
       .summary = "Change tasks that have not started",
       .footer =
           R"(Changes the priority, time, payload or tags of a waiting task, and keeps whatever you leave out. A new priority, or a
time that makes the task ready, moves it to the end of the line. Tasks that are running or have ended are refused.

Several ids, or a filter, are one operation that survives this command: it counts the tasks and asks before it starts
(scripts pass --yes). See `drover bulk`.

Examples:
  drover edit --type review --tagged nightly --priority low --yes
  drover edit 01920f5e-7a3c-7def-8123-456789abcdef --priority critical
  drover edit 01920f5e-7a3c-7def-8123-456789abcdef --delay 0s
  drover edit 01920f5e-7a3c-7def-8123-456789abcdef --payload @other.json --tag urgent --tag billing)"},
      define, run);
}

}  // namespace drover::cli
