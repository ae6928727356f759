// drover queue: the queues, paused and resumed through their gates.
#include "base/clock.h"
#include "cli/gate_order.h"
#include "cli/gate_view.h"
#include "cli/listing.h"
#include "cli/project.h"
#include "core/gate_json.h"
#include "core/gate_name.h"

namespace drover::cli {
namespace {

struct QueueListOptions {
  Format format = Format::kAuto;
};

void define(Verb& verb, QueueListOptions& options) {
  verb.formats(&options.format, "print a JSON array of queues");
}

void define_queue_name(Verb& verb, GateSetOptions& options) {
  const auto read_queue = [](std::string_view text) -> Result<std::string> {
    auto name = read_name(text);
    if (name) *name = gate_name(GateKind::kQueue, *name);
    return name;
  };
  verb.value("QUEUE", "", &options.gate, read_queue, "the queue").required();
}

void define_pause(Verb& verb, GateSetOptions& options) {
  define_queue_name(verb, options);
  define_gate_closing(verb, options);
}

void define_resume(Verb& verb, GateSetOptions& options) {
  define_queue_name(verb, options);
  define_gate_opening(verb, options);
}

int run(const QueueListOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto queues = (*opened)->queue().queues();
  if (!queues) return context.fail(queues.error());
  print(Listing<QueueStatus>{.items = *queues,
                             .nothing = "no queue holds tasks",
                             .name = [](const QueueStatus& queue) { return queue.name; },
                             .table = [&] { return queue_table(*queues, system_clock().wall()); }},
        options.format, context);
  return kExitOk;
}

}  // namespace

void add_queue(Verbs& verbs) {
  Verbs& queue = verbs.family({.name = "queue",
                               .summary = "List, pause and resume queues",
                               .footer =
                                   R"(Examples:
  drover queue list
  drover queue pause eng --reason 'database is moving'
  drover queue resume eng)"});
  queue.add<QueueListOptions>(
      {.name = "list",
       .summary = "List the queues, the tasks in them and what holds them back",
       .footer =
           R"(Piped, it prints tab-separated lines: name; open, paused or full; waiting; running; scheduled; blocked; permits; rate; why.

Examples:
  drover queue list --json)"},
      define, run);
  queue.add<GateSetOptions>({.name = "pause",
                             .summary = "Pause a queue: its tasks do not start",
                             .footer =
                                 R"(Running tasks continue. The same as `drover gate close queue:QUEUE`.

Examples:
  drover queue pause eng --reason 'database is moving'
  drover queue pause eng --for 30m)"},
                            define_pause, set_gate);
  queue.add<GateSetOptions>({.name = "resume",
                             .summary = "Resume a paused queue",
                             .footer =
                                 R"(The same as `drover gate open queue:QUEUE`.

Examples:
  drover queue resume eng)"},
                            define_resume, set_gate);
}

}  // namespace drover::cli
