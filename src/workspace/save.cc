#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ranges>
#include <set>
#include <sstream>

#include "base/failpoint.h"
#include "base/text.h"
#include "base/try.h"
#include "workspace/files.h"
#include "workspace/obstacles.h"
#include "workspace/place.h"

namespace drover::workspace {
namespace {

constexpr std::size_t kTipsMax = 1'000;
constexpr std::size_t kNamedMax = 3;
constexpr std::size_t kRefsBytesMax = 64 << 20;

std::vector<std::string> parts_of(const std::string& text, char end) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, end);) parts.push_back(part);
  return parts;
}

// One workspace on its way into its repository.
class Saving {
 public:
  Saving(const Place& place, Meta meta, const Lock& step) : place_(place), meta_(std::move(meta)), step_(step) {}

  // The commit; nothing if there is nothing to keep. Errors are reasons to delete nothing.
  Result<std::string> run();

 private:
  Status read_refs();
  Status check_obstacles(const Git& git);
  Result<std::string> write_tree(const Git& git);
  // The fewest commits that reach HEAD, all that the agent left and what was kept before.
  Result<std::vector<std::string>> tips_with(const Git& git, const std::optional<std::string>& kept);
  Result<std::string> make_commit(const Git& git, const std::string& tree, const std::optional<std::string>& kept);
  Result<std::string> bring(const Git& git, const std::string& tree);

  const Place& place_;
  Meta meta_;
  const Lock& step_;
  std::string head_;               // empty for a directory
  std::vector<std::string> tips_;  // commits of the agent that HEAD may not reach
};

Status Saving::read_refs() {
  if (meta_.kind == Kind::kDirectory) return {};
  const auto refs = TRY(refs_of(meta_, place_.work()));
  const auto head = TRY(read_head(refs));
  head_ = head.commit;
  tips_ = {meta_.base_commit};
  if (meta_.kind != Kind::kClone) return {};

  const UniqueFd folder = open_folder(place_.folder());
  const auto given_text = TRY(read_beneath(folder.get(), "refs", kRefsBytesMax));
  std::set<std::string> given;
  for (const PackedRef& ref : read_packed_refs(given_text)) given.insert(ref.object);
  auto tips = TRY(read_tips(refs.own));
  std::erase_if(tips, [&](const std::string& tip) { return given.contains(tip); });
  if (tips.size() > kTipsMax)
    return fail(ErrorCode::kWrongState, fmt::format("the clone has more than {} refs of its own", kTipsMax));
  tips_.insert(tips_.end(), tips.begin(), tips.end());
  return {};
}

// Before any command of git that looks at files: in a submodule it would obey the configuration there.
Status Saving::check_obstacles(const Git& git) {
  const auto entries = TRY(git.run({"ls-files", "--stage", "-z"}));
  std::set<std::string> submodules;
  for (const std::string& entry : parts_of(entries, '\0')) {
    if (entry.starts_with("160000 ")) submodules.insert(entry.substr(entry.find('\t') + 1));
  }
  auto obstacles = TRY(find_obstacles(
      place_.work(), meta_.kind == Kind::kDirectory ? TopGit::kObstacle : TopGit::kExpected, submodules));
  std::string paths;
  for (const Obstacle& obstacle : obstacles) {
    if (!obstacle.always) paths += "./" + obstacle.path + '\0';  // so that no name begins a pattern
  }
  if (!paths.empty()) {
    const auto answer = TRY(git.ask({"check-ignore", "-z", "--stdin"}, paths));
    if (answer.exit_code > 1) return trouble(fmt::format("git check-ignore failed: {}", answer.complaint));
    const auto names = parts_of(answer.out, '\0');
    const std::set<std::string> ignored(names.begin(), names.end());
    std::erase_if(obstacles, [&](const Obstacle& each) { return !each.always && ignored.contains("./" + each.path); });
  }
  if (obstacles.empty()) return {};
  std::string why;
  for (const Obstacle& obstacle : obstacles | std::views::take(kNamedMax))
    why += fmt::format("{}{} {}", why.empty() ? "" : "; ", quoted_excerpt(obstacle.path), obstacle.why);
  if (obstacles.size() > kNamedMax) why += fmt::format("; and {} more", obstacles.size() - kNamedMax);
  return fail(ErrorCode::kWrongState, why);
}

Result<std::string> Saving::write_tree(const Git& git) {
  TRY(git.run(head_.empty() ? Git::Arguments{"read-tree", "--empty"} : Git::Arguments{"read-tree", head_}));
  TRY(check_obstacles(git));
  TRY(git.run({"add", "--all"}));
  return git.word({"write-tree"});
}

