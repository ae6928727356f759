#include "engine/trees.h"

#include <utility>

#include "base/try.h"
#include "core/budget.h"
#include "core/gate_name.h"

namespace drover {
namespace {

constexpr std::string_view kTreePrefix = "tree:";

// Those that could still run.
Result<bool> has_unfinished(Store& store, const std::string& gate) {
  const TaskFilter unfinished{.states = {TaskState::kBlocked, TaskState::kScheduled, TaskState::kPending,
                                         TaskState::kRunning, TaskState::kStalled},
                              .gate = gate};
  std::optional<std::string> cursor;
  do {
    auto page = TRY(store.list(unfinished, kPageMax, cursor, Parts::kHead));
    if (!page.records.empty()) return true;
    cursor = std::move(page.cursor);
  } while (cursor);
  return false;
}

Result<bool> is_gone(Store& store, const std::string& gate) {
  const auto root = TaskId::parse(subject_of(gate, GateKind::kTree).value_or(""));
  if (!root) return true;
  const auto records = TRY(store.read(std::span(&*root, 1), Parts::kHead));
  if (records.front()) return false;
  const bool goes_on = TRY(has_unfinished(store, gate));
  return !goes_on;
}

}  // namespace

bool is_tree_gate(const std::string& gate) {
  return subject_of(gate, GateKind::kTree).has_value();
}

std::optional<GateStep> tree_gate_of(const Task& root) {
  const auto shares = root.tree_budget ? parse_task_budget(*root.tree_budget) : BudgetShares{};
  if (!shares || *shares == BudgetShares{}) return std::nullopt;
  GateRecord gate{.name = gate_name(GateKind::kTree, root.id.to_string())};
  gate.budgets = tree_budgets(*shares);
  return GateStep{.name = gate.name, .expected_revision = 0, .next = gate, .events = {}};
}

Result<std::string> tidy_trees(Store& store, const std::string& after, int limit) {
  const auto states = TRY(store.gates_from(std::string(kTreePrefix), after, limit));
  std::vector<StepGroup> groups;
  for (const GateState& state : states) {
    const bool gone = TRY(is_gone(store, state.record.name));
    if (!gone) continue;
    groups.emplace_back().gates.push_back({.name = state.record.name,
                                           .expected_revision = state.record.revision,
                                           .next = GateRecord{.name = state.record.name},
                                           .events = {}});
  }
  // Somebody who came meanwhile wins.
  if (!groups.empty()) TRY(store.apply(groups));
  return std::cmp_less(states.size(), limit) ? std::string() : states.back().record.name;
}

}  // namespace drover
