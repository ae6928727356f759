#include "core/workspace_profile.h"

#include <gtest/gtest.h>

#include <string>

namespace drover {
namespace {

Task task_of(const std::string& owner, std::optional<std::string> repo = {}, std::optional<std::string> base = {}) {
  Task task;
  task.type = "fix";
  task.owner = owner;
  task.repo = std::move(repo);
  task.base = std::move(base);
  return task;
}

const Repos& repos() {
  static const Repos all{{"site", {"/srv/site", {"team-a"}}}, {"docs", {"/srv/docs", {}}}};
  return all;
}

std::string refusal(const Task& task, const WorkspaceProfile& profile) {
  const auto choice = choose_workspace(task, profile, repos());
  if (choice) return "";
  EXPECT_EQ(choice.error().code, ErrorCode::kInvalidArgument);
  return choice.error().message;
}

TEST(WorkspaceProfile, KindsHaveNames) {
  for (const char* name : {"none", "directory", "clone", "worktree"}) {
    EXPECT_EQ(name_of(*parse_workspace_kind(name)), name);
  }
  EXPECT_FALSE(parse_workspace_kind("copy"));
}

TEST(WorkspaceProfile, IsWantedIfEveryTaskHasOne) {
  EXPECT_FALSE(WorkspaceProfile{}.is_wanted());
  EXPECT_TRUE(WorkspaceProfile{.repo = "site"}.is_wanted());
  EXPECT_TRUE(WorkspaceProfile{.kind = WorkspaceKind::kDirectory}.is_wanted());
  EXPECT_FALSE((WorkspaceProfile{.kind = WorkspaceKind::kNone, .repo = "site"}).is_wanted());
}

TEST(ChooseWorkspace, WithoutARepositoryThereIsNoneUnlessTheProfileSaysSo) {
  EXPECT_EQ(*choose_workspace(task_of("x"), {}, repos()), WorkspaceChoice{});
  EXPECT_EQ(choose_workspace(task_of("x"), {.kind = WorkspaceKind::kDirectory}, repos())->kind,
            WorkspaceKind::kDirectory);
}

TEST(ChooseWorkspace, ARepositoryIsCloned) {
  const WorkspaceChoice docs{.kind = WorkspaceKind::kClone, .repo_path = "/srv/docs", .base = "HEAD"};
  EXPECT_EQ(*choose_workspace(task_of("x", "docs"), {}, repos()), docs);
  EXPECT_EQ(*choose_workspace(task_of("x"), {.repo = "docs"}, repos()), docs);
}

TEST(ChooseWorkspace, TheTaskGoesBeforeTheProfile) {
  const WorkspaceProfile profile{.kind = WorkspaceKind::kWorktree, .repo = "docs", .base = "main"};
  EXPECT_EQ(choose_workspace(task_of("team-a"), profile, repos())->base, "main");
  const WorkspaceChoice site{.kind = WorkspaceKind::kWorktree, .repo_path = "/srv/site", .base = "v1"};
  EXPECT_EQ(*choose_workspace(task_of("team-a", "site", "v1"), profile, repos()), site);
}

TEST(ChooseWorkspace, ARepositoryThatIsNotHereIsNotTheTasksFault) {
  const auto other = choose_workspace(task_of("x", "other"), {}, repos());
  EXPECT_EQ(other.error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(other.error().message.contains("knows no repository other"));
  EXPECT_EQ(choose_workspace(task_of("x", "site"), {}, repos()).error().code, ErrorCode::kInvalidArgument);
}

TEST(ChooseWorkspace, RefusesWhatTheTaskCannotHave) {
  EXPECT_TRUE(refusal(task_of("x", "site"), {}).contains("site is not open to owner x"));
  EXPECT_TRUE(refusal(task_of("x"), {.kind = WorkspaceKind::kClone}).contains("names no repository"));
  EXPECT_TRUE(refusal(task_of("x", "docs"), {.kind = WorkspaceKind::kNone}).contains("have no repository here"));
  EXPECT_TRUE(refusal(task_of("x", {}, "main"), {}).contains("have no repository here"));
}

}  // namespace
}  // namespace drover
