// What a run has spent when it ends: by it a task's own budget may be used up, and the budgets of its gates are booked.
#pragma once

#include <optional>

#include "core/budget.h"
#include "core/step.h"
#include "core/task_record.h"
#include "core/transition.h"
#include "drover/task.h"

namespace drover {

// The task's own budget, if there is nothing left of it: another run could not do anything.
[[nodiscard]] std::optional<TaskError> end_by_budget(const TaskRecord& record, Time now);

// Of a run that may end in this step: taken before, because its end clears what it has used.
// last: what its worker says with the end, if it does. per_run: what a claim sets aside for a run of its type.
[[nodiscard]] std::optional<SpendChange> spend_until(const TaskRecord& record, const RunReport* last,
                                                     const DecisionContext& context, const BudgetShares& per_run);
// If the step did end the run.
void close_spend(Step& step, std::optional<SpendChange> spend);

}  // namespace drover
