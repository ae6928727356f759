#include "engine/trees.h"

#include <map>
#include <utility>
#include <vector>

#include "base/try.h"
#include "core/budget.h"
#include "core/gate_name.h"

namespace drover {
namespace {

constexpr std::string_view kTreePrefix = "tree:";

// A name that has no id is of no task.
TaskId root_of(const std::string& gate) {
  return TaskId::parse(subject_of(gate, GateKind::kTree).value_or("")).value_or(TaskId());
}

// Takes out those that a task which can still run has to pass. One look at all of them, however many gates there are.
Status keep_needed(Store& store, std::map<std::string, std::int64_t>& gone) {
  const TaskFilter unfinished{.states = {TaskState::kBlocked, TaskState::kScheduled, TaskState::kPending,
                                         TaskState::kRunning, TaskState::kStalled}};
  std::optional<std::string> cursor;
  do {
    auto page = TRY(store.list(unfinished, kPageMax, cursor, Parts::kHead));
    for (const TaskRecord& record : page.records) {
      for (const std::string& gate : record.task.gates) gone.erase(gate);
    }
    cursor = std::move(page.cursor);
  } while (cursor && !gone.empty());
  return {};
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
  std::vector<TaskId> ids;
  for (const GateState& state : states) ids.push_back(root_of(state.record.name));
  const auto roots = TRY(store.read(ids, Parts::kHead));
  std::map<std::string, std::int64_t> gone;  // their revisions
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (!roots[i] && states[i].waiting_lanes == 0) gone.emplace(states[i].record.name, states[i].record.revision);
  }
  if (!gone.empty()) TRY(keep_needed(store, gone));
  std::vector<StepGroup> groups;
  for (const auto& [name, revision] : gone) {
    groups.emplace_back().gates.push_back(
        {.name = name, .expected_revision = revision, .next = GateRecord{.name = name}, .events = {}});
  }
  // Somebody who came meanwhile wins.
  if (!groups.empty()) TRY(store.apply(groups));
  return std::cmp_less(states.size(), limit) ? std::string() : states.back().record.name;
}

}  // namespace drover
