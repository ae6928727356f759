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
                                       std::string(40, 'a'),
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

// The work of other tasks is refused by its commit's id, too, until somebody has merged it.
TEST_P(Prepare, StartsFromACommitThatABranchOrTagReaches) {
  (void)room_.git("checkout -q -b side && git commit -q --allow-empty -m side && git checkout -q main");
  (void)room_.git("checkout -q --detach && git commit -q --allow-empty -m other && git branch drover/other");
  const std::string other = room_.commit_of("HEAD");
  (void)room_.git("update-ref refs/drover/other " + other + " && git checkout -q main");
  int n = 1;
  for (const std::string& name : {std::string("main"), std::string("main~1"), std::string("side")}) {
    const std::string commit = room_.commit_of(name);
    EXPECT_EQ(must(ws::prepare(room_.request(n++, GetParam(), commit))).base_commit, commit) << name;
  }
  EXPECT_EQ(code_of(ws::prepare(room_.request(n, GetParam(), other))), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(ws::prepare(room_.request(n, GetParam(), room_.git("rev-parse main^{tree}")))),
            ErrorCode::kInvalidArgument);
  (void)room_.git("merge -q --no-ff -m merged " + other);
  EXPECT_EQ(must(ws::prepare(room_.request(n, GetParam(), other))).base_commit, other);
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

TEST(PrepareOther, AWorkspaceThatIsGoneIsToldAndRemoved) {
  const WorkspaceRoom room;
  for (const Kind kind : {Kind::kClone, Kind::kWorktree, Kind::kDirectory}) {
    const TaskId task = numbered_workspace(static_cast<int>(kind));
    fs::remove_all(room.prepare(static_cast<int>(kind), kind).path);
    EXPECT_TRUE(must(ws::find(room.root(), task)).is_gone);
    const auto diff = ws::diff(room.root(), task);
    ASSERT_EQ(code_of(diff), ErrorCode::kNotFound);
    EXPECT_TRUE(diff.error().message.contains("somebody deleted")) << diff.error().message;
    EXPECT_TRUE(must(ws::remove(room.root(), task)).saved);
    EXPECT_EQ(code_of(ws::find(room.root(), task)), ErrorCode::kNotFound);
  }
}

// Its commits are in the repository, on no branch: the registration of the worktree was all that named them.
TEST(PrepareOther, CommitsOfAWorktreeThatIsGoneAreKept) {
  const WorkspaceRoom room;
  for (const int n : {1, 2}) {
    const ws::Prepared workspace = room.prepare(n, Kind::kWorktree);
    (void)WorkspaceRoom::agent(workspace, "checkout -q --detach");
    write_text(workspace.path + "/new", "x");
    WorkspaceRoom::commit_all(workspace, "precious");
    const std::string head = WorkspaceRoom::agent(workspace, "rev-parse HEAD");
    fs::remove_all(workspace.path);
    if (n == 1) {
      EXPECT_TRUE(must(ws::remove(room.root(), numbered_workspace(n))).saved);
    } else {
      EXPECT_FALSE(room.prepare(n, Kind::kWorktree).reused);
    }
    EXPECT_EQ(room.git("merge-base " + head + " " + saved_ref(n)), head);
  }
}

TEST(PrepareOther, WhatIsInThePlaceOfAWorkspaceIsNeitherFollowedNorDeleted) {
  const WorkspaceRoom room;
  const TaskId task = numbered_workspace(1);
  const std::string folder = fmt::format("{}/{}", room.root(), task.to_string());
  write_text(room.file("elsewhere/precious"), "x");
  for (const bool is_link : {true, false}) {
    for (const std::string& path : {folder + "/work", folder}) {
      (void)room.prepare(1, Kind::kClone);
      fs::remove_all(path);
      if (is_link) {
        fs::create_symlink(room.file("elsewhere"), path);
      } else {
        write_text(path, "precious");
      }
      const auto prepared = ws::prepare(room.request(1, Kind::kClone));
      ASSERT_EQ(code_of(prepared), ErrorCode::kWrongState) << path;
      EXPECT_TRUE(prepared.error().message.contains(is_link ? "is a symbolic link" : "is a file"));
      EXPECT_TRUE(prepared.error().message.contains("drover retry"));
      EXPECT_FALSE(must(ws::remove(room.root(), task)).saved);
      EXPECT_TRUE(fs::exists(fs::symlink_status(path)));
      EXPECT_EQ(read_text(room.file("elsewhere/precious")), "x");
      fs::remove(path);
    }
  }
  EXPECT_FALSE(room.prepare(1, Kind::kClone).reused);
}

TEST(PrepareOther, AWorkspaceThatCannotBeReadIsNotUsed) {
  const WorkspaceRoom room;
  const ws::Prepared workspace = room.prepare(1, Kind::kClone);
  write_text(fs::path(workspace.path).parent_path().string() + "/meta.json", "{}");
  EXPECT_EQ(code_of(ws::prepare(room.request(1, Kind::kClone))), ErrorCode::kWrongState);
}

TEST(PrepareOther, RemembersThatItsAgentHasBegun) {
  const WorkspaceRoom room;
  const ws::Prepared workspace = room.prepare(1, Kind::kClone);
  EXPECT_FALSE(workspace.begun);
  EXPECT_FALSE(room.prepare(1, Kind::kClone).begun);
  must(ws::mark_begun(room.root(), numbered_workspace(1)));
  EXPECT_TRUE(room.prepare(1, Kind::kClone).begun);
  fs::remove_all(workspace.path);
  EXPECT_FALSE(room.prepare(1, Kind::kClone).begun) << "not in the new one";
}

TEST(Inspect, TellsWhichFilesOfItsCheckARunHasChanged) {
  for (const Kind kind : {Kind::kClone, Kind::kWorktree}) {
    const WorkspaceRoom room;
    write_text(room.repo() + "/dev", "#!/bin/sh\n");
    write_text(room.repo() + "/tests/a", "a");
    (void)room.git("add -A && git commit -q -m check");
    const ws::Prepared workspace = room.prepare(1, kind);
    const auto changed = [&](const std::vector<std::string>& argv) {
      return must(ws::inspect(room.root(), numbered_workspace(1), argv)).changed;
    };
    using Files = std::vector<std::string>;
    const Files all{"./dev", "test", "--only=tests/", "--", "/etc/passwd", "../..", ".", "-"};
    EXPECT_EQ(changed(all), Files{});
    write_text(workspace.path + "/src.c", "x");
    EXPECT_EQ(changed(all), Files{}) << "it may change anything else";
    write_text(workspace.path + "/dev", "exit 0");
    write_text(workspace.path + "/tests/b", "new");
    EXPECT_EQ(changed(all), (Files{"dev", "tests/b"}));
    WorkspaceRoom::commit_all(workspace, "mine");
    fs::remove(workspace.path + "/tests/a");
    EXPECT_EQ(changed(all), (Files{"dev", "tests/a", "tests/b"}));
    EXPECT_EQ(changed({"sh", "tests"}), (Files{"tests/a", "tests/b"}));
    EXPECT_EQ(must(ws::inspect(room.root(), numbered_workspace(1), {"./dev"})).commit,
              WorkspaceRoom::agent(workspace, "rev-parse HEAD"));
  }
}

TEST(Inspect, NamesABoundedNumberOfFiles) {
  const WorkspaceRoom room;
  const ws::Prepared workspace = room.prepare(1, Kind::kClone);
  for (int i = 0; i < 200; ++i) write_text(fmt::format("{}/tests/{}", workspace.path, i), "x");
  EXPECT_EQ(must(ws::inspect(room.root(), numbered_workspace(1), {"tests"})).changed.size(), 50U);
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
