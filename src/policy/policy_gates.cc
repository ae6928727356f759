#include "policy/policy_gates.h"

#include <algorithm>
#include <string>

#include "core/gate_name.h"
#include "policy/budget_fields.h"

namespace drover {

namespace {

bool is_only_policy(const GateRecord& gate) {
  const auto is_touched = [](const GateBudget& one) { return one.raised > 0 || one.breached; };
  return gate.breaker == BreakerCount{} && std::ranges::none_of(gate.budgets, is_touched) &&
         std::ranges::all_of(gate.holds, [](const Hold& hold) { return hold.source == HoldSource::kPolicy; });
}

std::vector<std::string> named_gates(const Policy& policy) {
  std::vector<std::string> names{std::string(kOtherOwnersGate)};
  for (const auto& [queue, unused] : policy.queues) names.push_back(gate_name(GateKind::kQueue, queue));
  for (const auto& [owner, unused] : policy.owners) names.push_back(gate_name(GateKind::kOwner, owner));
  for (const auto& [gate, unused] : policy.gates) names.push_back(gate);
  for (const auto& [type, unused] : policy.types) names.push_back(gate_name(GateKind::kType, type));
  std::erase_if(names, [&](const std::string& name) { return !policy.names_gate(name); });
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  return names;
}

}  // namespace

std::vector<GateRecord> policy_gates(const Policy& policy) {
  std::vector<GateRecord> gates;
  for (std::string& name : named_gates(policy)) {
    obey_policy(gates.emplace_back(GateRecord{.name = std::move(name)}), policy, Time{});
  }
  return gates;
}

void obey_policy(GateRecord& gate, const Policy& policy, Time now) {
  // A tree has what its root says.
  if (subject_of(gate.name, GateKind::kTree)) return;
  // First those that go on: by them it is known whether anybody but the policy has a say in the gate.
  gate.budgets = obeying(gate.budgets, policy.gate(gate.name).budgets, now, system_zones());
  if (const auto type = subject_of(gate.name, GateKind::kType)) gate.per_run = policy.per_run(*type);
  const bool needed = policy.names_gate(gate.name) || !is_only_policy(gate);
  const GatePolicy limits = needed ? policy.gate(gate.name) : GatePolicy{};
  gate.rate = limits.rate;
  if (!needed) gate.budgets.clear();
  if (!limits.permits) return drop_hold(gate, HoldSource::kPolicy);
  const Hold* hold = find_hold(gate, HoldSource::kPolicy);
  if (hold != nullptr && hold->permits == limits.permits) return;
  set_hold(gate, Hold{.source = HoldSource::kPolicy,
                      .closed_until = std::nullopt,
                      .permits = limits.permits,
                      .why = "limit of the policy",
                      .by = "policy",
                      .since = now});
}

}  // namespace drover
