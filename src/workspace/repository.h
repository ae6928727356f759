// The repository that workspaces are made from, and what Drover writes to it: branches drover/TASK_ID, refs
// refs/drover/TASK_ID and registered worktrees, one change at a time. Its configuration, index and working tree stay as
// they are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drover/error.h"
#include "drover/ids.h"
#include "workspace/git.h"
#include "workspace/lock.h"

namespace drover::workspace {

[[nodiscard]] std::string branch_of(const TaskId& task);    // drover/ID
[[nodiscard]] std::string kept_ref_of(const TaskId& task);  // refs/drover/ID

struct Repository {
  std::string path;
  std::string git_dir;  // the one that its worktrees share
  std::string object_format;

  // kInvalidConfig if there is no repository at `path`. `step` is the lock under which everything happens.
  [[nodiscard]] static Result<Repository> open(const std::string& path, const Lock& step);
  // The bare repository of a root for workspaces that have none; made when it is missing.
  [[nodiscard]] static Result<Repository> for_directories(const std::string& root);

  [[nodiscard]] std::string objects() const { return git_dir + "/objects"; }
  [[nodiscard]] Result<std::string> shallow() const;
  // kInvalidArgument if the base is refused or names no commit.
  [[nodiscard]] Result<std::string> resolve_base(const std::string& base, const Lock& step) const;
  // The refs that a clone starts with, as packed-refs has them: branches as those of origin, and tags.
  [[nodiscard]] Result<std::string> refs_for_clone(const Lock& step) const;
};

// A repository while we alone may change it. It must not outlive the step's lock.
class LockedRepository {
 public:
  [[nodiscard]] static Result<LockedRepository> lock(const Repository& repository, const TaskId& task,
                                                     const Lock& step);

  // The commit, or nothing if there is no such ref.
  [[nodiscard]] Result<std::optional<std::string>> commit_of(const std::string& ref) const;
  // refs/drover/ID reaches this commit from now on, beside all that it reached before. Where it has to join them, it
  // has this commit's files.
  [[nodiscard]] Status keep(const std::string& commit);
  [[nodiscard]] Status set_ref(const std::string& ref, const std::string& commit);
  // Takes a commit and what it needs from a git directory of ours. kWrongState: git refuses it.
  [[nodiscard]] Status fetch(const std::string& git_dir, const std::string& refspec);

  // Registers WORK, an empty folder that will be moved to FINAL_WORK, as a worktree on branch drover/ID.
  [[nodiscard]] Status add_worktree(const std::string& work, const std::string& final_work, const std::string& commit);
  // Its files may be anywhere, or gone.
  [[nodiscard]] Status forget_worktree(const std::string& work);

 private:
  LockedRepository(const Repository& repository, const TaskId& task, Lock lock, Git git)
      : repository_(repository), task_(task), lock_(std::move(lock)), git_(std::move(git)) {}

  Repository repository_;
  TaskId task_;
  Lock lock_;
  Git git_;
};

// Where git keeps HEAD and index of the worktree at WORK; kNotFound if it is not registered.
[[nodiscard]] Result<std::string> worktree_git_dir(const std::string& common_git_dir, const std::string& work);

}  // namespace drover::workspace
