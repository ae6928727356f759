#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "unit/workspace/workspace_support.h"

namespace drover::test {
namespace {

using ws::Kind;

class Finish : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override { workspace_ = room_.prepare(1, GetParam()); }
  ws::Finished finish() { return must(ws::finish(room_.root(), numbered_workspace(1))); }
  std::string branch_commit() { return room_.commit_of("refs/heads/" + task_branch(1)); }

  WorkspaceRoom room_;
  ws::Prepared workspace_;
};

TEST_P(Finish, BringsTheCommitsAndMeasuresThem) {
  const std::string before = room_.fingerprint();
  write_text(workspace_.path + "/src/deep/code.txt", "a\nB\nc\nd\n");
  write_text(workspace_.path + "/new", "1\n2\n");
  WorkspaceRoom::commit_all(workspace_, "one");
  write_text(workspace_.path + "/binary", std::string("\0\1\2", 3));
  WorkspaceRoom::commit_all(workspace_, "two");
  write_text(workspace_.path + "/README", "changed\n");
  write_text(workspace_.path + "/folder/a", "untracked");
  write_text(workspace_.path + "/folder/b", "untracked");
  write_text(workspace_.path + "/ignored", "ignored");

  const ws::Finished finished = finish();
  EXPECT_EQ(finished.branch, task_branch(1));
  EXPECT_EQ(finished.head, WorkspaceRoom::agent(workspace_, "rev-parse HEAD"));
  EXPECT_EQ(finished.commits, 2);
  EXPECT_EQ(finished.files, 3);
  EXPECT_EQ(finished.insertions, 4);
  EXPECT_EQ(finished.deletions, 1);
  EXPECT_EQ(finished.uncommitted_files, 3);
  EXPECT_EQ(branch_commit(), finished.head);
  EXPECT_EQ(room_.commit_of(saved_ref(1)), finished.head);
  EXPECT_EQ(room_.fingerprint(), before);
}

TEST_P(Finish, AnUntouchedWorkspaceIsItsBase) {
  const ws::Finished finished = finish();
  EXPECT_EQ(finished.head, workspace_.base_commit);
  EXPECT_EQ(finished.commits + finished.files + finished.uncommitted_files, 0);
  EXPECT_EQ(branch_commit(), workspace_.base_commit);
}

TEST_P(Finish, FollowsAnAgentThatRewritesHistory) {
  write_text(workspace_.path + "/new", "1\n");
  WorkspaceRoom::commit_all(workspace_, "one");
  const std::string first = finish().head;
  (void)WorkspaceRoom::agent(workspace_, "commit -q --amend -m other");
  const std::string second = finish().head;
  EXPECT_NE(first, second);
  EXPECT_EQ(branch_commit(), second);
  EXPECT_EQ(room_.git("merge-base " + first + " " + saved_ref(1)), first);
  EXPECT_EQ(room_.git("diff " + second + " " + saved_ref(1)), "");
}

TEST_P(Finish, FollowsAnAgentToItsOwnBranchAndToADetachedHead) {
  write_text(workspace_.path + "/ours", "1\n");
  WorkspaceRoom::commit_all(workspace_, "ours");
  const std::string ours = WorkspaceRoom::agent(workspace_, "rev-parse HEAD");
  (void)WorkspaceRoom::agent(workspace_, "checkout -q -b feature/x HEAD~1");
  write_text(workspace_.path + "/theirs", "1\n");
  WorkspaceRoom::commit_all(workspace_, "theirs");
  (void)WorkspaceRoom::agent(workspace_, "pack-refs --all");
  EXPECT_EQ(finish().head, WorkspaceRoom::agent(workspace_, "rev-parse feature/x"));
  EXPECT_EQ(branch_commit(), WorkspaceRoom::agent(workspace_, "rev-parse feature/x"));
  (void)WorkspaceRoom::agent(workspace_, "checkout -q --detach " + workspace_.base_commit);
  EXPECT_EQ(finish().head, workspace_.base_commit);
  EXPECT_TRUE(must(ws::save(room_.root(), numbered_workspace(1))).saved);
  EXPECT_EQ(room_.git("merge-base " + ours + " " + saved_ref(1)), ours);
}

TEST_P(Finish, ReportsAHeadThatCannotBeRead) {
  const std::string git_dir = WorkspaceRoom::agent(workspace_, "rev-parse --absolute-git-dir");
  const std::string outside = room_.file("outside");
  write_text(outside, room_.commit_of("v1") + "\n");
  for (const std::string& head : {std::string("nonsense"), std::string(), std::string("ref: refs/heads/none"),
                                  std::string("ref: ../../outside"), "ref: refs/../../../" + outside,
                                  std::string("ref: refs/heads"), std::string(100'000, 'a'), std::string(40, '0')}) {
    write_text(git_dir + "/HEAD", head);
    const auto refused = ws::finish(room_.root(), numbered_workspace(1));
    EXPECT_EQ(code_of(refused), ErrorCode::kWrongState) << head.substr(0, 40);
    const ws::Saved saved = must(ws::remove(room_.root(), numbered_workspace(1)));
    EXPECT_FALSE(saved.saved);
    EXPECT_FALSE(saved.why.empty());
    EXPECT_TRUE(std::filesystem::exists(workspace_.path + "/README"));
  }
  std::filesystem::remove(git_dir + "/HEAD");
  std::filesystem::create_symlink(outside, git_dir + "/HEAD");
  EXPECT_EQ(code_of(ws::finish(room_.root(), numbered_workspace(1))), ErrorCode::kWrongState);
  std::filesystem::remove(git_dir + "/HEAD");
  (void)shell("mkfifo " + git_dir + "/HEAD");
  EXPECT_EQ(code_of(ws::finish(room_.root(), numbered_workspace(1))), ErrorCode::kWrongState);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Finish, testing::Values(Kind::kClone, Kind::kWorktree), kind_of_test);

TEST(FinishOther, ADirectoryHasOnlyFiles) {
  const WorkspaceRoom room;
  const ws::Prepared workspace = room.prepare(1, Kind::kDirectory);
  write_text(workspace.path + "/a/b", "x");
  const ws::Finished finished = must(ws::finish(room.root(), numbered_workspace(1)));
  EXPECT_EQ(finished.uncommitted_files, 1);
  EXPECT_EQ(finished.branch + finished.head, "");
}

TEST(FinishOther, NoWorkspaceIsNotFound) {
  const WorkspaceRoom room;
  EXPECT_EQ(code_of(ws::finish(room.root(), numbered_workspace(1))), ErrorCode::kNotFound);
  (void)room.prepare(1, Kind::kDirectory);
  EXPECT_EQ(code_of(ws::finish(room.root(), numbered_workspace(2))), ErrorCode::kNotFound);
}

TEST(FinishOther, ABranchThatAPersonHasCheckedOutIsNotMoved) {
  const WorkspaceRoom room;
  const ws::Prepared workspace = room.prepare(1, Kind::kClone);
  (void)must(ws::finish(room.root(), numbered_workspace(1)));
  (void)room.git("checkout -q " + task_branch(1));
  write_text(workspace.path + "/new", "1\n");
  WorkspaceRoom::commit_all(workspace, "one");
  const auto refused = ws::finish(room.root(), numbered_workspace(1));
  EXPECT_EQ(code_of(refused), ErrorCode::kInternal);  // not the agent's fault
  EXPECT_EQ(room.git("status --porcelain"), "");
}

}  // namespace
}  // namespace drover::test
