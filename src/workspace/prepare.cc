#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "base/failpoint.h"
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
  const auto refs = meta.repository.refs_for_clone(step);
  if (!refs) return std::unexpected(refs.error());
  auto shallow = meta.repository.shallow();
  if (!shallow) return std::unexpected(shallow.error());
  const std::string branch = "refs/heads/" + meta.branch;
  const GitDirSpec spec{.object_format = meta.repository.object_format,
                        .head = "ref: " + branch,
                        .is_bare = false,
                        .settings = clone_settings(meta.repository),
                        .alternates = {meta.repository.objects()},
                        .packed_refs = fmt::format("{} {}\n{}", meta.base_commit, branch, *refs),
                        .attributes = {},
                        .shallow = *std::move(shallow)};
  if (auto written = write_git_dir(folder + "/work/.git", spec); !written) return written;
  // What the agent started with: whatever else its refs name is its work.
  return write_file(folder + "/refs", spec.packed_refs);
}

// The base stays in the repository whatever happens to its branch, and so does what an earlier workspace of the task
// left.
Status keep_base(const Place& place, const Meta& meta, const Lock& step) {
  auto repository = LockedRepository::lock(meta.repository, place.task, step);
  if (!repository) return std::unexpected(repository.error());
  const auto earlier = repository->commit_of("refs/heads/" + meta.branch);
  if (!earlier) return std::unexpected(earlier.error());
  if (*earlier) {
    if (auto kept = repository->keep(**earlier); !kept) return kept;
  }
  if (auto kept = repository->keep(meta.base_commit); !kept) return kept;
  if (meta.kind != Kind::kWorktree) return {};
  return repository->add_worktree(place.fresh() + "/work", place.work(), meta.base_commit);
}

// Writes the files of the base commit as they are in the repository, and gives the agent the index of them.
Status check_out(const Place& place, const Meta& meta, const Lock& step) {
  const auto scratch = Scratch::make(place.fresh(), meta, meta.base_commit, step);
  if (!scratch) return std::unexpected(scratch.error());
  const auto done = scratch->git().run({"read-tree", "--reset", "-u", meta.base_commit});
  if (!done) return std::unexpected(done.error());
  std::string git_dir = place.fresh() + "/work/.git";
  if (meta.kind == Kind::kWorktree) {
    auto registered = worktree_git_dir(meta.repository.git_dir, place.work());
    if (!registered) return std::unexpected(registered.error());
    git_dir = *std::move(registered);
  }
  std::error_code error;
  std::filesystem::copy_file(scratch->git().git_dir() + "/index", git_dir + "/index", error);
  if (error) return cannot("write", git_dir + "/index", error.value());
  return {};
}

Result<Meta> describe(const PrepareRequest& request, const Place& place, const Lock& step) {
  if (request.kind == Kind::kDirectory) {
    auto repository = Repository::for_directories(place.root);
    if (!repository) return std::unexpected(repository.error());
    return Meta{.kind = request.kind, .repository = *std::move(repository), .branch = {}, .base_commit = {}};
  }
  auto repository = Repository::open(request.repo, step);
  if (!repository) return std::unexpected(repository.error());
  auto base = repository->resolve_base(request.base, step);
  if (!base) return std::unexpected(base.error());
  return Meta{.kind = request.kind,
              .repository = *std::move(repository),
              .branch = branch_of(place.task),
              .base_commit = *std::move(base)};
}

Status make(const Place& place, const Meta& meta, const Lock& step) {
  for (const std::string& folder : {place.fresh(), place.fresh() + "/work"}) {
    if (auto made = make_folder(folder); !made) return made;
  }
  if (auto written = write_meta(place.fresh(), meta); !written) return written;  // who clears up needs to know
  if (meta.kind != Kind::kDirectory) {
    if (auto kept = keep_base(place, meta, step); !kept) return kept;
    if (meta.kind == Kind::kClone) {
      if (auto made = make_clone(place.fresh(), meta, step); !made) return made;
    }
    if (auto done = check_out(place, meta, step); !done) return done;
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

Status check_same(const PrepareRequest& request, const Meta& meta, const Lock& step) {
  std::string repo = meta.repository.path;
  if (request.kind != Kind::kDirectory) {
    const auto repository = Repository::open(request.repo, step);
    if (!repository) return std::unexpected(repository.error());
    repo = repository->path;
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
  const auto place = Place::make(request.root, request.task);
  if (!place) return std::unexpected(place.error());
  const auto step = Lock::step(place->root, place->task);
  if (!step) return std::unexpected(step.error());
  if (auto cleared = clear_leftovers(*place, *step); !cleared) return std::unexpected(cleared.error());
  if (exists(place->folder()) && !exists(place->work())) {  // the agent deleted it: nothing is left to keep
    if (auto erased = erase(*place, place->folder(), *step); !erased) return std::unexpected(erased.error());
  }
  const bool reused = exists(place->folder());
  auto meta = reused ? read_meta(place->folder()) : describe(request, *place, *step);
  if (!meta) return std::unexpected(meta.error());
  const Status ready = reused ? check_same(request, *meta, *step) : make(*place, *meta, *step);
  if (!ready) {
    if (!reused) (void)clear_leftovers(*place, *step);  // what stays goes with the next step
    return std::unexpected(ready.error());
  }
  if (reused) remove_stale_locks(*meta, place->work());
  step->touch();
  return Prepared{.path = place->work(),
                  .branch = meta->branch,
                  .base_commit = meta->base_commit,
                  .reused = reused,
                  .set_up = exists(place->folder() + "/set_up")};
}

Status mark_set_up(const std::string& root, const TaskId& task) {
  const auto place = Place::find(root, task);
  if (!place) return std::unexpected(place.error());
  const auto step = Lock::step(place->root, place->task);
  if (!step) return std::unexpected(step.error());
  if (const auto meta = read_meta(place->folder()); !meta) return std::unexpected(meta.error());
  return write_file(place->folder() + "/set_up", "");
}

}  // namespace drover::workspace
