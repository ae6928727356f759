#include "workspace/place.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/failpoint.h"
#include "base/json.h"
#include "base/json_reader.h"
#include "base/log.h"
#include "base/text.h"
#include "base/try.h"
#include "workspace/files.h"
#include "workspace/git_dir.h"

namespace drover::workspace {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMetaBytesMax = 64 << 10;

Status check_owned(const std::string& folder) {
  struct stat info{};
  if (::stat(folder.c_str(), &info) != 0) return cannot("look at", folder, errno);
  if (info.st_uid == ::geteuid() && (info.st_mode & (S_IRWXG | S_IRWXO)) == 0) return {};
  return fail(ErrorCode::kInvalidConfig,
              fmt::format("{} is open to others; run `chmod 700` on it, or name another folder", folder), "workspace");
}

Result<Place> existing(const std::string& root, const TaskId& task) {
  std::error_code error;
  const std::string real = fs::canonical(root, error).string();
  if (error) return fail(ErrorCode::kNotFound, fmt::format("there are no workspaces in {}", quoted_excerpt(root)));
  if (!is_plain_path(real))
    return fail(ErrorCode::kInvalidConfig, "the path of the workspaces is not UTF-8, or has control characters");
  TRY(check_owned(fs::path(real).parent_path().string()));  // what all stores share
  TRY(check_owned(real));
  return Place{real, task};
}

}  // namespace

bool is_fault_of_task(ErrorCode code) {
  return code == ErrorCode::kInvalidArgument || code == ErrorCode::kWrongState;
}

Result<Place> Place::make(const std::string& root, const TaskId& task) {
  fs::path made;
  for (const fs::path& part : fs::path(root)) {
    made /= part;
    if (::mkdir(made.c_str(), S_IRWXU) != 0 && errno != EEXIST) return cannot("make the folder", made.string(), errno);
  }
  return existing(root, task);
}

Result<Place> Place::find(const std::string& root, const TaskId& task) {
  return existing(root, task);
}

Result<Shape> Place::shape() const {
  for (const std::string& path : {folder(), work()}) {
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0) {
      if (errno != ENOENT) return cannot("look at", path, errno);
      return path == work() ? Shape::kGone : Shape::kNone;
    }
    if (S_ISDIR(info.st_mode)) continue;
    return fail(ErrorCode::kWrongState,
                fmt::format("{} is {} instead of a folder, and Drover does not touch it; move it away, then `drover "
                            "retry {}`: the task starts afresh",
                            path, S_ISLNK(info.st_mode) ? "a symbolic link" : "a file", task.to_string()),
                "workspace");
  }
  return Shape::kThere;
}

Status Place::check_there() const {
  const Shape found = TRY(shape());
  if (found == Shape::kThere) return {};
  return fail(ErrorCode::kNotFound,
              found == Shape::kNone
                  ? "the task has no workspace here"
                  : fmt::format("the workspace is gone: somebody deleted {}; `drover workspace remove {}` clears up "
                                "what is left of it",
                                work(), task.to_string()),
              "workspace");
}

Status write_meta(const std::string& folder, const Meta& meta) {
  json::Writer out;
  out.begin_object();
  out.key("kind").string(name_of(meta.kind));
  out.key("repo").string(meta.repository.path);
  out.key("git_dir").string(meta.repository.git_dir);
  out.key("object_format").string(meta.repository.object_format);
  out.key("branch").string(meta.branch);
  out.key("base_commit").string(meta.base_commit);
  out.end_object();
  return write_file(folder + "/meta.json", std::move(out).take() + "\n");
}

Result<Meta> read_meta(const std::string& folder) {
  const UniqueFd opened = open_folder(folder);
  if (!opened.is_open()) return fail(ErrorCode::kNotFound, fmt::format("there is no workspace at {}", folder));
  const auto text = TRY(read_beneath(opened.get(), "meta.json", kMetaBytesMax));
  Meta meta;
  std::string kind;
  json::Reader in(text);
  in.need("kind", kind).need("repo", meta.repository.path).need("git_dir", meta.repository.git_dir);
  in.need("object_format", meta.repository.object_format);
  in.need("branch", meta.branch).need("base_commit", meta.base_commit);
  const Status read = in.finish();
  const auto known = parse_workspace_kind(kind);
  if (!read || !known) return trouble(fmt::format("{}/meta.json cannot be read", folder));
  meta.kind = *known;
  return meta;
}

Result<RefFolders> refs_of(const Meta& meta, const std::string& work) {
  if (meta.kind != Kind::kWorktree) return RefFolders{work + "/.git", work + "/.git"};
  auto own = worktree_git_dir(meta.repository.git_dir, work);
  if (!own) return fail(ErrorCode::kWrongState, own.error().message, own.error().operation);
  return RefFolders{*std::move(own), meta.repository.git_dir};
}

Result<Scratch> Scratch::make(const std::string& folder, const Meta& meta, const std::string& head, const Lock& step) {
  const std::string path = folder + "/drover.git";
  TRY(remove_tree(path));
  GitDirSpec spec{.object_format = meta.repository.object_format,
                  .head = head,
                  .is_bare = false,
                  .alternates = {meta.repository.objects()},
                  .attributes = kPlainBytes};
  if (meta.kind == Kind::kClone) spec.alternates.push_back(folder + "/work/.git/objects");
  spec.shallow = TRY(meta.repository.shallow());
  TRY(write_git_dir(path, spec));
  Git git(path, folder + "/work");
  git.holding(step.fd());
  return Scratch(std::move(git));
}

Scratch::~Scratch() {
  if (git_.git_dir().empty()) return;  // moved from
  if (const auto removed = remove_tree(git_.git_dir()); !removed)
    log_warn("workspace", "cannot delete a folder of a step", {{"error", to_string(removed.error())}});
}

Status erase(const Place& place, const std::string& folder, const Lock& step) {
  if (!exists(folder)) return {};
  const auto meta = read_meta(folder);
  if (meta && meta->kind == Kind::kWorktree) {
    auto repository = TRY(LockedRepository::lock(meta->repository, place.task, step));
    for (const std::string& work : {place.work(), folder + "/work"}) {
      TRY(repository.forget_worktree(work));
    }
  }
  failpoint(Failpoint::kWorkspaceErase);
  return remove_tree(folder);
}

Status clear_leftovers(const Place& place, const Lock& step) {
  TRY(erase(place, place.gone(), step));
  return erase(place, place.fresh(), step);
}

}  // namespace drover::workspace
