// How gates, queues and explanations look to people, and which columns programs get.
#pragma once

#include <span>
#include <string>

#include "cli/output.h"
#include "cli/table.h"
#include "drover/gate.h"

namespace drover::cli {

[[nodiscard]] Table gate_table(std::span<const GateStatus> gates, Time now);
// "5 tasks held by all for 2m"
[[nodiscard]] std::string held_text(const HeldTasks& held, Time now);
// Which shut gate holds the waiting task back; empty if none of these does.
[[nodiscard]] std::string held_note(const Task& task, std::span<const GateStatus> gates);
[[nodiscard]] Table queue_table(std::span<const QueueStatus> queues, Time now);
// One sentence about a gate: "queue:eng is closed, until opened (ada@box: deploy)".
[[nodiscard]] std::string gate_sentence(const GateStatus& gate);
[[nodiscard]] Table stuck_table(std::span<const StuckGroup> groups, Time now);
// For people the sentence, and what it is about, a line each; for programs one line of reason, gate, at and text.
[[nodiscard]] std::string explanation_text(const Explanation& explanation, const Look& look);

}  // namespace drover::cli
