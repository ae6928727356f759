// Trees: a task that no other spawned and all its descendants share the budgets of the gate tree:ROOT, if the root says
// so (Task::tree_budget). The gate is stored with its root, and goes when the tree is gone.
#pragma once

#include <optional>
#include <string>

#include "core/step.h"
#include "store/store.h"

namespace drover {

[[nodiscard]] bool is_tree_gate(const std::string& gate);
// The step that stores the gate of a new root; none if it has no budget for its tree.
[[nodiscard]] std::optional<GateStep> tree_gate_of(const Task& root);

// Looks at `limit` such gates behind that name, and takes away those of trees whose root and last task retention has
// deleted. The name of the last one looked at; empty: that were all.
[[nodiscard]] Result<std::string> tidy_trees(Store& store, const std::string& after, int limit);

}  // namespace drover
