// drover gate and drover queue: what may start, seen and set by hand.
#include "base/clock.h"
#include "cli/gate_view.h"
#include "cli/listing.h"
#include "cli/project.h"
#include "cli/verbs.h"
#include "cli/who.h"
#include "core/gate_json.h"

namespace drover::cli {
namespace {

GateOrder order_of(const GateSetOptions& options) {
  GateOrder order{.gate = options.gate, .what = GateOrder::Open{}, .why = options.reason, .by = who()};
  switch (options.what) {
    case GateSetOptions::What::kOpen:
      break;
    case GateSetOptions::What::kClose: {
      Time until = options.close_until.value_or(kUntilOpened);
      if (options.close_for) until = system_clock().wall() + *options.close_for;
      order.what = GateOrder::Close{until};
      break;
    }
    case GateSetOptions::What::kLimit:
      order.what = GateOrder::Limit{options.permits};
      break;
  }
  return order;
}

}  // namespace

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

int run(const GateSetOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  const auto gate = (*opened)->queue().set_gate(order_of(options));
  if (!gate) return context.fail(gate.error());
  if (options.format == Format::kJson) {
    context.out.line(to_json(*gate));
  } else {
    context.say(gate_sentence(*gate));
  }
  return kExitOk;
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

}  // namespace drover::cli
