// What is spent of budgets, as Redis keeps and answers it.
#pragma once

#include <span>
#include <string_view>

#include "core/budget.h"
#include "store/redis/pack.h"

namespace drover::redis {

// "usd tokens turns wall" that are set aside, then what is spent of each budget of the gate.
[[nodiscard]] BudgetUse parse_budget_use(std::string_view text);
// "gate|unit|period"; the period is missing where something is set aside.
[[nodiscard]] std::optional<SpendEntry> parse_spend_field(std::string_view field, std::string_view amount);
// Field and amount of each that is spent: what is set aside follows from the tasks.
[[nodiscard]] Pack packed_spend(std::span<const SpendEntry> spend);

}  // namespace drover::redis
