#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "support/together.h"
#include "unit/workspace/workspace_support.h"

namespace drover::test {
namespace {

namespace fs = std::filesystem;

using ws::Kind;

class Prepare : public testing::TestWithParam<Kind> {
 protected:
  WorkspaceRoom room_;
};

TEST_P(Prepare, GivesTheFilesOfTheBaseOnABranchOfTheTask) {
  const std::string before = room_.fingerprint();
  const ws::Prepared workspace = room_.prepare(1, GetParam());
  EXPECT_EQ(workspace.path, fs::canonical(room_.root()).string() + "/" + numbered_workspace(1).to_string() + "/work");
  EXPECT_EQ(workspace.branch, task_branch(1));
  EXPECT_EQ(workspace.base_commit, room_.commit_of("main"));
  EXPECT_FALSE(workspace.reused);
  EXPECT_EQ(read_text(workspace.path + "/README"), "one\ntwo\n");
  EXPECT_EQ(read_text(workspace.path + "/src/deep/code.txt"), "a\nb\nc\n");
  EXPECT_EQ(WorkspaceRoom::agent(workspace, "status --porcelain"), "");
  EXPECT_EQ(WorkspaceRoom::agent(workspace, "symbolic-ref HEAD"), "refs/heads/" + task_branch(1));
  EXPECT_EQ(WorkspaceRoom::agent(workspace, "rev-parse HEAD"), workspace.base_commit);
  EXPECT_EQ(room_.commit_of(saved_ref(1)), workspace.base_commit);
  EXPECT_EQ(room_.fingerprint(), before);
}

TEST_P(Prepare, KeepsTheWorkspaceOverRetries) {
  const ws::Prepared first = room_.prepare(1, GetParam());
  write_text(first.path + "/new", "kept");
  write_text(fs::is_directory(first.path + "/.git") ? first.path + "/.git/index.lock" : first.path + "/.ignored", "");
  const ws::Prepared second = room_.prepare(1, GetParam());
  EXPECT_TRUE(second.reused);
  EXPECT_EQ(second.path, first.path);
  EXPECT_EQ(read_text(second.path + "/new"), "kept");
  WorkspaceRoom::commit_all(second, "after-a-killed-git");
}

TEST_P(Prepare, FortyAtOnceFromOneRepository) {
  constexpr int kTasks = 40;
  const std::string before = room_.fingerprint();
  std::vector<ws::Prepared> made(kTasks);
  together(kTasks,
           [&](int i) { made[static_cast<std::size_t>(i)] = must(ws::prepare(room_.request(i + 1, GetParam()))); });
  together(kTasks, [&](int i) {
    const ws::Prepared& workspace = made[static_cast<std::size_t>(i)];
    write_text(workspace.path + "/mine", fmt::format("{}\n", i));
    WorkspaceRoom::commit_all(workspace, "work");
    EXPECT_EQ(must(ws::finish(room_.root(), numbered_workspace(i + 1))).commits, 1);
  });
  for (int i = 0; i < kTasks; ++i)
    EXPECT_EQ(room_.git("show refs/heads/" + task_branch(i + 1) + ":mine"), std::to_string(i));
  EXPECT_EQ(room_.fingerprint(), before);
  EXPECT_TRUE(succeeds("git -C " + room_.repo() + " fsck --strict"));
}

TEST_P(Prepare, OneOfManyForTheSameTaskMakesIt) {
  std::array<ws::Prepared, 4> made;
  together(4, [&](int i) { made[static_cast<std::size_t>(i)] = room_.prepare(1, GetParam()); });
  EXPECT_EQ(std::ranges::count(made, false, &ws::Prepared::reused), 1);
}

TEST_P(Prepare, StartsFromBranchTagAndRemoteBranch) {
  int n = 0;
  for (const char* base :
       {"main", "refs/heads/main", "v1", "refs/tags/v1", "origin/next", "refs/remotes/origin/next"}) {
    const auto workspace = must(ws::prepare(room_.request(++n, GetParam(), base)));
    EXPECT_EQ(workspace.base_commit, room_.commit_of(base)) << base;
  }
}

TEST_P(Prepare, RefusesABaseThatIsNoRef) {
  (void)room_.git("branch drover/other && git update-ref refs/drover/other main && git branch main2");
  (void)room_.git("update-ref refs/remotes/origin/drover/x main");
  const std::string marker = room_.file("marker");
  const std::vector<std::string> bases{"--upload-pack=touch " + marker,
                                       "--upload-pack=x",
                                       "-f",
                                       "",
                                       "refs/drover/other",
                                       "drover/other",
                                       "refs/heads/drover/other",
                                       "origin/drover/x",
                                       "refs/notes/commits",
                                       "main~1",
                                       "main^{tree}",
                                       "@{-1}",
                                       "@",
                                       ":/first",
                                       "main..main2",
                                       "main\nmain2",
                                       "no-such-branch",
                                       "refs/heads/../drover/other",
                                       room_.commit_of("main"),
                                       std::string("ma\0in", 5),
                                       std::string(300, 'a')};
  for (const std::string& base : bases) {
    const auto refused = ws::prepare(room_.request(1, GetParam(), base));
    EXPECT_EQ(code_of(refused), ErrorCode::kInvalidArgument) << base;
    EXPECT_TRUE(!refused && ws::is_fault_of_task(refused.error().code));
  }
  EXPECT_FALSE(fs::exists(marker));
  EXPECT_TRUE(must(ws::list(room_.root())).empty());
}

TEST_P(Prepare, ANewWorkspaceDoesNotLoseWhatAnEarlierOneLeft) {
  const ws::Prepared first = room_.prepare(1, GetParam());
  write_text(first.path + "/work.txt", "precious\n");
  WorkspaceRoom::commit_all(first, "precious");
  const std::string head = must(ws::finish(room_.root(), numbered_workspace(1))).head;
  EXPECT_TRUE(must(ws::remove(room_.root(), numbered_workspace(1))).saved);
  const ws::Prepared second = room_.prepare(1, GetParam());
  EXPECT_FALSE(second.reused);
  EXPECT_EQ(WorkspaceRoom::agent(second, "rev-parse HEAD"), room_.commit_of("main"));
  (void)must(ws::finish(room_.root(), numbered_workspace(1)));
  EXPECT_TRUE(must(ws::remove(room_.root(), numbered_workspace(1))).saved);
  EXPECT_EQ(room_.git("merge-base " + head + " " + saved_ref(1)), head);
}

TEST_P(Prepare, LeftoversOfAKilledStepAreRemoved) {
  const std::string folder = fmt::format("{}/{}", room_.root(), numbered_workspace(1).to_string());
  (void)must(ws::prepare(room_.request(2, GetParam())));  // makes the root
  write_text(folder + ".new/work/junk", "x");
  write_text(folder + ".gone/.drover-0/.drover-1/junk", "x");
  write_text(folder + ".gone/work/a/b/junk", "x");
  (void)room_.prepare(1, GetParam());
  EXPECT_FALSE(fs::exists(folder + ".new"));
  EXPECT_FALSE(fs::exists(folder + ".gone"));
}

INSTANTIATE_TEST_SUITE_P(Kinds, Prepare, testing::Values(Kind::kClone, Kind::kWorktree), kind_of_test);

TEST(PrepareOther, NoneMakesNothing) {
  const WorkspaceRoom room;
  EXPECT_EQ(room.prepare(1, Kind::kNone).path, "");
  EXPECT_FALSE(fs::exists(room.root()));
}

TEST(PrepareOther, ADirectoryIsEmptyAndTheTasksOwn) {
  const WorkspaceRoom room;
  const ws::Prepared workspace = room.prepare(1, Kind::kDirectory);
  EXPECT_TRUE(fs::is_empty(workspace.path));
  EXPECT_EQ(workspace.branch, "");
  EXPECT_NE(room.prepare(2, Kind::kDirectory).path, workspace.path);
  EXPECT_EQ(fs::status(room.root()).permissions(), fs::perms::owner_all);
}

TEST(PrepareOther, RemembersThatItWasSetUp) {
  const WorkspaceRoom room;
  EXPECT_FALSE(room.prepare(1, Kind::kClone).set_up);
  EXPECT_FALSE(room.prepare(1, Kind::kClone).set_up);
  must(ws::mark_set_up(room.root(), numbered_workspace(1)));
  EXPECT_TRUE(room.prepare(1, Kind::kClone).set_up);
}

TEST(PrepareOther, AnotherKindOrRepositoryIsRefused) {
  const WorkspaceRoom room;
  const WorkspaceRoom other;
  (void)room.prepare(1, Kind::kClone);
  EXPECT_EQ(code_of(ws::prepare(room.request(1, Kind::kWorktree))), ErrorCode::kWrongState);
  auto request = room.request(1, Kind::kClone);
  request.repo = other.repo();
  EXPECT_EQ(code_of(ws::prepare(request)), ErrorCode::kWrongState);
}

TEST(PrepareOther, AWorkspaceThatItsAgentDeletedIsMadeAgain) {
  const WorkspaceRoom room;
  for (const Kind kind : {Kind::kClone, Kind::kWorktree}) {
    const int n = kind == Kind::kClone ? 1 : 2;
    fs::remove_all(room.prepare(n, kind).path);
    const ws::Prepared again = room.prepare(n, kind);
    EXPECT_FALSE(again.reused);
    EXPECT_EQ(read_text(again.path + "/README"), "one\ntwo\n");
  }
}

TEST(PrepareOther, ARepositoryIsNotLookedForInTheFoldersAbove) {
  const WorkspaceRoom room;
  auto request = room.request(1, Kind::kClone);
  request.repo = room.repo() + "/src";
  EXPECT_EQ(code_of(ws::prepare(request)), ErrorCode::kInvalidConfig);
  request.repo = room.file("nowhere");
  EXPECT_EQ(code_of(ws::prepare(request)), ErrorCode::kInvalidConfig);
}

TEST(PrepareOther, ARootThatOthersCanEnterIsRefused) {
  const WorkspaceRoom room;
  fs::create_directory(room.root());
  ::chmod(room.root().c_str(), 0755);
  EXPECT_EQ(code_of(ws::prepare(room.request(1, Kind::kDirectory))), ErrorCode::kInvalidConfig);
}

TEST(PrepareOther, ACloneKnowsTheBranchesButNoWorkOfOtherTasks) {
  const WorkspaceRoom room;
  (void)room.git("branch other && git branch drover/other");
  const ws::Prepared workspace = room.prepare(1, Kind::kClone);
  const std::string refs = WorkspaceRoom::agent(workspace, "for-each-ref --format='%(refname)'");
  EXPECT_EQ(refs, fmt::format("refs/heads/{}\nrefs/remotes/origin/main\nrefs/remotes/origin/other\nrefs/tags/v1",
                              task_branch(1)));
  (void)room.git("branch newer");
  EXPECT_NE(WorkspaceRoom::agent(workspace, "fetch -q origin && git rev-parse origin/newer"), "");
  EXPECT_FALSE(succeeds("git -C " + workspace.path + " push origin HEAD:main"));
}

TEST(PrepareOther, BareShallowAndSha256RepositoriesWork) {
  const WorkspaceRoom room;
  (void)shell(
      fmt::format("git clone -q --bare {0} {1}/bare.git && git clone -q --depth 1 file://{0} {1}/shallow && "
                  "git init -q --object-format=sha256 {1}/sha256 && cd {1}/sha256 && "
                  "git -c user.name=a -c user.email=a commit -q --allow-empty -m first",
                  room.repo(), room.file(".")));
  int n = 0;
  for (const char* name : {"bare.git", "shallow", "sha256"}) {
    for (const Kind kind : {Kind::kClone, Kind::kWorktree}) {
      auto request = room.request(++n, kind);
      request.repo = room.file(name);
      const ws::Prepared workspace = must(ws::prepare(request));
      write_text(workspace.path + "/new", "new\n");
      WorkspaceRoom::commit_all(workspace, "new");
      EXPECT_EQ(must(ws::finish(room.root(), numbered_workspace(n))).commits, 1) << name;
      write_text(workspace.path + "/newer", "newer\n");
      const ws::Saved saved = must(ws::remove(room.root(), numbered_workspace(n)));
      EXPECT_TRUE(saved.saved) << name << ": " << saved.why;
      EXPECT_EQ(shell(fmt::format("git -C {} show {}:newer", request.repo, saved_ref(n))), "newer") << name;
    }
    EXPECT_TRUE(succeeds(fmt::format("git -C {} fsck", room.file(name)))) << name;
  }
}

}  // namespace
}  // namespace drover::test