Result<std::vector<std::string>> Saving::tips_with(const Git& git, const std::optional<std::string>& kept) {
  Git::Arguments arguments{"merge-base", "--independent"};
  if (!head_.empty()) arguments.push_back(head_);
  if (kept) arguments.push_back(*kept);
  for (const std::string& tip : tips_) {
    auto commit = TRY(git.word({"rev-parse", "--verify", "--end-of-options", tip + "^{commit}"}));
    arguments.push_back(std::move(commit));
  }
  if (arguments.size() == 2) return std::vector<std::string>{};
  const auto independent = TRY(git.run(arguments));
  return parts_of(independent, '\n');
}

Result<std::string> Saving::make_commit(const Git& git, const std::string& tree,
                                        const std::optional<std::string>& kept) {
  const auto tips = TRY(tips_with(git, kept));
  // One commit that reaches everything and has these files: HEAD of a clean workspace, or what was saved before.
  if (tips.size() == 1 && (tips.front() == head_ || tips.front() == kept)) {
    const auto its_tree = TRY(git.word({"rev-parse", "--verify", "--end-of-options", tips.front() + "^{tree}"}));
    if (its_tree == tree) return tips.front();
  }
  Git::Arguments arguments{"commit-tree", tree, "-m",
                           fmt::format("Save the workspace of task {}", place_.task.to_string())};
  if (!head_.empty()) arguments.insert(arguments.end(), {"-p", head_});
  for (const std::string& tip : tips) {
    if (tip != head_) arguments.insert(arguments.end(), {"-p", tip});
  }
  return git.word(arguments);
}

Result<std::string> Saving::bring(const Git& git, const std::string& tree) {
  const std::string ref = kept_ref_of(place_.task);
  auto repository = TRY(LockedRepository::lock(meta_.repository, place_.task, step_));
  const auto kept = TRY(repository.commit_of(ref));
  if (head_.empty() && !kept) {
    const auto empty = TRY(git.word({"hash-object", "-t", "tree", "/dev/null"}));
    if (empty == tree) return std::string{};
  }
  auto commit = TRY(make_commit(git, tree, kept));
  if (commit != kept) {
    TRY(git.run({"update-ref", "refs/drover/head", commit}));
    // Without force: git itself refuses what would no longer reach the work that was kept before.
    TRY(repository.fetch(git.git_dir(), "refs/drover/head:" + ref));
  }
  return commit;
}

Result<std::string> Saving::run() {
  TRY(read_refs());
  const auto scratch =
      TRY(Scratch::make(place_.folder(), meta_, head_.empty() ? "ref: refs/heads/none" : head_, step_));
  const auto tree = TRY(write_tree(scratch.git()));
  auto commit = bring(scratch.git(), tree);
  failpoint(Failpoint::kWorkspaceSaved);
  if (!commit) return commit;
  // Without the repository's lock: a busy disk takes seconds.
  TRY(sync_file_system(meta_.repository.git_dir));
  return commit;
}

// A clone took all of its commits with it; those of a worktree are in the repository.
Result<Saved> save_gone(const Place& place, const Lock& step) {
  const Saved nothing{.saved = true, .why = {}, .commit = {}};
  const auto meta = read_meta(place.folder());
  if (!meta || meta->kind != Kind::kWorktree) return nothing;
  const auto refs = refs_of(*meta, place.work());
  const auto head = refs ? read_head(*refs) : std::unexpected(refs.error());
  if (!head) return nothing;
  auto repository = TRY(LockedRepository::lock(meta->repository, place.task, step));
  TRY(repository.keep(head->commit));
  return Saved{.saved = true, .why = {}, .commit = head->commit};
}

}  // namespace

Result<Saved> save_under(const Place& place, const Lock& step) {
  const auto shape = place.shape();
  if (!shape) return Saved{.saved = false, .why = shape.error().message, .commit = {}};
  if (*shape == Shape::kGone) return save_gone(place, step);
  auto meta = TRY(read_meta(place.folder()));
  auto commit = Saving(place, std::move(meta), step).run();
  if (!commit) return Saved{.saved = false, .why = commit.error().message, .commit = {}};
  return Saved{.saved = true, .why = {}, .commit = *std::move(commit)};
}

Result<Saved> save(const std::string& root, const TaskId& task) {
  const auto place = TRY(Place::find(root, task));
  if (!exists(place.folder())) return fail(ErrorCode::kNotFound, "the task has no workspace here", "workspace");
  const auto step = TRY(Lock::step(place.root, place.task));
  return save_under(place, step);
}

}  // namespace drover::workspace
