// The JSON of budgets; the same on every surface. Dollars are numbers with up to six decimals, wall time is
// milliseconds.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "drover/budget.h"
#include "drover/gate.h"

namespace drover {

void write_json(json::Writer& out, const BudgetStatus& budget);
// {"provider", "budget_left": {"usd", "tokens", "turns", "wall_ms"}}, of the units in which there is a budget.
[[nodiscard]] std::string to_json(const RunStanding& standing);
// The same without its braces.
[[nodiscard]] std::string members_of(const RunStanding& standing);
[[nodiscard]] Status read_json(std::string_view json, RunStanding& out);
[[nodiscard]] std::string to_json(const BudgetStatus& budget);
// {"stop": {"gate", "unit", "on_breach", "why"}}; of a run that goes on, {"stop": null}.
[[nodiscard]] std::string to_json(const ReportAnswer& answer);
[[nodiscard]] Status read_json(std::string_view json, BudgetStatus& out);
[[nodiscard]] Status read_json(std::string_view json, ReportAnswer& out);

}  // namespace drover
