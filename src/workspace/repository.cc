#include "workspace/repository.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <sstream>

#include "base/text.h"
#include "base/try.h"
#include "core/base_ref.h"
#include "core/spec_check.h"
#include "workspace/files.h"
#include "workspace/git_dir.h"

namespace drover::workspace {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShallowBytesMax = 16 << 20;
constexpr std::size_t kPathBytesMax = 64 << 10;

// What git says when the machine, or a person in the repository, is in the way. Everything else is about the commits.
constexpr std::array<std::string_view, 10> kMachineTrouble{
    "No space left", "Disk quota exceeded", "Read-only file system", "Permission denied", "Input/output error",
    "Too many open", "Cannot allocate",     "unable to fork",        "cannot lock ref",   "refusing to fetch into",
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::unexpected<Error> not_a_repository(const std::string& path, std::string_view why) {
  return fail(ErrorCode::kInvalidConfig,
              fmt::format("{} cannot be used as a repository: {}", quoted_excerpt(path), why), "workspace");
}

// Others' work, and what no ref names, is not for a task that happens to know its id.
Result<std::string> reachable_commit(const Git& git, const std::string& id, const std::string& path) {
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("base: the commit {} {} {}", id, why, path));
  };
  const auto found = TRY(git.ask({"rev-parse", "--verify", "--quiet", "--end-of-options", id + "^{commit}"}));
  if (found.exit_code != 0) return refuse("is not in");
  const std::string commit = lines_of(found.out).at(0);
  const auto of_head = TRY(git.ask({"merge-base", "--is-ancestor", commit, "HEAD"}));
  if (of_head.exit_code == 0) return commit;
  const auto refs = TRY(git.run(
      {"for-each-ref", "--format=%(refname)", "--contains", commit, "refs/heads", "refs/tags", "refs/remotes"}));
  const auto is_open = [](const std::string& ref) { return !is_work_of_a_task(ref); };
  if (std::ranges::any_of(lines_of(refs), is_open)) return commit;
  return refuse("is on no branch or tag, apart from the work of other tasks, in");
}

}  // namespace

std::string branch_of(const TaskId& task) {
  return "drover/" + task.to_string();
}

std::string kept_ref_of(const TaskId& task) {
  return "refs/drover/" + task.to_string();
}

Result<Repository> Repository::open(const std::string& path, const Lock& step) {
  std::error_code error;
  const std::string real = fs::canonical(path, error).string();
  if (error) return not_a_repository(path, error.message());
  if (!is_plain_path(real)) return not_a_repository(path, "its path is not UTF-8, or has control characters");
  Git git = Git::discovering(real);
  const auto found = TRY(
      git.holding(step.fd()).ask({"rev-parse", "--path-format=absolute", "--git-common-dir", "--show-object-format"}));
  const auto lines = lines_of(found.out);
  if (found.exit_code != 0 || lines.size() != 2) return not_a_repository(path, found.complaint);
  return Repository{real, lines[0], lines[1]};
}

Result<Repository> Repository::for_directories(const std::string& root) {
  const Repository repository{root + "/saved.git", root + "/saved.git", "sha1"};
  const auto lock = TRY(Lock::repository(root));
  if (exists(repository.git_dir)) return repository;
  const std::string fresh = repository.git_dir + ".new";
  TRY(remove_tree(fresh));
  TRY(write_git_dir(fresh, {.head = "ref: refs/heads/none"}));
  TRY(rename_file(fresh, repository.git_dir));
  return repository;
}

Result<std::string> Repository::shallow() const {
  const UniqueFd folder = open_folder(git_dir);
  if (!folder.is_open()) return cannot("open", git_dir, errno);
  auto text = read_beneath(folder.get(), "shallow", kShallowBytesMax);
  if (!text && text.error().code == ErrorCode::kNotFound) return std::string{};
  return text;
}

Result<std::string> Repository::resolve_base(const std::string& base, const Lock& step) const {
  const auto refs = refs_of_base(base);
  if (!refs) return at_field("base", refs.error());
  Git git = Git::discovering(path);
  git.holding(step.fd());
  for (const std::string& ref : *refs) {
    const auto found = TRY(git.ask({"rev-parse", "--verify", "--quiet", "--end-of-options", ref + "^{commit}"}));
    if (found.exit_code == 0) return lines_of(found.out).at(0);
  }
  if (is_commit_id(base)) return reachable_commit(git, base, path);
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("base: {} names no commit in {}; name HEAD, a branch, a tag, a remote branch, or the full id of "
                  "a commit",
                  quoted_excerpt(base), path));
}

