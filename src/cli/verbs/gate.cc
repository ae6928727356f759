// drover gate: what may start, seen and set by hand.
#include "base/clock.h"
#include "cli/gate_order.h"
#include "cli/gate_view.h"
#include "cli/listing.h"
#include "cli/project.h"
#include "core/gate_json.h"
#include "core/gate_name.h"

namespace drover::cli {
namespace {

struct GateListOptions {
  Format format = Format::kAuto;
};

void define(Verb& verb, GateListOptions& options) {
  verb.formats(&options.format, "print a JSON array of gates");
}

void define_gate_name(Verb& verb, GateSetOptions& options) {
  verb.value("GATE", "", &options.gate, read_gate, gate_name_forms()).required();
}

void define_open(Verb& verb, GateSetOptions& options) {
  define_gate_name(verb, options);
  define_gate_opening(verb, options);
}

void define_close(Verb& verb, GateSetOptions& options) {
  define_gate_name(verb, options);
  define_gate_closing(verb, options);
}

void define_limit(Verb& verb, GateSetOptions& options) {
  options.what = GateSetOptions::What::kLimit;
  define_gate_name(verb, options);
  verb.value("PERMITS", "", &options.permits, read_permits,
             "how many may run at once; none removes the limit that was set by hand")
      .required();
  define_gate_opening(verb, options);
}

int run(const GateListOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto gates = (*opened)->queue().gates();
  if (!gates) return context.fail(gates.error());
  print(Listing<GateStatus>{.items = *gates,
                            .nothing = "no gate holds anything back",
                            .name = [](const GateStatus& gate) { return gate.name; },
                            .table = [&] { return gate_table(*gates, system_clock().wall()); }},
        options.format, context);
  return kExitOk;
}

}  // namespace

void add_gate(Verbs& verbs) {
  Verbs& gate = verbs.family(
      {.name = "gate",
       .summary = "List, close, open and limit gates, which decide what may start",
       .footer = "Before a task may start, Drover asks its gates: " + gate_name_forms() + R"(. Running tasks continue.

Examples:
  drover gate list
  drover gate close all --reason 'provider is down'
  drover gate limit type:review 2)"});
  gate.add<GateListOptions>(
      {.name = "list",
       .summary = "List the gates that hold tasks back, or could",
       .footer =
           R"(Piped, it prints tab-separated lines: name; open, closed, full or probing; closed until; permits; in use; rate; lanes that
wait for it; why.

Examples:
  drover gate list --json)"},
      define, run);
  gate.add<GateSetOptions>({.name = "open",
                            .summary = "Open a gate: lift every hold on it except the policy's limits",
                            .footer =
                                R"(Removes pauses, limits set by hand, an open breaker and a provider's pause.

Examples:
  drover gate open all
  drover gate open type:review --reason 'the agent is fixed')"},
                           define_open, set_gate);
  gate.add<GateSetOptions>(
      {.name = "close",
       .summary = "Close a gate: the tasks behind it do not start",
       .footer =
           R"(It stays closed until somebody opens it, or for the time that you give. Running tasks continue.

Examples:
  drover gate close all --reason 'provider is down'
  drover gate close provider:anthropic --for 15m)"},
      define_close, set_gate);
  gate.add<GateSetOptions>({.name = "limit",
                            .summary = "Limit how many tasks of a gate run at once",
                            .footer =
                                R"(If the policy sets a limit as well, the smaller one counts.

Examples:
  drover gate limit type:review 2 --reason 'it eats all memory'
  drover gate limit type:review none)"},
                           define_limit, set_gate);
}

}  // namespace drover::cli
