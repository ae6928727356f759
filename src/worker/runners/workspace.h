// A workspace around another plan: the task gets a folder of its own, the other plan's steps run in it, and what they
// committed goes into the repository.
//
// Steps:  prepare ──▶ the setup command, once ──▶ those of the other plan ──▶ finish, if they completed
// Drover's own steps are `drover workspace-step NAME`, without the profile's secrets (docs/internals/workspaces.md).
#pragma once

#include <functional>
#include <memory>

#include "core/workspace_profile.h"
#include "worker/run_plan.h"

namespace drover {

using MakePlan = std::function<std::unique_ptr<RunPlan>(const RunSetting&)>;

// With an error instead of a choice the task fails as invalid.
[[nodiscard]] std::unique_ptr<RunPlan> make_workspace_plan(const RunSetting& setting, Result<WorkspaceChoice> choice,
                                                           MakePlan make_inner);

}  // namespace drover
