#include "cli/gate_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/display_text.h"
#include "cli/stats_view.h"
#include "cli/task_view.h"
#include "core/budget.h"
#include "core/gate_name.h"
#include "core/lane.h"

namespace drover::cli {
namespace {

std::string until_text(const std::optional<Time>& until) {
  if (!until) return "";
  return *until == kUntilOpened ? "opened" : format_time(*until);
}

// What comes after a provider's pause: "resumes at 16:20:00, then one at a time; ".
std::string ramp_text(const GateStatus& gate) {
  const auto hold = std::ranges::find(gate.holds, HoldSource::kProvider, &Hold::source);
  if (hold == gate.holds.end()) return "";
  if (gate.closed_until == kUntilOpened) return "";
  if (gate.closed_until) return fmt::format("resumes at {}, then one at a time; ", format_time(*gate.closed_until));
  return "every answer lets more start; ";
}

bool holds_tasks(const BudgetStatus& budget) {
  return budget.breached || budget.left() <= 0;
}

// Who holds it and why, by source: "operator ada@box: deploy".
std::string why_text(const GateStatus& gate) {
  std::string text;
  for (const Hold& hold : gate.holds) {
    if (hold.source == HoldSource::kPolicy) continue;  // its numbers say all
    if (!text.empty()) text += "; ";
    text += name_of(hold.source);
    if (hold.source == HoldSource::kOperator && !hold.by.empty()) text += " " + hold.by;
    if (!hold.why.empty()) text += ": " + hold.why;
  }
  for (const BudgetStatus& budget : gate.budgets) {
    if (!holds_tasks(budget)) continue;
    if (!text.empty()) text += "; ";
    text += spent_text(budget);
    if (budget.resets_at) text += fmt::format(", more at {}", format_time(*budget.resets_at));
  }
  return ramp_text(gate) + text;
}

bool is_half_open(const GateStatus& gate) {
  return !gate.closed_until && std::ranges::find(gate.holds, HoldSource::kBreaker, &Hold::source) != gate.holds.end();
}

Cell state_cell(const GateStatus& gate, Time now) {
  if (gate.closed_until == kUntilOpened) return {"closed", Paint::kRed};
  if (gate.closed_until) {
    Cell cell(fmt::format("closed {}", until(now, *gate.closed_until)), "closed");
    cell.paint = Paint::kRed;
    return cell;
  }
  if (is_half_open(gate)) return {"probing", Paint::kYellow};
  if (std::ranges::any_of(gate.budgets, holds_tasks)) return {"used up", Paint::kYellow};
  const bool full = gate.permits && gate.in_use && *gate.in_use >= *gate.permits;
  return {full ? "full" : "open", full ? Paint::kYellow : Paint::kGreen};
}

std::string rate_text(const GateStatus& gate) {
  return gate.rate ? fmt::format("{} burst {}", to_string(*gate.rate), gate.rate->burst) : "";
}

// Why its own gate is as it is, and what other gates hold back.
std::string reasons_text(const QueueStatus& queue, const GateStatus& gate, Time now) {
  std::string text = why_text(gate);
  for (const HeldTasks& held : queue.held) {
    if (held.gate == gate.name) continue;
    if (!text.empty()) text += "; ";
    text += held_text(held, now);
    if (!held.why.empty()) text += ": " + held.why;
  }
  return text;
}

template <class T>
std::string number_or_empty(const std::optional<T>& number) {
  return number ? std::to_string(*number) : "";
}

Cell permits_cell(const GateStatus& gate) {
  if (!gate.permits) return {std::string()};
  return {fmt::format("{}/{}", gate.in_use.value_or(0), *gate.permits), std::to_string(*gate.permits)};
}

}  // namespace

Table gate_table(std::span<const GateStatus> gates, Time now) {
  Table table({{"GATE"},
               {"STATE"},
               {"UNTIL", Fit::kHidden},
               {"PERMITS"},
               {"IN USE", Fit::kHidden},
               {"RATE"},
               {"LANES"},
               {"WHY", Fit::kRest}});
  for (const GateStatus& gate : gates) {
    table.add({gate.name, state_cell(gate, now), until_text(gate.closed_until), permits_cell(gate),
               number_or_empty(gate.in_use), rate_text(gate), std::to_string(gate.waiting_lanes), why_text(gate)});
  }
  return table;
}

std::string held_text(const HeldTasks& held, Time now) {
  return fmt::format("{} task{} held by {} for {}", held.tasks, held.tasks == 1 ? "" : "s", held.gate,
                     coarse_duration(std::max(Millis{0}, now - held.since)));
}

std::string held_note(const Task& task, std::span<const GateStatus> gates) {
  if (!is_claimable(task.state)) return "";
  std::vector<std::string> names = gates_of(task);
  const std::string owner_gate = gate_name(GateKind::kOwner, task.owner);
  if (std::ranges::find(gates, owner_gate, &GateStatus::name) == gates.end()) {
    std::ranges::replace(names, owner_gate, std::string(kOtherOwnersGate));
  }
  for (const std::string& name : names) {
    const auto gate = std::ranges::find(gates, name, &GateStatus::name);
    if (gate != gates.end() && is_shut(*gate)) return "held by " + name;
  }
  return "";
}

Table queue_table(std::span<const QueueStatus> queues, Time now) {
  Table table({{"QUEUE"},
               {"STATE"},
               {"WAITING"},
               {"RUNNING"},
               {"SCHEDULED"},
               {"BLOCKED"},
               {"PERMITS"},
               {"RATE", Fit::kElastic},
               {"WHY", Fit::kRest}});
  for (const QueueStatus& queue : queues) {
    const GateStatus gate = queue.gate.value_or(GateStatus{});
    Cell state = state_cell(gate, now);
    if (gate.closed_until) {
      state = Cell("paused", Paint::kRed);
    } else if (std::ranges::any_of(queue.held, &HeldTasks::shut)) {
      state = Cell("held", Paint::kRed);
    }
    table.add({queue.name, std::move(state), std::to_string(queue.waiting), std::to_string(queue.running),
               std::to_string(queue.scheduled), std::to_string(queue.blocked), permits_cell(gate), rate_text(gate),
               reasons_text(queue, gate, now)});
  }
  return table;
}

std::string gate_sentence(const GateStatus& gate) {
  std::string text = gate.name + " is ";
  if (gate.closed_until) {
    text += "closed until " + until_text(gate.closed_until);
  } else if (gate.permits == 0) {
    text += "without permits: nothing starts";
  } else {
    text += "open";
  }
  if (const auto permits = gate.permits.value_or(0); permits > 0)
    text += fmt::format(", {} of {} permits in use", gate.in_use.value_or(0), permits);
  if (gate.rate) text += fmt::format(", {}", rate_text(gate));
  const std::string why = why_text(gate);
  return why.empty() ? text : fmt::format("{} ({})", text, why);
}

Table stuck_table(std::span<const StuckGroup> groups, Time now) {
  Table table({{"REASON"}, {"WHERE"}, {"TASKS"}, {"WAITING"}, {"EXAMPLE", Fit::kElastic}, {"WHY", Fit::kRest}});
  for (const StuckGroup& group : groups) {
    table.add({std::string(name_of(group.reason)), group.gate.value_or(group.queue.value_or("-")),
               fmt::format("{}", group.tasks), age_cell(group.since, now), group.example.to_string(), group.text});
  }
  return table;
}

namespace {

// The end of a chain is what holds all of it.
std::string chain_text(const std::vector<Explanation::Link>& chain) {
  std::string text = chain.size() > 1 ? fmt::format("held at the end of a chain of {} tasks:\n", chain.size()) : "";
  for (const Explanation::Link& link : chain) {
    text += fmt::format("  {} {}: {}\n", link.id.to_string(), name_of(link.state), harmless(link.text));
  }
  return text;
}

}  // namespace

std::string explanation_text(const Explanation& explanation, const Look& look) {
  if (!look.terminal) {
    std::string why = explanation.text;
    if (!explanation.chain.empty()) {
      const Explanation::Link& holder = explanation.chain.back();
      why += fmt::format("; {} is {}: {}", holder.id.to_string(), name_of(holder.state), holder.text);
    }
    return fmt::format("{}\t{}\t{}\t{}\n", name_of(explanation.reason), explanation.gate.value_or(""),
                       until_text(explanation.at), tsv_field(why));
  }
  std::string text = harmless(explanation.text) + "\n";
  if (explanation.refusing.size() > 1) {
    for (const GateStatus& gate : explanation.refusing) text += "  " + harmless(gate_sentence(gate)) + "\n";
  }
  for (const TaskId& parent : explanation.waits_for) text += "  " + parent.to_string() + "\n";
  return text + chain_text(explanation.chain);
}

}  // namespace drover::cli
