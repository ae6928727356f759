#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

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
      git.run({"status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=all"});
  if (!status) return std::unexpected(status.error());
  finished.uncommitted_files = std::ranges::count(*status, '\0');
  if (finished.head.empty()) return {};
  const auto commits = git.word({"rev-list", "--count", fmt::format("{}..{}", meta.base_commit, finished.head)});
  if (!commits) return std::unexpected(commits.error());
  finished.commits = number_in(*commits);
  const auto numstat = git.run({"diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv",
                                "--ignore-submodules=all", meta.base_commit, finished.head});
  if (!numstat) return std::unexpected(numstat.error());
  add_size_of_difference(*numstat, finished);
  return {};
}

Status move_branch(LockedRepository& repository, const Meta& meta, const AgentHead& head, const Scratch& scratch) {
  const std::string branch = "refs/heads/" + meta.branch;
  if (meta.kind == Kind::kClone) {
    const auto named = scratch.git().run({"update-ref", "refs/drover/head", head.commit});
    if (!named) return std::unexpected(named.error());
    return repository.fetch(scratch.git().git_dir(), "+refs/drover/head:" + branch);
  }
  if (head.ref == branch) return {};
  // The agent of a worktree went elsewhere. What it left on our branch is not lost when the branch moves.
  const auto left = repository.commit_of(branch);
  if (!left) return std::unexpected(left.error());
  if (*left) {
    if (auto kept = repository.keep(**left); !kept) return kept;
  }
  return repository.set_ref(branch, head.commit);
}

Status take_branch(const Place& place, const Meta& meta, const AgentHead& head, const Scratch& scratch,
                   const Lock& step) {
  auto repository = LockedRepository::lock(meta.repository, place.task, step);
  if (!repository) return std::unexpected(repository.error());
  if (auto moved = move_branch(*repository, meta, head, scratch); !moved) return moved;
  // git takes the short name drover/ID for refs/drover/ID first, so that must not be behind the branch.
  return repository->keep(head.commit);
}

}  // namespace

Result<Finished> finish(const std::string& root, const TaskId& task) {
  const auto place = Place::find(root, task);
  if (!place) return std::unexpected(place.error());
  const auto step = Lock::step(place->root, place->task);
  if (!step) return std::unexpected(step.error());
  const auto meta = read_meta(place->folder());
  if (!meta) return std::unexpected(meta.error());
  AgentHead head;
  if (meta->kind != Kind::kDirectory) {
    const auto refs = refs_of(*meta, place->work());
    auto found = refs ? read_head(*refs) : std::unexpected(refs.error());
    if (!found) return std::unexpected(found.error());
    head = *std::move(found);
  }
  const auto scratch =
      Scratch::make(place->folder(), *meta, head.commit.empty() ? "ref: refs/heads/none" : head.commit, *step);
  if (!scratch) return std::unexpected(scratch.error());
  if (!head.commit.empty()) {
    const auto found = scratch->git().ask({"cat-file", "-e", head.commit + "^{commit}"});
    if (!found) return std::unexpected(found.error());
    if (found->exit_code != 0)
      return fail(ErrorCode::kWrongState,
                  fmt::format("HEAD of the workspace names {}, which is no commit", head.commit));
    if (auto taken = take_branch(*place, *meta, head, *scratch, *step); !taken) return std::unexpected(taken.error());
    const auto read = scratch->git().run({"read-tree", head.commit});
    if (!read) return std::unexpected(read.error());
  }
  Finished finished{.branch = meta->branch, .head = head.commit};
  if (auto measured = measure(scratch->git(), *meta, finished); !measured) return std::unexpected(measured.error());
  step->touch();
  return finished;
}

}  // namespace drover::workspace
