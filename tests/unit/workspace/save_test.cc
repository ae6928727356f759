#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <map>
#include <sstream>

#include "unit/workspace/workspace_support.h"

namespace drover::test {
namespace {

namespace fs = std::filesystem;

using ws::Kind;

// Every path of a commit with its mode and bytes, and the same of a folder as git would keep it.
using Files = std::map<std::string, std::string>;

Files files_of_commit(const std::string& repo, const std::string& commit, const std::string& scratch) {
  // No attribute changes a byte of cat-file.
  (void)shell(fmt::format("mkdir -p {0} && git -C {1} ls-tree -r -z {2} > {0}/list", scratch, repo, commit));
  Files files;
  std::istringstream list(read_text(scratch + "/list"));
  for (std::string entry; std::getline(list, entry, '\0');) {
    const std::string mode = entry.substr(0, 6);
    const std::string object = entry.substr(12, entry.find('\t') - 12);
    (void)shell(fmt::format("git -C {} cat-file blob {} > {}/blob", repo, object, scratch));
    files[entry.substr(entry.find('\t') + 1)] = mode + " " + read_text(scratch + "/blob");
  }
  return files;
}

Files files_of_folder(const std::string& folder) {
  Files files;
  for (auto entry = fs::recursive_directory_iterator(folder); entry != fs::recursive_directory_iterator(); ++entry) {
    const std::string path = entry->path().lexically_relative(folder).string();
    if (path == ".git") {
      entry.disable_recursion_pending();
    } else if (entry->is_symlink()) {
      files[path] = "120000 " + fs::read_symlink(entry->path()).string();
    } else if (entry->is_regular_file()) {
      const bool runs = (entry->status().permissions() & fs::perms::owner_exec) != fs::perms::none;
      files[path] = (runs ? "100755 " : "100644 ") + read_text(entry->path().string());
    }
  }
  return files;
}

// Root reads everything; this thread does not while it has one of these.
class WithoutOverride {
 public:
  WithoutOverride() {
    ::syscall(SYS_capget, &header_, before_.data());
    auto less = before_;
    less[0].effective &= ~((1U << CAP_DAC_OVERRIDE) | (1U << CAP_DAC_READ_SEARCH));
    ::syscall(SYS_capset, &header_, less.data());
  }
  ~WithoutOverride() { ::syscall(SYS_capset, &header_, before_.data()); }
  WithoutOverride(const WithoutOverride&) = delete;
  WithoutOverride& operator=(const WithoutOverride&) = delete;

 private:
  __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> before_{};
};

class Save : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override { workspace_ = room_.prepare(1, GetParam()); }
  ws::Saved save() { return must(ws::save(room_.root(), numbered_workspace(1))); }
  Files saved_files() { return files_of_commit(room_.repo(), saved_ref(1), room_.file("scratch")); }

