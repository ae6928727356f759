// What runs do to the budgets of their gates while they go on: another slice is set aside for one that has used up its
// own, or it is told to stop.
#pragma once

#include <optional>
#include <vector>

#include "base/rng.h"
#include "core/budget.h"
#include "core/policy.h"
#include "store/store.h"

namespace drover {

class RunSpend {
 public:
  // All outlive it.
  RunSpend(Store& store, Rng& rng, const Policy& policy, Time now)
      : store_(store), rng_(rng), policy_(policy), now_(now) {}

  // `told` is the record after its report, whose step is the one of the group. Adds what is spent to that step, and
  // what becomes of the gates to the group.
  [[nodiscard]] Result<std::optional<BudgetStop>> judge(const TaskRecord& record, const TaskRecord& told, bool at_door,
                                                        StepGroup& group);

 private:
  [[nodiscard]] Result<std::vector<AskedGate>> read(const Task& task);
  [[nodiscard]] BudgetAmounts spent_by(const TaskRecord& told, const RunBudget& before, bool at_door) const;
  // Once in a period.
  void tell(const Breach& breach, const BudgetStatus& status, const Task& task, StepGroup& group) const;

  Store& store_;
  Rng& rng_;
  const Policy& policy_;
  Time now_;
  std::vector<AskedGate> gates_;
  std::vector<GateRecord> records_;  // of the same gates, as they are stored
};

// A sentence on a budget that is used up: what of it, and when there is more.
[[nodiscard]] std::string why_used_up(const BudgetStatus& budget);
// The budgets of a gate; `record` is the effective one.
[[nodiscard]] std::vector<BudgetStatus> budget_statuses(std::string_view gate, const GateRecord& record,
                                                        const BudgetUse& use);

}  // namespace drover
