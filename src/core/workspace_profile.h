// What a worker's drover.yaml says of workspaces and repositories, and which workspace a task gets by it. Local to a
// worker, like its runner profiles.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/error.h"
#include "drover/task.h"
#include "drover/time.h"

namespace drover {

// What an agent finds where it works.
enum class WorkspaceKind : std::uint8_t {
  kNone,       // no workspace: it works where the worker does
  kDirectory,  // an empty folder
  kClone,      // a clone that borrows the repository's objects
  kWorktree,   // a worktree, for agents that may write to the repository itself
};
[[nodiscard]] std::string_view name_of(WorkspaceKind kind);
[[nodiscard]] std::optional<WorkspaceKind> parse_workspace_kind(std::string_view name);
[[nodiscard]] constexpr bool has_repository(WorkspaceKind kind) {
  return kind == WorkspaceKind::kClone || kind == WorkspaceKind::kWorktree;
}

// How long workspaces of ended tasks stay.
struct WorkspaceKeep {
  Millis completed{0};
  Millis failed = std::chrono::days(7);
  std::int64_t bytes_max = std::int64_t{20} << 30;  // past it, the oldest go first

  bool operator==(const WorkspaceKeep&) const = default;
};

struct WorkspaceProfile {
  std::optional<WorkspaceKind> kind{};  // unset: a clone where there is a repository, else none
  std::string root{};                   // the folder of all workspaces; empty: in the worker's state folder
  std::string repo{};                   // for tasks that name none
  std::string base = "HEAD";            // for tasks that name none
  std::vector<std::string> setup{};     // runs once in each new workspace
  WorkspaceKeep keep{};

  // Whether every task of the type has a workspace.
  [[nodiscard]] bool is_wanted() const {
    return kind.value_or(repo.empty() ? WorkspaceKind::kNone : WorkspaceKind::kClone) != WorkspaceKind::kNone;
  }
  bool operator==(const WorkspaceProfile&) const = default;
};

// A repository that tasks may work on.
struct RepoProfile {
  std::string path;
  std::vector<std::string> owners{};  // whose tasks; empty: everybody's

  bool operator==(const RepoProfile&) const = default;
};
using Repos = std::map<std::string, RepoProfile, std::less<>>;

// The workspace of one task.
struct WorkspaceChoice {
  WorkspaceKind kind = WorkspaceKind::kNone;
  std::string repo_path{};
  std::string base{};

  bool operator==(const WorkspaceChoice&) const = default;
};

// kInvalidArgument if the task asks for what it cannot have, kNotFound if for a repository that this worker does not
// have; the message says what to do.
[[nodiscard]] Result<WorkspaceChoice> choose_workspace(const Task& task, const WorkspaceProfile& profile,
                                                       const Repos& repos);

}  // namespace drover