  WorkspaceRoom room_;
  ws::Prepared workspace_;
};

TEST_P(Save, KeepsEveryByteThatIsNotIgnored) {
  const std::string before = room_.fingerprint();
  const std::string& work = workspace_.path;
  write_text(work + "/.gitattributes",
             "* text=auto eol=crlf ident\n*.u16 working-tree-encoding=UTF-16\n*.lfs filter=lfs\nlog export-ignore\n");
  write_text(work + "/committed", "1\n");
  WorkspaceRoom::commit_all(workspace_, "one");
  write_text(work + "/README", "changed\r\nin\nmany\rways $Id$ $Id: 123 $\n");
  write_text(work + "/utf.u16", "not utf 16");
  write_text(work + "/large.lfs", std::string(2'000'000, '\r'));
  write_text(work + "/log", std::string("\0\r\n\xff", 4));
  write_text(work + "/a folder/with \"quotes\"\nand a break", "odd name");
  write_text(work + "/:(top)magic*", "odd name");
  write_text(work + "/empty", "");
  write_text(work + "/run.sh", "#!/bin/sh\n");
  ::chmod((work + "/run.sh").c_str(), 0755);
  fs::create_symlink("/etc/passwd", work + "/link");
  fs::create_symlink("nowhere", work + "/dangling");
  fs::create_directory_symlink("/", work + "/linked folder");
  fs::remove(work + "/src/deep/code.txt");
  write_text(work + "/staged", "staged");
  (void)WorkspaceRoom::agent(workspace_, "add staged");
  write_text(fs::exists(work + "/.git/info") ? work + "/.git/info/exclude" : room_.repo() + "/.git/info/exclude",
             "log\n");
  const Files wanted = files_of_folder(work);
  write_text(work + "/ignored", "gone");
  write_text(work + "/x.o", "gone");
  write_text(work + "/build/deps/.git/HEAD", "gone");

  const ws::Saved saved = save();
  ASSERT_TRUE(saved.saved) << saved.why;
  const Files found = saved_files();
  for (const auto& [path, bytes] : wanted)
    EXPECT_TRUE(found.contains(path) && found.at(path) == bytes) << path;  // without a listing of 2 MB
  EXPECT_EQ(found.size(), wanted.size());
  EXPECT_EQ(saved.commit, room_.commit_of(saved_ref(1)));
  EXPECT_EQ(room_.commit_of(saved_ref(1) + "^"), WorkspaceRoom::agent(workspace_, "rev-parse HEAD"));
  EXPECT_EQ(files_of_folder(work)["README"], wanted.at("README"));
  EXPECT_EQ(room_.fingerprint(), before);
  EXPECT_TRUE(succeeds("git -C " + room_.repo() + " fsck --strict"));
  EXPECT_FALSE(fs::exists(fs::path(work).parent_path() / "drover.git"));
}

TEST_P(Save, SavingTwiceChangesNothing) {
  write_text(workspace_.path + "/new", "1\n");
  const ws::Saved first = save();
  EXPECT_EQ(save().commit, first.commit);
  write_text(workspace_.path + "/new", "2\n");
  const ws::Saved second = save();
  EXPECT_NE(second.commit, first.commit);
  EXPECT_EQ(room_.git("merge-base " + first.commit + " " + saved_ref(1)), first.commit);
}

TEST_P(Save, ACleanWorkspaceIsItsHead) {
  EXPECT_EQ(save().commit, workspace_.base_commit);
}

TEST_P(Save, TrackedFilesInIgnoredFoldersAreSaved) {
  write_text(workspace_.path + "/build/tracked", "1\n");
  (void)WorkspaceRoom::agent(workspace_, "add -f build/tracked");
  (void)WorkspaceRoom::agent(workspace_, "commit -q -m forced");
  write_text(workspace_.path + "/build/tracked", "2\n");
  ASSERT_TRUE(save().saved);
  EXPECT_EQ(saved_files().at("build/tracked"), "100644 2\n");
}

// Each is a reason to delete nothing.
TEST_P(Save, WhatACommitCannotHoldIsReportedAndKept) {
  const std::string& work = workspace_.path;
  const std::map<std::string, std::string> obstacles{
      {"nested repository", "git init -q nested && echo x > nested/file"},
      {"nested repository with a commit",
       "git init -q n2 && git -C n2 -c user.name=a -c user.email=a commit -q --allow-empty -m x"},
      {"a .git that is none", "mkdir -p odd/.git && echo x > odd/.git/x"},
      {"a .git file", "mkdir odd && echo 'gitdir: /nowhere' > odd/.git"},
      {"a pipe", "mkfifo pipe"},
      {"a name that git refuses", "mkdir .GIT && echo x > .GIT/config"},
      {"files in a submodule", fmt::format("git update-index --add --cacheinfo 160000,{},sub && git -c user.name=a "
                                           "-c user.email=a commit -q -m sub && mkdir -p sub && echo x > sub/x",
                                           workspace_.base_commit)},
  };
  for (const auto& [what, command] : obstacles) {
    (void)shell(fmt::format("cd {} && {}", work, command));
    const ws::Saved kept = must(ws::remove(room_.root(), numbered_workspace(1)));
    EXPECT_FALSE(kept.saved) << what;
    EXPECT_FALSE(kept.why.empty()) << what;
    EXPECT_TRUE(fs::exists(work + "/README")) << what;
    (void)shell(fmt::format("cd {} && rm -rf nested n2 odd pipe .GIT sub", work));
  }
  EXPECT_TRUE(save().saved);
}

TEST_P(Save, UnreadableFilesAndFoldersAreKept) {
  const WithoutOverride limited;
  write_text(workspace_.path + "/secret/file", "x");
  ::chmod((workspace_.path + "/secret").c_str(), 0);
  EXPECT_FALSE(save().saved);
  ::chmod((workspace_.path + "/secret").c_str(), 0700);
  ::chmod((workspace_.path + "/secret/file").c_str(), 0);
  EXPECT_FALSE(save().saved);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Save, testing::Values(Kind::kClone, Kind::kWorktree), kind_of_test);

TEST(SaveOther, CommitsThatHeadDoesNotReachAreSavedToo) {
  const WorkspaceRoom room;
  const ws::Prepared workspace = room.prepare(1, Kind::kClone);
  const auto commit_on = [&](const std::string& where, const std::string& name) {
    (void)WorkspaceRoom::agent(workspace, "checkout -q " + where);
    write_text(workspace.path + "/" + name, name);
    WorkspaceRoom::commit_all(workspace, name);
    return WorkspaceRoom::agent(workspace, "rev-parse HEAD");
  };
  std::vector<std::string> commits{commit_on("-b one", "one"), commit_on("-b two origin/main", "two"),
                                   commit_on("--detach origin/main", "tagged")};
  (void)WorkspaceRoom::agent(workspace, "tag -a -m tag mine");
  (void)WorkspaceRoom::agent(workspace, "checkout -q " + task_branch(1));
  for (const char* text : {"first stash", "second stash"}) {
    write_text(workspace.path + "/README", text);
    (void)WorkspaceRoom::agent(workspace, "stash -q");
    commits.push_back(WorkspaceRoom::agent(workspace, "rev-parse refs/stash"));
  }
  (void)WorkspaceRoom::agent(workspace, "pack-refs --all");
  ASSERT_TRUE(must(ws::remove(room.root(), numbered_workspace(1))).saved);
  for (const std::string& commit : commits) EXPECT_EQ(room.git("merge-base " + commit + " " + saved_ref(1)), commit);
  EXPECT_TRUE(succeeds("git -C " + room.repo() + " fsck --strict"));
}

TEST(SaveOther, ADirectoryIsSavedInTheRootsOwnRepository) {
  const WorkspaceRoom room;
  const ws::Prepared workspace = room.prepare(1, Kind::kDirectory);
  EXPECT_EQ(must(ws::save(room.root(), numbered_workspace(1))).commit, "");
  write_text(workspace.path + "/report", "found\r\n");
  ASSERT_TRUE(must(ws::remove(room.root(), numbered_workspace(1))).saved);
  EXPECT_FALSE(fs::exists(workspace.path));
  EXPECT_EQ(files_of_commit(room.root() + "/saved.git", saved_ref(1), room.file("scratch")).at("report"),
            "100644 found\r\n");
  const ws::Prepared again = room.prepare(1, Kind::kDirectory);
  EXPECT_TRUE(fs::is_empty(again.path));
  (void)shell("git init -q " + again.path);
  EXPECT_FALSE(must(ws::remove(room.root(), numbered_workspace(1))).saved);
}

TEST(SaveOther, DamagedObjectsAreNotTakenForWork) {
  const WorkspaceRoom room;
  const ws::Prepared workspace = room.prepare(1, Kind::kClone);
  write_text(workspace.path + "/new", "true\n");
  WorkspaceRoom::commit_all(workspace, "one");
  const std::string blob = WorkspaceRoom::agent(workspace, "rev-parse HEAD:new");
  const std::string other = WorkspaceRoom::agent(workspace, "rev-parse HEAD^{tree}");
  const auto object = [&](const std::string& name) {
    return fmt::format("{}/.git/objects/{}/{}", workspace.path, name.substr(0, 2), name.substr(2));
  };
  (void)shell(fmt::format("cd {} && printf 'forged\\n' > /dev/null && chmod u+w {} && cp {} {}", workspace.path,
                          object(blob), object(other), object(blob)));
  EXPECT_EQ(code_of(ws::finish(room.root(), numbered_workspace(1))), ErrorCode::kWrongState);
  EXPECT_FALSE(must(ws::save(room.root(), numbered_workspace(1))).saved);
  EXPECT_TRUE(succeeds("git -C " + room.repo() + " fsck --strict"));
}

}  // namespace
}  // namespace drover::test