Result<std::string> Repository::refs_for_clone(const Lock& step) const {
  Git git(git_dir);
  const auto refs =
      TRY(git.holding(step.fd()).run({"for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags"}));
  constexpr std::string_view kHeads = " refs/heads/";
  std::string packed;
  for (std::string line : lines_of(refs)) {
    const std::size_t at = line.find(kHeads);
    if (line.contains(" refs/heads/drover/")) continue;
    if (at != std::string::npos) line.replace(at, kHeads.size(), " refs/remotes/origin/");
    packed += line + "\n";
  }
  return packed;
}

Result<LockedRepository> LockedRepository::lock(const Repository& repository, const TaskId& task, const Lock& step) {
  auto lock = TRY(Lock::repository(repository.git_dir));
  Git git(repository.git_dir);
  git.holding(step.fd()).holding(lock.fd()).durably();
  // Of a git that was killed: one that lives would hold our locks.
  for (const std::string& ref : {kept_ref_of(task), "refs/heads/" + branch_of(task)})
    ::unlink(fmt::format("{}/{}.lock", repository.git_dir, ref).c_str());
  return LockedRepository(repository, task, std::move(lock), std::move(git));
}

Result<std::optional<std::string>> LockedRepository::commit_of(const std::string& ref) const {
  const auto found = TRY(git_.ask({"rev-parse", "--verify", "--quiet", "--end-of-options", ref + "^{commit}"}));
  if (found.exit_code != 0) return std::nullopt;
  return lines_of(found.out).at(0);
}

Status LockedRepository::set_ref(const std::string& ref, const std::string& commit) {
  TRY(git_.run({"update-ref", "-m", "drover", ref, commit}));
  return {};
}

Status LockedRepository::keep(const std::string& commit) {
  const std::string ref = kept_ref_of(task_);
  const auto old = TRY(commit_of(ref));
  if (!old) return set_ref(ref, commit);
  const auto tips = TRY(git_.run({"merge-base", "--independent", *old, commit}));
  const auto lines = lines_of(tips);
  if (lines.size() == 1) return lines[0] == *old ? Status{} : set_ref(ref, lines[0]);
  const auto both = TRY(git_.word(
      {"commit-tree", commit + "^{tree}", "-p", commit, "-p", *old, "-m", "Keep what this task left behind earlier"}));
  return set_ref(ref, both);
}

Status LockedRepository::fetch(const std::string& git_dir, const std::string& refspec) {
  const auto fetched =
      TRY(git_.ask({"fetch", "--quiet", "--no-tags", "--no-prune", "--no-write-fetch-head", "--no-auto-maintenance",
                    "--no-recurse-submodules", "--no-write-commit-graph", git_dir, refspec}));
  if (fetched.exit_code == 0) return {};
  const bool is_machine =
      std::ranges::any_of(kMachineTrouble, [&](std::string_view text) { return fetched.complaint.contains(text); });
  return fail(is_machine ? ErrorCode::kInternal : ErrorCode::kWrongState,
              fmt::format("git could not take the commits into {}: {}", repository_.path, fetched.complaint),
              "workspace");
}

Status LockedRepository::add_worktree(const std::string& work, const std::string& final_work,
                                      const std::string& commit) {
  for (const std::string& old : {work, final_work}) {
    TRY(forget_worktree(old));
  }
  TRY(git_.run({"worktree", "add", "--quiet", "--no-checkout", "--no-track", "-B", branch_of(task_), work, commit}));
  const auto git_dir = TRY(worktree_git_dir(repository_.git_dir, work));
  return replace_file(git_dir + "/gitdir", final_work + "/.git\n");
}

Status LockedRepository::forget_worktree(const std::string& work) {
  const auto git_dir = worktree_git_dir(repository_.git_dir, work);
  if (!git_dir && git_dir.error().code == ErrorCode::kNotFound) return {};
  if (!git_dir) return std::unexpected(git_dir.error());
  return remove_tree(*git_dir);
}

Result<std::string> worktree_git_dir(const std::string& common_git_dir, const std::string& work) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(common_git_dir + "/worktrees", error)) {
    const UniqueFd folder = open_folder(entry.path().string());
    const auto gitdir = read_beneath(folder.get(), "gitdir", kPathBytesMax);
    if (gitdir && *gitdir == work + "/.git\n") return entry.path().string();
  }
  return fail(ErrorCode::kNotFound, fmt::format("{} is not registered as a worktree of {}", work, common_git_dir),
              "workspace");
}

}  // namespace drover::workspace
