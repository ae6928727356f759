#include "cli/gate_order.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "cli/gate_use.h"
#include "cli/gate_view.h"
#include "cli/project.h"
#include "cli/who.h"
#include "core/gate_json.h"
#include "engine/transfer.h"

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

// After the order was obeyed: a gate may be closed before its first task comes.
void warn_of_unused(TaskQueue& queue, const std::string& gate, Context& context) {
  const auto warning = unused_gate_warning(queue, gate);
  if (!warning) {
    context.say(fmt::format("warning: cannot tell whether anything uses {}: {}", gate, warning.error().message));
  } else if (const std::optional<std::string>& text = *warning) {
    context.say("warning: " + *text);
  }
}

// Whoever may not see it will not open it.
bool is_half_imported(TaskQueue& queue, const std::string& gate) {
  if (gate != kAllGate) return false;
  const auto gates = queue.gates();
  return gates && std::ranges::any_of(*gates, [](const GateStatus& one) { return is_import_mark(one); });
}

}  // namespace

void define_gate_opening(Verb& verb, GateSetOptions& options) {
  verb.value("--reason", "R", &options.reason, read_text, "why; shown to anyone who asks");
  verb.json(&options.format, "print the gate as JSON");
}

void define_gate_closing(Verb& verb, GateSetOptions& options) {
  options.what = GateSetOptions::What::kClose;
  verb.value("--for", "D", &options.close_for, read_time_limit, "open it again after this long");
  verb.value("--until", "T", &options.close_until, parse_time, "open it again at this time (RFC 3339)");
  define_gate_opening(verb, options);
  verb.check([&options]() -> Status {
    if (options.close_for && options.close_until) return complaint("--for and --until", "give one of them");
    return {};
  });
}

int set_gate(const GateSetOptions& options, Context& context) {
  const auto opened = open_chosen_store(context);
  if (!opened) return context.fail(opened.error());
  TaskQueue& queue = (*opened)->queue();
  const bool opens_half_a_store = options.what == GateSetOptions::What::kOpen && is_half_imported(queue, options.gate);
  const auto gate = queue.set_gate(order_of(options));
  if (!gate) return context.fail(gate.error());
  if (opens_half_a_store) {
    context.say("warning: an import that is still running or was interrupted had closed it; this store is incomplete");
  }
  warn_of_unused(queue, options.gate, context);
  if (options.format == Format::kJson) {
    context.out.line(to_json(*gate));
  } else {
    context.say(gate_sentence(*gate));
  }
  return kExitOk;
}

}  // namespace drover::cli
