// drover gate: what may start, seen and set by hand.
#include "base/clock.h"
#include "cli/gate_order.h"
#include "cli/gate_view.h"
#include "cli/listing.h"
#include "cli/project.h"
#include "core/gate_json.h"

namespace drover::cli {
namespace {

struct GateListOptions {
  Format format = Format::kAuto;
};

void define(Verb& verb, GateListOptions& options) {
  verb.formats(&options.format, "print a JSON array of gates");
}

void define_gate_name(Verb& verb, GateSetOptions& options) {
  verb.value("GATE", "", &options.gate, read_gate, "all, queue:Q, type:T, owner:O, lock:K or provider:P").required();
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
  verb.value("PERMITS", "", &options.permits, read_permits, "how many may run at once; none: no limit by hand any more")
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
       .summary = "See, close, open and limit what may start",
       .footer =
           R"(A gate is asked before a task may start: all, queue:Q, type:T, owner:O, provider:P, lock:K. Nothing that runs is stopped.

Examples:
  drover gate list
  drover gate close all --reason 'provider is down'
  drover gate limit type:review 2)"});
  gate.add<GateListOptions>(
      {.name = "list",
       .summary = "List the gates that hold something back or could",
       .footer =
           R"(Piped, it prints tab-separated lines: name; open, closed, full or probing; closed until; permits; in use; rate; lanes that
wait there; why.

Examples:
  drover gate list --json)"},
      define, run);
  gate.add<GateSetOptions>({.name = "open",
                            .summary = "Drop everything that holds a gate closed, but the policy's limits",
                            .footer =
                                R"(Pauses, limits by hand, a breaker and a provider's pause all go.

Examples:
  drover gate open all
  drover gate open type:review --reason 'the agent is fixed')"},
                           define_open, set_gate);
  gate.add<GateSetOptions>({.name = "close",
                            .summary = "Let nothing more start that passes a gate",
                            .footer =
                                R"(Until it is opened, or for a time. What runs goes on.

Examples:
  drover gate close all --reason 'provider is down'
  drover gate close provider:anthropic --for 15m)"},
                           define_close, set_gate);
  gate.add<GateSetOptions>({.name = "limit",
                            .summary = "Limit how many tasks of a gate run at once",
                            .footer =
                                R"(Counts beside the limit of the policy: the smaller one holds.

Examples:
  drover gate limit type:review 2 --reason 'it eats all memory'
  drover gate limit type:review none)"},
                           define_limit, set_gate);
}

}  // namespace drover::cli
