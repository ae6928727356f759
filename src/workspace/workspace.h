// A folder for each task, from a git repository, that outlives the task's runs and is deleted only when its work is
// safe.
//
// A root holds the workspaces of one store: tasks of other stores may have the same ids.
//
//   ROOT/TASK_ID/work/       what the agent sees
//               /drover.git/ our own git directory, while a step is at work
//               /meta.json   how the workspace was made
//   ROOT/TASK_ID.lock        who uses it (lock.h)
//   ROOT/saved.git           where workspaces without a repository are saved
//
// One idea: git never runs with a configuration that an agent can write. docs/internals/workspaces.md tells the rest.
// Everything here blocks while git works. Safe from any thread and process: workspaces and repositories have locks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/workspace_profile.h"
#include "drover/error.h"
#include "drover/ids.h"
#include "drover/time.h"

namespace drover::workspace {

using Kind = WorkspaceKind;
using KeepPolicy = WorkspaceKeep;

// Errors that are the task's or its agent's fault: trying again changes nothing.
[[nodiscard]] bool is_fault_of_task(ErrorCode code);

struct PrepareRequest {
  std::string root;
  TaskId task;
  Kind kind = Kind::kNone;
  std::string repo;           // from the worker's configuration; for kClone and kWorktree
  std::string base = "HEAD";  // from the task: HEAD, a branch, a tag, a remote branch, or the commit of one
};

struct Prepared {
  std::string path;         // empty for kNone, as are the next two for kDirectory
  std::string branch;       // drover/TASK_ID
  std::string base_commit;  // where the branch started
  bool reused = false;
  bool set_up = false;  // whether mark_set_up was called for it
  bool begun = false;   // the same of mark_begun
};

// Takes the task's workspace as it is, or makes it. kInvalidArgument: the base is refused; kInvalidConfig: there is no
// such repository; kWrongState: the workspace was made from another one, or something else is in its place.
[[nodiscard]] Result<Prepared> prepare(const PrepareRequest& request);
// Remembers that the commands which set a workspace up have succeeded.
[[nodiscard]] Status mark_set_up(const std::string& root, const TaskId& task);
// Remembers that the task's program has begun to work in it, for the holder of its lock.
[[nodiscard]] Status mark_begun(const std::string& root, const TaskId& task);

struct Finished {
  std::string branch;
  std::string head;
  std::int64_t commits = 0;  // since the base commit, as are the next three
  std::int64_t files = 0;
  std::int64_t insertions = 0;
  std::int64_t deletions = 0;
  std::int64_t uncommitted_files = 0;  // neither committed nor ignored
};

// Brings the agent's HEAD into the repository as branch drover/TASK_ID. kWrongState: the agent left a HEAD that cannot
// be read, or objects that git refuses.
[[nodiscard]] Result<Finished> finish(const std::string& root, const TaskId& task);

struct Saved {
  bool saved = false;
  std::string why;     // when it is not: what would be lost
  std::string commit;  // refs/drover/TASK_ID of the repository; empty if there is nothing to keep
};

// Everything that is not ignored, and every commit that a ref of the clone reaches, is in refs/drover/TASK_ID of the
// repository, durably; or it says why not. Nothing is deleted.
[[nodiscard]] Result<Saved> save(const std::string& root, const TaskId& task);

// Saves, and deletes the workspace if that succeeded. kWrongState: somebody uses it. kNotFound: there is none.
[[nodiscard]] Result<Saved> remove(const std::string& root, const TaskId& task);

struct Workspace {
  TaskId task;
  Kind kind = Kind::kDirectory;
  std::string repo;
  std::string branch;
  std::string base_commit;
  std::string path;
  std::int64_t bytes = 0;  // on disk
  Time used_at;            // the end of the last step
  bool is_gone = false;    // somebody deleted what is at `path`
};

// The stores that have a root in that folder, sorted.
[[nodiscard]] std::vector<std::string> stores_in(const std::string& folder);
// The tasks that have a workspace there, sorted.
[[nodiscard]] Result<std::vector<TaskId>> tasks_in(const std::string& root);
// By task. What cannot be read is left out.
[[nodiscard]] Result<std::vector<Workspace>> list(const std::string& root);
[[nodiscard]] Result<Workspace> find(const std::string& root, const TaskId& task);

// What the task's workspace changed since its base commit, committed or not, as a patch; ignored files are left out.
[[nodiscard]] Result<std::string> diff(const std::string& root, const TaskId& task);

// The work that is about to be checked.
struct Inspected {
  std::string commit;  // HEAD
  // Files of the check that differ from the base commit: those that words of its command name, and those in folders
  // that they name. Of very many, the first.
  std::vector<std::string> changed;
};
// kWrongState: the agent left a HEAD that cannot be read.
[[nodiscard]] Result<Inspected> inspect(const std::string& root, const TaskId& task,
                                        const std::vector<std::string>& check_argv);

enum class Fate : std::uint8_t { kUnfinished, kCompleted, kFailed };

struct Reaped {
  struct Kept {
    TaskId task;
    std::string why;
  };
  std::vector<TaskId> removed;
  std::vector<Kept> kept;  // due, and not removed
  std::int64_t bytes = 0;  // of what is left
};

// Removes the workspaces of ended tasks: those that were kept long enough, then the oldest ones until the rest is
// within bytes_max. One that somebody uses stays. A task without a fate is somebody else's: it is not looked at.
[[nodiscard]] Result<Reaped> reap(const std::string& root, const KeepPolicy& policy, Time now,
                                  const std::function<std::optional<Fate>(const TaskId&)>& fate_of);

}  // namespace drover::workspace
