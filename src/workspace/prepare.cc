#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "base/failpoint.h"
#include "base/try.h"
#include "workspace/files.h"
#include "workspace/git_dir.h"
#include "workspace/place.h"

namespace drover::workspace {
namespace {

// Agents may fetch what is new. Nothing is pushed: finish() takes the branch.
std::string clone_settings(const Repository& repository) {
  return fmt::format(
      "[core]\n\tlogallrefupdates = true\n"
      "[remote \"origin\"]\n\turl = {}\n\tpushurl = drover-takes-the-branch-when-the-run-ends\n"
      "\tfetch = +refs/heads/*:refs/remotes/origin/*\n\tfetch = ^refs/heads/drover/*\n"
      "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n",
      config_value(repository.path));
}

Status make_clone(const std::string& folder, const Meta& meta, const Lock& step) {
  const auto refs = TRY(meta.repository.refs_for_clone(step));
  auto shallow = TRY(meta.repository.shallow());
  const std::string branch = "refs/heads/" + meta.branch;
  const GitDirSpec spec{.object_format = meta.repository.object_format,
                        .head = "ref: " + branch,
                        .is_bare = false,
                        .settings = clone_settings(meta.repository),
                        .alternates = {meta.repository.objects()},
                        .packed_refs = fmt::format("{} {}\n{}", meta.base_commit, branch, refs),
                        .attributes = {},
                        .shallow = std::move(shallow)};
  TRY(write_git_dir(folder + "/work/.git", spec));
  // What the agent started with: whatever else its refs name is its work.
  return write_file(folder + "/refs", spec.packed_refs);
}

// The base stays in the repository whatever happens to its branch, and so does what an earlier workspace of the task
// left.
Status keep_base(const Place& place, const Meta& meta, const Lock& step) {
  auto repository = TRY(LockedRepository::lock(meta.repository, place.task, step));
  const auto earlier = TRY(repository.commit_of("refs/heads/" + meta.branch));
  if (earlier) TRY(repository.keep(*earlier));
  TRY(repository.keep(meta.base_commit));
  if (meta.kind != Kind::kWorktree) return {};
  return repository.add_worktree(place.fresh() + "/work", place.work(), meta.base_commit);
}

// Writes the files of the base commit as they are in the repository, and gives the agent the index of them.
Status check_out(const Place& place, const Meta& meta, const Lock& step) {
  const auto scratch = TRY(Scratch::make(place.fresh(), meta, meta.base_commit, step));
  TRY(scratch.git().run({"read-tree", "--reset", "-u", meta.base_commit}));
  std::string git_dir = place.fresh() + "/work/.git";
  if (meta.kind == Kind::kWorktree) {
    auto registered = TRY(worktree_git_dir(meta.repository.git_dir, place.work()));
    git_dir = std::move(registered);
  }
  std::error_code error;
  std::filesystem::copy_file(scratch.git().git_dir() + "/index", git_dir + "/index", error);
  if (error) return cannot("write", git_dir + "/index", error.value());
  return {};
}

Result<Meta> describe(const PrepareRequest& request, const Place& place, const Lock& step) {
  if (request.kind == Kind::kDirectory) {
    auto repository = TRY(Repository::for_directories(place.root));
    return Meta{.kind = request.kind, .repository = std::move(repository), .branch = {}, .base_commit = {}};
  }
  auto repository = TRY(Repository::open(request.repo, step));
  auto base = TRY(repository.resolve_base(request.base, step));
  return Meta{.kind = request.kind,
              .repository = std::move(repository),
              .branch = branch_of(place.task),
              .base_commit = std::move(base)};
}

Status make(const Place& place, const Meta& meta, const Lock& step) {
  TRY(make_folder(place.fresh()));
  TRY(make_folder(place.fresh() + "/work"));
  TRY(write_meta(place.fresh(), meta));  // who clears up needs to know
  if (meta.kind != Kind::kDirectory) {
    TRY(keep_base(place, meta, step));
    if (meta.kind == Kind::kClone) TRY(make_clone(place.fresh(), meta, step));
    TRY(check_out(place, meta, step));
  }
  failpoint(Failpoint::kWorkspaceRename);
  return rename_file(place.fresh(), place.folder());
}

// A git of the agent that was killed leaves its locks behind, and the next one would stop at them.
void remove_stale_locks(const Meta& meta, const std::string& work) {
  if (meta.kind == Kind::kDirectory) return;
  const auto refs = refs_of(meta, work);
  if (!refs) return;  // finish() tells
  for (const char* name : {"/index.lock", "/HEAD.lock"}) ::unlink((refs->own + name).c_str());
  if (meta.kind != Kind::kClone) return;  // the repository is not the agent's alone
  const std::string branch = fmt::format("/refs/heads/{}.lock", meta.branch);
  for (const std::string& name : {std::string("/config.lock"), std::string("/packed-refs.lock"), branch})
    ::unlink((refs->own + name).c_str());
}

Result<Meta> meta_to_reuse(const Place& place) {
  auto meta = read_meta(place.folder());
  if (meta) return meta;
  return fail(
      ErrorCode::kWrongState,
      fmt::format("the workspace {0} cannot be used: {1}; move it away, then `drover retry {2}`: the task starts "
                  "afresh",
                  place.folder(), meta.error().message, place.task.to_string()),
      "workspace");
}

// An agent may have deleted it: the next run would work for nothing, since nothing could be saved.
Status check_git(const Place& place, const Meta& meta) {
  if (meta.kind == Kind::kDirectory) return {};
  const auto refs = refs_of(meta, place.work());
  if (refs && exists(refs->own + "/HEAD")) return {};
  return fail(
      ErrorCode::kWrongState,
      fmt::format("the workspace {0} has no git folder any more, so nothing in it could be saved; move it away, "
                  "then `drover retry {1}`: the task starts afresh",
                  place.folder(), place.task.to_string()),
      "workspace");
}

Status check_same(const PrepareRequest& request, const Meta& meta, const Lock& step) {
  std::string repo = meta.repository.path;
  if (request.kind != Kind::kDirectory) {
    const auto repository = TRY(Repository::open(request.repo, step));
    repo = repository.path;
  }
  if (meta.kind == request.kind && meta.repository.path == repo) return {};
  return fail(
      ErrorCode::kWrongState,
      fmt::format("the workspace of task {0} was made as a {1} of {2}; remove it with `drover workspace remove {0}`",
                  request.task.to_string(), name_of(meta.kind), meta.repository.path),
      "workspace");
}

}  // namespace

Result<Prepared> prepare(const PrepareRequest& request) {
  if (request.kind == Kind::kNone) return Prepared{};
  const auto place = TRY(Place::make(request.root, request.task));
  const auto step = TRY(Lock::step(place.root, place.task));
  TRY(clear_leftovers(place, step));
  const Shape shape = TRY(place.shape());
  if (shape == Shape::kGone) {
    const Saved saved = TRY(save_under(place, step));
    if (!saved.saved) return fail(ErrorCode::kWrongState, saved.why, "workspace");
    TRY(erase(place, place.folder(), step));
  }
  const bool reused = shape == Shape::kThere;
  const auto meta = TRY(reused ? meta_to_reuse(place) : describe(request, place, step));
  const Status ready = reused ? check_same(request, meta, step) : make(place, meta, step);
  if (!ready) {
    if (!reused) (void)clear_leftovers(place, step);  // what stays goes with the next step
    return std::unexpected(ready.error());
  }
  if (reused) {
    remove_stale_locks(meta, place.work());
    TRY(check_git(place, meta));
  }
  step.touch();
  return Prepared{.path = place.work(),
                  .branch = meta.branch,
                  .base_commit = meta.base_commit,
                  .reused = reused,
                  .set_up = exists(place.folder() + "/set_up"),
                  .begun = exists(place.folder() + "/begun")};
}

Status mark_set_up(const std::string& root, const TaskId& task) {
  const auto place = TRY(Place::find(root, task));
  const auto step = TRY(Lock::step(place.root, place.task));
  TRY(read_meta(place.folder()));
  return write_file(place.folder() + "/set_up", "");
}

Status mark_begun(const std::string& root, const TaskId& task) {
  const auto place = TRY(Place::find(root, task));
  return write_file(place.folder() + "/begun", "");
}

}  // namespace drover::workspace
