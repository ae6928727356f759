#include <gtest/gtest.h>

#include "policy/document.h"
#include "support/must.h"

namespace drover::test {
namespace {

using std::chrono::hours;

TEST(WorkspaceSectionTest, ReadsRepositoriesAndWorkspaces) {
  const Document document = must(parse_document(R"(
local:
  runners:
    fix:
      preset: claude
      workspace: {kind: worktree, path: /var/ws, base: main, repo: site, setup: [./dev, setup],
                  keep: {completed: 1h, failed: 2h, bytes: 1GiB}}
    other: {argv: [x], workspace: {repo: docs}}
  repos: {site: {path: /srv/site, owners: [team-a, team-b]}, docs: {path: /srv/docs}}
)",
                                                "drover.yaml"));
  const WorkspaceProfile expected{.kind = WorkspaceKind::kWorktree,
                                  .root = "/var/ws",
                                  .repo = "site",
                                  .base = "main",
                                  .setup = {"./dev", "setup"},
                                  .keep = {.completed = hours(1), .failed = hours(2), .bytes_max = 1 << 30}};
  EXPECT_EQ(document.local.runners.at("fix").workspace, expected);
  EXPECT_EQ(document.local.runners.at("other").workspace, WorkspaceProfile{.repo = "docs"});
  EXPECT_EQ(document.local.repos.at("site"), (RepoProfile{"/srv/site", {"team-a", "team-b"}}));
  EXPECT_EQ(document.local.repos.at("docs"), (RepoProfile{"/srv/docs", {}}));
  EXPECT_EQ(document.shared, "{}") << "paths of one machine are never shared";
}

std::string refusal(const std::string& runner, const std::string& repos = "site: {path: /srv/site}") {
  const auto document = parse_document(
      "local: {repos: {" + repos + "}, runners: {fix: {argv: [x], workspace: {" + runner + "}}}}", "drover.yaml");
  if (document) return "";
  EXPECT_EQ(document.error().code, ErrorCode::kInvalidConfig);
  return document.error().message;
}

TEST(WorkspaceSectionTest, RefusesWhatMakesNoSense) {
  EXPECT_EQ(refusal("repo: site"), "");
  EXPECT_EQ(refusal("repo: nosuch"),
            "drover.yaml:1: local.runners.fix.workspace.repo: there is no repository nosuch; add local.repos.nosuch");
  EXPECT_EQ(
      refusal("kind: copy"),
      "drover.yaml:1: local.runners.fix.workspace.kind: expected none, directory, clone or worktree, not \"copy\"");
  for (const char* runner :
       {"path: ws", "base: --upload-pack=x", "base: refs/drover/x", "setup: []", "keep: {failed: -1s}",
        "keep: {completed: soon}", "keep: {bytes: -1}", "keeps: {}", "repo: -x", "kind: none, repo: site"}) {
    EXPECT_NE(refusal(runner), "") << runner;
  }
  for (const char* repos : {"site: {}", "site: {path: here}", "site: {path: /a, owners: []}", "-x: {path: /a}",
                            "site: {path: /a, owners: ['a b']}", "'a b': {path: /a}", "site: {path: /a, url: b}"}) {
    EXPECT_NE(refusal("kind: none", repos), "") << repos;
  }
}

}  // namespace
}  // namespace drover::test
