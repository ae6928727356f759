// An agent that wants git to run something for it, as Drover.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "unit/workspace/workspace_support.h"

namespace drover::test {
namespace {

namespace fs = std::filesystem;

using ws::Kind;

class Hostile : public testing::TestWithParam<Kind> {
 protected:
  // Every way that git has to run a command of somebody's configuration.
  std::string configuration() const {
    const std::string run = fmt::format("touch {};", marker_);
    return fmt::format(
        "[core]\n\tfsmonitor = \"{0} false\"\n\tsshCommand = \"{0}\"\n\tpager = \"{0} cat\"\n\teditor = \"{0}\"\n"
        "\talternateRefsCommand = \"{0}\"\n\taskPass = \"{0}\"\n\tgitProxy = \"{0}\"\n\thooksPath = {1}\n"
        "[filter \"evil\"]\n\tclean = \"{0} cat\"\n\tsmudge = \"{0} cat\"\n\trequired = true\n"
        "[diff]\n\texternal = \"{0}\"\n[diff \"evil\"]\n\ttextconv = \"{0} cat\"\n\tcommand = \"{0}\"\n"
        "[merge \"evil\"]\n\tdriver = \"{0}\"\n[alias]\n\tstatus = \"!{0}\"\n\tadd = \"!{0}\"\n"
        "[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = {1}/evil\n[credential]\n\thelper = \"!{0}\"\n"
        "[uploadpack]\n\tpackObjectsHook = \"{0} exec\"\n[remote \"evil\"]\n\turl = \"ext::sh -c {0}\"\n\tpromisor = "
        "true\n"
        "\tuploadpack = \"{0}\"\n[extensions]\n\tpartialClone = evil\n[protocol]\n\tallow = always\n",
        run, hooks_);
  }

  void plant_hooks(const std::string& folder) const {
    for (const char* name :
         {"evil", "post-checkout", "pre-commit", "post-commit", "reference-transaction", "post-index-change",
          "fsmonitor-watchman", "pre-auto-gc", "update", "post-update", "post-rewrite", "post-merge"}) {
      const std::string path = fmt::format("{}/{}", folder, name);
      write_text(path, fmt::format("#!/bin/sh\ntouch {}\n", marker_));
      ::chmod(path.c_str(), 0755);
    }
  }

