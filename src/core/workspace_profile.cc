#include "core/workspace_profile.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/names.h"

namespace drover {
namespace {

constexpr Names<4> kKinds{"none", "directory", "clone", "worktree"};

std::unexpected<Error> refuse(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

}  // namespace

std::string_view name_of(WorkspaceKind kind) {
  return name_in(kKinds, kind);
}

std::optional<WorkspaceKind> parse_workspace_kind(std::string_view name) {
  return value_in<WorkspaceKind>(kKinds, name);
}

Result<WorkspaceChoice> choose_workspace(const Task& task, const WorkspaceProfile& profile, const Repos& repos) {
  const std::string& repo = task.repo ? *task.repo : profile.repo;
  const WorkspaceKind kind = profile.kind.value_or(repo.empty() ? WorkspaceKind::kNone : WorkspaceKind::kClone);
  if (!has_repository(kind)) {
    if (!task.repo && !task.base) return WorkspaceChoice{.kind = kind};
    return refuse(
        fmt::format("tasks of type {0} have no repository here: leave repo and base out, or set "
                    "local.runners.{0}.workspace in the worker's drover.yaml",
                    task.type));
  }
  if (repo.empty())
    return refuse(fmt::format(
        "the task names no repository: give it one, or set local.runners.{}.workspace.repo in the worker's drover.yaml",
        task.type));
  const auto found = repos.find(repo);
  if (found == repos.end())
    return fail(ErrorCode::kNotFound,
                fmt::format("the worker knows no repository {0}: name another one, or add local.repos.{0} to the "
                            "worker's drover.yaml",
                            repo));
  const RepoProfile& allowed = found->second;
  if (!allowed.owners.empty() && std::ranges::find(allowed.owners, task.owner) == allowed.owners.end())
    return refuse(
        fmt::format("repository {0} is not open to owner {1}: name another one, or add {1} to "
                    "local.repos.{0}.owners in the worker's drover.yaml",
                    repo, task.owner));
  return WorkspaceChoice{.kind = kind, .repo_path = allowed.path, .base = task.base.value_or(profile.base)};
}

}  // namespace drover
