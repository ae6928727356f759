// The parts of drover.yaml about workspaces: local.repos, and `workspace` of a runner.
#pragma once

#include "core/workspace_profile.h"
#include "policy/config_node.h"

namespace drover {

[[nodiscard]] Status read_repos(Repos& repos, const ConfigNode& node);
[[nodiscard]] Status read_workspace(WorkspaceProfile& workspace, const ConfigNode& node);

}  // namespace drover
