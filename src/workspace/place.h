// Where a workspace is, and how it was made.
#pragma once

#include <string>

#include "drover/error.h"
#include "drover/ids.h"
#include "workspace/agent_refs.h"
#include "workspace/git.h"
#include "workspace/lock.h"
#include "workspace/repository.h"
#include "workspace/workspace.h"

namespace drover::workspace {

struct Meta {
  Kind kind = Kind::kDirectory;
  Repository repository;  // of a directory: the one that it is saved in
  std::string branch;
  std::string base_commit;
};

// What is in the place of a workspace.
enum class Shape : std::uint8_t {
  kNone,
  kGone,  // the folder that the agent sees is not there any more: somebody deleted it
  kThere,
};

struct Place {
  std::string root;  // absolute, without symbolic links
  TaskId task;

  // The root, made if it is missing, for its owner only.
  [[nodiscard]] static Result<Place> make(const std::string& root, const TaskId& task);
  // kNotFound if there is no such root.
  [[nodiscard]] static Result<Place> find(const std::string& root, const TaskId& task);

  [[nodiscard]] std::string folder() const { return root + "/" + task.to_string(); }
  [[nodiscard]] std::string fresh() const { return folder() + ".new"; }  // while it is being made
  [[nodiscard]] std::string gone() const { return folder() + ".gone"; }  // while it is being deleted
  [[nodiscard]] std::string work() const { return folder() + "/work"; }

  // kWrongState if a file or a symbolic link is where a folder should be: it is neither followed nor deleted.
  [[nodiscard]] Result<Shape> shape() const;
  // kNotFound unless the folder that the agent sees is there.
  [[nodiscard]] Status check_there() const;
};

[[nodiscard]] Status write_meta(const std::string& folder, const Meta& meta);
// kNotFound if there is no workspace in the folder.
[[nodiscard]] Result<Meta> read_meta(const std::string& folder);

// The refs of the agent's clone or worktree at WORK.
[[nodiscard]] Result<RefFolders> refs_of(const Meta& meta, const std::string& work);

// drover.git: our git directory over the agent's files, made from nothing for one step and gone with it.
class Scratch {
 public:
  // `head` as in HEAD: a commit, or "ref: refs/heads/none" before the first.
  [[nodiscard]] static Result<Scratch> make(const std::string& folder, const Meta& meta, const std::string& head,
                                            const Lock& step);
  Scratch(Scratch&&) = default;
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch();

  [[nodiscard]] const Git& git() const { return git_; }

 private:
  explicit Scratch(Git git) : git_(std::move(git)) {}
  Git git_;
};

// Deletes what a killed step left of a workspace that it was making or deleting.
[[nodiscard]] Status clear_leftovers(const Place& place, const Lock& step);
// The folder of a workspace, and its registration in the repository.
[[nodiscard]] Status erase(const Place& place, const std::string& folder, const Lock& step);

// save() under a lock that the caller holds. Of a workspace that is gone: what its repository knows of it.
[[nodiscard]] Result<Saved> save_under(const Place& place, const Lock& step);

}  // namespace drover::workspace
