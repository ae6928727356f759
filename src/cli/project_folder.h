// The folder .drover beside a drover.yaml, in which the project's tasks are kept.
#pragma once

#include "cli/context.h"
#include "cli/project.h"

namespace drover::cli {

// Makes it, hidden from git, unless the project's tasks are kept elsewhere. Commands in this folder used another store
// until now, so the change is told.
[[nodiscard]] Status make_project_folder(Context& context, const std::optional<Project>& project);

}  // namespace drover::cli
