#include "core/policy.h"

#include <algorithm>

#include "core/gate_name.h"
#include "core/lane.h"
#include "core/names.h"

namespace drover {
namespace {

constexpr Names<3> kVerifyRules{"optional", "required", "unchanged"};

const TypePolicy kDefaultType;
const SessionPolicy kDefaultSession;

template <class Map>
const typename Map::mapped_type* find(const Map& map, std::string_view key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

// The entry of the document that is about this gate.
const GatePolicy* entry_of(const Policy& policy, std::string_view gate) {
  if (gate == kOtherOwnersGate) return &policy.other_owners.gate;
  if (const auto name = subject_of(gate, GateKind::kQueue)) {
    const QueuePolicy* queue = find(policy.queues, *name);
    return queue != nullptr ? &queue->gate : nullptr;
  }
  if (const auto name = subject_of(gate, GateKind::kOwner)) {
    const OwnerPolicy* owner = find(policy.owners, *name);
    return owner != nullptr ? &owner->gate : nullptr;
  }
  return find(policy.gates, gate);
}

}  // namespace

std::string_view name_of(VerifyRule rule) {
  return name_in(kVerifyRules, rule);
}

std::optional<VerifyRule> parse_verify_rule(std::string_view name) {
  return value_in<VerifyRule>(kVerifyRules, name);
}

const TypePolicy& Policy::type(std::string_view name) const {
  const TypePolicy* type = find(types, name);
  return type != nullptr ? *type : kDefaultType;
}

const SessionPolicy& Policy::session(std::string_view name) const {
  const SessionPolicy* session = find(sessions, name);
  return session != nullptr ? *session : kDefaultSession;
}

std::string Policy::queue_of(std::string_view type_name) const {
  return type(type_name).queue.value_or(std::string(type_name));
}

GatePolicy Policy::gate(std::string_view name) const {
  const GatePolicy* entry = entry_of(*this, name);
  GatePolicy gate;
  if (entry != nullptr) {
    gate = *entry;
  } else if (subject_of(name, GateKind::kOwner)) {
    gate = other_owners.gate;
  }
  if (!gate.permits) gate.permits = default_permits(name);
  return gate;
}

bool Policy::names_gate(std::string_view name) const {
  const GatePolicy* entry = entry_of(*this, name);
  if (entry != nullptr && entry->limits_anything()) return true;
  const auto type_name = subject_of(name, GateKind::kType);
  return type_name && per_run(*type_name) != BudgetAmounts{};
}

BudgetAmounts Policy::per_run(std::string_view type_name) const {
  BudgetAmounts amounts{};
  if (!has_budgets) return amounts;
  const BudgetShares& shares = type(type_name).budget_per_run;
  for (std::size_t i = 0; i < amounts.size(); ++i) amounts[i] = shares[i].value_or(0);
  return amounts;
}

std::vector<std::string> Policy::budgeted_gates(const Task& task) const {
  std::vector<std::string> names;
  const auto is_tree = [](const std::string& name) { return subject_of(name, GateKind::kTree).has_value(); };
  if (!has_budgets && std::ranges::none_of(task.gates, is_tree)) return names;
  for (std::string& name : gates_of(task)) {
    if (is_tree(name) || !gate(name).budgets.empty()) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace drover
