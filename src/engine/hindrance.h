// What holds a waiting task back: gates that refuse it, or that nobody serves its queue. For explain, which asks for
// one task, and for stuck, which asks for every lane.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/store.h"

namespace drover {

// A gate that refuses a task now.
struct Refusal {
  GateStatus gate;
  std::optional<Time> at;  // when it will not
  std::string why;         // as the end of "type:eng ..."
};
// In the order in which a claim asks them. `gates` are those of gates_of(task), in its order; `others` is that of
// owners without one of their own.
[[nodiscard]] std::vector<Refusal> refusals_of(const Task& task, std::span<const GateState> gates,
                                               const GateRecord& others, Time now);

// Who could run a task.
struct Serving {
  int workers = 0;
  std::string trouble{};  // of one that would serve it, but cannot run it
};
// The first budget of the gate that has too little left for one run; null: none.
[[nodiscard]] const BudgetStatus* used_up_budget(const GateStatus& gate, const BudgetAmounts& per_run);

[[nodiscard]] Serving who_serves(std::span<const WorkerInfo> workers, const Task& task, Time now);
// Of a task that nobody serves.
[[nodiscard]] std::string why_not_served(const Task& task, const Serving& serving);

// Of a store that went backwards: before anything else that holds tasks back.
[[nodiscard]] std::string why_nothing_is_claimed(const Loss& loss);

}  // namespace drover
