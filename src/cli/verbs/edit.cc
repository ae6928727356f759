// drover edit: what may still change of a task that waits.
#include <fmt/format.h>

#include "cli/project.h"
#include "cli/task_input.h"
#include "cli/verb.h"
#include "core/task_json.h"

namespace drover::cli {
namespace {

struct EditOptions {
  TaskId id;
  EditOrder order;                     // without its payload
  std::optional<std::string> payload;  // JSON, @file, or - for stdin
  std::vector<std::string> tags;       // none: they stay
  Format format = Format::kAuto;
};

void define(Verb& verb, EditOptions& options) {
  verb.task_id(&options.id);
  EditOrder& order = options.order;
  verb.value("--priority", "P", &order.priority, parse_priority, "0 (first) to 9, or critical, high, normal, low");
  verb.value("--delay", "D", &order.delay, parse_duration, "wait at least this long from now; 0s means at once");
  verb.value("--at", "T", &order.run_at, parse_time, "start no earlier than this time (RFC 3339)");
  verb.value("--payload", "JSON|@FILE|-", &options.payload, read_text, "replaces the payload: JSON, a file or stdin");
  verb.list("--tag", "T", &options.tags, read_name, "a label; the labels you give replace all the old ones");
  verb.json(&options.format, "print the task as JSON");
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
  const auto task = (*opened)->queue().edit(options.id, order);
  if (!task) return context.fail(task.error());
  if (options.format == Format::kJson) {
    context.out.line(to_json(*task));
    return kExitOk;
  }
  context.say(fmt::format("changed task {}", options.id.to_string()));
  context.out.line(name_of(task->state));
  return kExitOk;
}

}  // namespace

void add_edit(Verbs& verbs) {
  verbs.add<EditOptions>(
      {.name = "edit",
       .summary = "Change a task that has not started",
       .footer =
           R"(Changes the priority, time, payload or tags of a waiting task, and keeps whatever you leave out. A new priority, or a
time that makes the task ready, moves it to the end of the line. Tasks that are running or have ended are refused.

Examples:
  drover edit 01920f5e-7a3c-7def-8123-456789abcdef --priority critical
  drover edit 01920f5e-7a3c-7def-8123-456789abcdef --delay 0s
  drover edit 01920f5e-7a3c-7def-8123-456789abcdef --payload @other.json --tag urgent --tag billing)"},
      define, run);
}

}  // namespace drover::cli