  WorkspaceRoom room_;
  std::string marker_ = room_.file("marker");
  std::string hooks_ = room_.file("hooks");
};

TEST_P(Hostile, NothingOfTheAgentRuns) {
  plant_hooks(room_.repo() + "/.git/hooks");
  const ws::Prepared workspace = room_.prepare(1, GetParam());
  write_text(workspace.path + "/.gitattributes", "* filter=evil diff=evil merge=evil\n");
  write_text(workspace.path + "/new", "1\n");
  (void)shell(
      fmt::format("cd {} && git -c core.hooksPath=/dev/null add -A && "
                  "git -c core.hooksPath=/dev/null -c user.name=a -c user.email=a commit -q -m one",
                  workspace.path));
  plant_hooks(hooks_);
  const std::string common = WorkspaceRoom::agent(workspace, "rev-parse --path-format=absolute --git-common-dir");
  if (GetParam() == Kind::kClone) plant_hooks(common + "/hooks");
  write_text(common + "/config", read_text(common + "/config") + configuration());
  write_text(workspace.path + "/new", "2\n");
  write_text(workspace.path + "/untracked", "2\n");
  ASSERT_FALSE(fs::exists(marker_));

  EXPECT_EQ(must(ws::finish(room_.root(), numbered_workspace(1))).uncommitted_files, 2);
  EXPECT_TRUE(must(ws::diff(room_.root(), numbered_workspace(1))).contains("+2"));
  EXPECT_TRUE(must(ws::prepare(room_.request(1, GetParam()))).reused);
  EXPECT_FALSE(must(ws::prepare(room_.request(2, GetParam()))).reused);
  const ws::Saved saved = must(ws::save(room_.root(), numbered_workspace(1)));
  EXPECT_TRUE(saved.saved) << saved.why;
  EXPECT_FALSE(fs::exists(marker_));

  (void)succeeds("git -C " + workspace.path + " status");
  EXPECT_TRUE(fs::exists(marker_)) << "the trap is harmless, so this test shows nothing";
  fs::remove(marker_);
  EXPECT_TRUE(must(ws::remove(room_.root(), numbered_workspace(1))).saved);
  EXPECT_FALSE(fs::exists(marker_));
}

TEST_P(Hostile, AConfigurationInASubmoduleDoesNotRun) {
  const ws::Prepared workspace = room_.prepare(1, GetParam());
  (void)shell(
      fmt::format("cd {} && git init -q sub && cd sub && git -c user.name=a -c user.email=a commit -q "
                  "--allow-empty -m x && cd .. && git add sub 2> /dev/null",
                  workspace.path));
  (void)WorkspaceRoom::agent(workspace, "commit -q -m sub");
  plant_hooks(hooks_);
  const std::string config = workspace.path + "/sub/.git/config";
  write_text(config, read_text(config) + configuration());
  EXPECT_EQ(must(ws::finish(room_.root(), numbered_workspace(1))).commits, 1);
  (void)must(ws::diff(room_.root(), numbered_workspace(1)));
  EXPECT_FALSE(must(ws::remove(room_.root(), numbered_workspace(1))).saved);
  EXPECT_FALSE(fs::exists(marker_));
  (void)succeeds("git -C " + workspace.path + " status");
  EXPECT_TRUE(fs::exists(marker_)) << "the trap is harmless, so this test shows nothing";
}

INSTANTIATE_TEST_SUITE_P(Kinds, Hostile, testing::Values(Kind::kClone, Kind::kWorktree), kind_of_test);

TEST(HostileOther, LinksOutOfTheWorkspaceAreNotFollowed) {
  const WorkspaceRoom room;
  const ws::Prepared workspace = room.prepare(1, Kind::kClone);
  write_text(room.file("outside/precious"), "precious");
  fs::create_directory_symlink(room.file("outside"), workspace.path + "/build");
  fs::create_directory_symlink(room.file("outside"), workspace.path + "/link");
  EXPECT_TRUE(must(ws::remove(room.root(), numbered_workspace(1))).saved);
  EXPECT_FALSE(fs::exists(workspace.path));
  EXPECT_EQ(read_text(room.file("outside/precious")), "precious");
}

TEST(HostileOther, AGitDirectoryOfTheAgentsChoiceIsNotUsed) {
  const WorkspaceRoom room;
  const ws::Prepared workspace = room.prepare(1, Kind::kClone);
  fs::rename(workspace.path + "/.git", room.file("moved"));
  for (const bool as_file : {true, false}) {
    if (as_file)
      write_text(workspace.path + "/.git", "gitdir: " + room.file("moved") + "\n");
    else
      fs::create_directory_symlink(room.file("moved"), workspace.path + "/.git");
    EXPECT_EQ(code_of(ws::finish(room.root(), numbered_workspace(1))), ErrorCode::kWrongState);
    EXPECT_FALSE(must(ws::remove(room.root(), numbered_workspace(1))).saved);
    fs::remove(workspace.path + "/.git");
  }
}

TEST(HostileOther, ATreeOfAnyDepthIsDeleted) {
  const WorkspaceRoom room;
  const ws::Prepared workspace = room.prepare(1, Kind::kClone);
  (void)shell(
      fmt::format("cd {} && python3 -c \"\nimport os\nos.mkdir('build'); os.chdir('build')\n"
                  "for i in range(1000): os.mkdir('dddddddddd'); os.chdir('dddddddddd')\nopen('f','w')\"",
                  workspace.path));
  const ws::Saved saved = must(ws::remove(room.root(), numbered_workspace(1)));
  EXPECT_TRUE(saved.saved) << saved.why;
  EXPECT_FALSE(fs::exists(workspace.path));
}

}  // namespace
}  // namespace drover::test
