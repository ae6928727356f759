// Questions that gates ask: whether a budget that is used up is to be raised. Each is asked, answered and withdrawn in
// the group of steps that moves its gate, so there is never more than one for a budget and period.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "core/budget.h"
#include "store/store.h"

namespace drover {

// Marks the budget of the step's next record as breached, asks people if it says so, and tells of it. `task`: whose run
// was stopped, if one was.
void breach_budget(GateStep& step, std::size_t budget, const BudgetStatus& status, const TaskId* task, Rng& rng,
                   Time now, StepGroup& group);
// The questions that budgets of the gate asked, and that those after the step have no more.
[[nodiscard]] std::vector<QuestionId> dropped_questions(std::span<const GateBudget> before, const GateStep& step);
// The steps that withdraw those of the questions that are open.
[[nodiscard]] Result<std::vector<QuestionStep>> withdraw_all(Store& store, std::span<const QuestionId> questions,
                                                             std::string_view why, Time now);

// Open questions that no gate stands behind any more; a repair withdraws them.
[[nodiscard]] Result<std::vector<Finding>> check_gate_questions(Store& store, FsckMode mode);

}  // namespace drover
