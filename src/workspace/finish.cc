#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "base/try.h"
#include "workspace/files.h"
#include "workspace/place.h"

namespace drover::workspace {
namespace {

std::int64_t number_in(std::string_view text) {
  std::int64_t value = 0;  // stays 0 for "-", the size of a binary file
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Lines of "INSERTIONS<tab>DELETIONS<tab>PATH", each ended by a NUL.
void add_size_of_difference(const std::string& numstat, Finished& finished) {
  std::istringstream entries(numstat);
  for (std::string entry; std::getline(entries, entry, '\0');) {
    const std::size_t tab = entry.find('\t');
    if (tab == std::string::npos) continue;
    ++finished.files;
    finished.insertions += number_in(entry);
    finished.deletions += number_in(std::string_view(entry).substr(tab + 1));
  }
}

// In our own git directory, once its index is that of the head. Submodules are left alone: git would run in them.
Status measure(const Git& git, const Meta& meta, Finished& finished) {
  const auto status =
      TRY(git.run({"status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=all"}));
  finished.uncommitted_files = std::ranges::count(status, '\0');
  if (finished.head.empty()) return {};
  const auto commits = TRY(git.word({"rev-list", "--count", fmt::format("{}..{}", meta.base_commit, finished.head)}));
  finished.commits = number_in(commits);
  const auto numstat = TRY(git.run({"diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff",
                                    "--no-textconv", "--ignore-submodules=all", meta.base_commit, finished.head}));
  add_size_of_difference(numstat, finished);
  return {};
}

Status move_branch(LockedRepository& repository, const Meta& meta, const AgentHead& head, const Scratch& scratch) {
  const std::string branch = "refs/heads/" + meta.branch;
  if (meta.kind == Kind::kClone) {
    TRY(scratch.git().run({"update-ref", "refs/drover/head", head.commit}));
    return repository.fetch(scratch.git().git_dir(), "+refs/drover/head:" + branch);
  }
  if (head.ref == branch) return {};
  // The agent of a worktree went elsewhere. What it left on our branch is not lost when the branch moves.
  const auto left = TRY(repository.commit_of(branch));
  if (left) TRY(repository.keep(*left));
  return repository.set_ref(branch, head.commit);
}

Status take_branch(const Place& place, const Meta& meta, const AgentHead& head, const Scratch& scratch,
                   const Lock& step) {
  auto repository = TRY(LockedRepository::lock(meta.repository, place.task, step));
  TRY(move_branch(repository, meta, head, scratch));
  // git takes the short name drover/ID for refs/drover/ID first, so that must not be behind the branch.
  return repository.keep(head.commit);
}

}  // namespace

Result<Finished> finish(const std::string& root, const TaskId& task) {
  const auto place = TRY(Place::find(root, task));
  const auto step = TRY(Lock::step(place.root, place.task));
  const auto meta = TRY(read_meta(place.folder()));
  AgentHead head;
  if (meta.kind != Kind::kDirectory) {
    const auto refs = TRY(refs_of(meta, place.work()));
    head = TRY(read_head(refs));
  }
  const auto scratch =
      TRY(Scratch::make(place.folder(), meta, head.commit.empty() ? "ref: refs/heads/none" : head.commit, step));
  if (!head.commit.empty()) {
    const auto found = TRY(scratch.git().ask({"cat-file", "-e", head.commit + "^{commit}"}));
    if (found.exit_code != 0)
      return fail(ErrorCode::kWrongState,
                  fmt::format("HEAD of the workspace names {}, which is no commit", head.commit));
    TRY(take_branch(place, meta, head, scratch, step));
    TRY(scratch.git().run({"read-tree", head.commit}));
  }
  Finished finished{.branch = meta.branch, .head = head.commit};
  TRY(measure(scratch.git(), meta, finished));
  step.touch();
  return finished;
}

}  // namespace drover::workspace
