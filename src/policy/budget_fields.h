// Budgets in drover.yaml: of gates, of types, of tasks.
#pragma once

#include <vector>

#include "core/policy.h"
#include "policy/config_node.h"

namespace drover {

// [{usd: 20, per: day, zone: Europe/Berlin, on_breach: pause}, …]: each has one unit.
[[nodiscard]] Result<std::vector<Budget>> budgets_of(const ConfigNode& node);
// {usd: 3, tokens: 5M, turns: 80, wall: 45m}
[[nodiscard]] Result<BudgetShares> budget_shares_of(const ConfigNode& node);
// Sets has_budgets. Refuses a budget in a unit for which a type that it covers says nothing of a run.
[[nodiscard]] Status check_budgets(const ConfigNode& root, Policy& policy);

// Offsets of zones from this machine's files, from any thread.
[[nodiscard]] const ZoneOffset& system_zones();

}  // namespace drover
