#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "unit/workspace/workspace_support.h"
#include "workspace/lock.h"
#include "workspace/step.h"

namespace drover::test {
namespace {

namespace fs = std::filesystem;

using std::chrono::hours;
using ws::Fate;
using ws::Kind;

Time now_plus(Millis later) {
  return std::chrono::floor<Millis>(std::chrono::system_clock::now()) + later;
}

const ws::KeepPolicy kWeek{.completed = Millis{0}, .failed = hours(7 * 24), .bytes_max = 1 << 30};

class Reap : public testing::Test {
 protected:
  void make(int n, Kind kind, Fate fate, std::size_t bytes = 10) {
    const ws::Prepared workspace = room_.prepare(n, kind);
    write_text(workspace.path + "/new", std::string(bytes, 'x'));
    fates_[numbered_workspace(n)] = fate;
  }
  ws::Reaped reap(Time now, const ws::KeepPolicy& policy = kWeek) {
    return must(ws::reap(room_.root(), policy, now, [&](const TaskId& task) {
      const auto fate = fates_.find(task);
      return fate != fates_.end() ? std::optional(fate->second) : std::nullopt;
    }));
  }
  bool is_there(int n) { return ws::find(room_.root(), numbered_workspace(n)).has_value(); }

  WorkspaceRoom room_;
  std::map<TaskId, Fate> fates_;
};

TEST_F(Reap, ListsWhatIsThere) {
  EXPECT_TRUE(must(ws::list(room_.root())).empty());
  make(2, Kind::kWorktree, Fate::kCompleted);
  make(1, Kind::kClone, Fate::kCompleted, 1'000'000);
  const auto all = must(ws::list(room_.root()));
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].task, numbered_workspace(1));
  EXPECT_EQ(all[0].kind, Kind::kClone);
  EXPECT_EQ(all[0].branch, task_branch(1));
  EXPECT_EQ(all[0].repo, fs::canonical(room_.repo()).string());
  EXPECT_GE(all[0].bytes, 1'000'000);
  EXPECT_LT(all[1].bytes, 1'000'000);
  EXPECT_LE(all[0].used_at, now_plus(Millis{1}));
  EXPECT_GE(all[0].used_at, now_plus(-hours(1)));
}

TEST_F(Reap, RemovesWhatWasKeptLongEnough) {
  make(1, Kind::kClone, Fate::kCompleted);
  make(2, Kind::kWorktree, Fate::kFailed);
  make(3, Kind::kClone, Fate::kUnfinished);
  make(4, Kind::kDirectory, Fate::kCompleted);
  EXPECT_EQ(reap(now_plus(Millis{1'000})).removed, (std::vector{numbered_workspace(1), numbered_workspace(4)}));
  EXPECT_EQ(reap(now_plus(hours(8 * 24))).removed, std::vector{numbered_workspace(2)});
  EXPECT_TRUE(is_there(3));
  for (const int n : {1, 2}) EXPECT_EQ(room_.git("show " + saved_ref(n) + ":new"), "xxxxxxxxxx");
  EXPECT_FALSE(room_.git("worktree list").contains(numbered_workspace(2).to_string()));
  EXPECT_FALSE(fs::exists(room_.root() + "/" + numbered_workspace(1).to_string() + ".lock"));
}

TEST_F(Reap, RemovesTheOldestUntilTheRestFits) {
  for (const int n : {1, 2, 3}) make(n, Kind::kClone, n == 2 ? Fate::kUnfinished : Fate::kFailed, 1'000'000);
  const ws::Reaped reaped =
      reap(now_plus(Millis{1'000}), {.completed = {}, .failed = hours(24), .bytes_max = 2'800'000});
  EXPECT_EQ(reaped.removed, std::vector{numbered_workspace(1)});
  EXPECT_LE(reaped.bytes, 2'800'000);
  EXPECT_TRUE(is_there(2) && is_there(3));
}

TEST_F(Reap, WhatHasNoFateIsNotLookedAt) {
  make(1, Kind::kClone, Fate::kCompleted);
  fates_.clear();
  const ws::Reaped reaped = reap(now_plus(hours(1'000)), {.completed = {}, .failed = {}, .bytes_max = 0});
  EXPECT_TRUE(reaped.removed.empty() && reaped.kept.empty());
  EXPECT_EQ(reaped.bytes, 0);
  EXPECT_TRUE(is_there(1));
}

TEST_F(Reap, TheStepIsToldTheFates) {
  make(1, Kind::kClone, Fate::kCompleted);
  make(2, Kind::kClone, Fate::kFailed);
  make(3, Kind::kClone, Fate::kUnfinished);
  const std::string one = numbered_workspace(1).to_string();
  const auto step = [&](const std::string& failed) {
    return ws::run_step("reap",
                        fmt::format(R"({{"root":"{}","completed_ms":0,"failed_ms":3600000,"bytes_max":1000000000,)"
                                    R"("completed":["{}"],"failed":{},"unfinished":["{}"]}})",
                                    room_.root(), one, failed, numbered_workspace(3).to_string()));
  };
  const auto reaped = step(fmt::format(R"(["{}"])", numbered_workspace(2).to_string()));
  EXPECT_EQ(reaped.exit_code, 0);
  EXPECT_TRUE(reaped.json.starts_with(fmt::format(R"({{"removed":["{}"],"kept":[],"bytes":)", one))) << reaped.json;
  EXPECT_FALSE(is_there(1));
  EXPECT_TRUE(is_there(2) && is_there(3));
  for (const char* wrong : {"{}", "1", R"(["x"])"}) EXPECT_EQ(step(wrong).exit_code, 1) << wrong;
}

TEST_F(Reap, OneThatIsInUseStays) {
  make(1, Kind::kClone, Fate::kCompleted);
  {
    const auto lock = must(ws::Lock::use(room_.root(), numbered_workspace(1)));
    EXPECT_EQ(code_of(ws::remove(room_.root(), numbered_workspace(1))), ErrorCode::kWrongState);
    EXPECT_EQ(reap(now_plus(hours(1))).kept.size(), 1U);
    (void)must(ws::finish(room_.root(), numbered_workspace(1)));  // a step of the run that uses it
  }
  EXPECT_EQ(reap(now_plus(hours(1))).removed.size(), 1U);
  EXPECT_EQ(code_of(ws::remove(room_.root(), numbered_workspace(1))), ErrorCode::kNotFound);
}

TEST_F(Reap, ReportsWhatItCannotSave) {
  make(1, Kind::kClone, Fate::kCompleted);
  (void)shell(fmt::format("mkdir -p {0}/nested && git init -q {0}/nested",
                          must(ws::find(room_.root(), numbered_workspace(1))).path));
  const ws::Reaped reaped = reap(now_plus(hours(1)));
  ASSERT_EQ(reaped.kept.size(), 1U);
  EXPECT_EQ(reaped.kept[0].why, "\"nested\" is a repository of its own");
  EXPECT_TRUE(is_there(1));
}

TEST_F(Reap, LocksOfRefusedTasksGo) {
  make(1, Kind::kClone, Fate::kUnfinished);
  EXPECT_FALSE(ws::prepare(room_.request(2, Kind::kClone, "nothing")));
  const std::string lock = room_.root() + "/" + numbered_workspace(2).to_string() + ".lock";
  EXPECT_TRUE(fs::exists(lock));
  (void)reap(now_plus(hours(1)));
  EXPECT_FALSE(fs::exists(lock));
}

TEST_F(Reap, WhatAKilledStepLeftGoesAlthoughItsTaskNeverReturns) {
  make(1, Kind::kWorktree, Fate::kCompleted);
  const std::string folder = room_.root() + "/" + numbered_workspace(1).to_string();
  fs::rename(folder, folder + ".gone");
  EXPECT_TRUE(reap(now_plus(hours(1))).removed.empty());
  EXPECT_FALSE(fs::exists(folder + ".gone"));
  EXPECT_FALSE(fs::exists(folder + ".lock"));
  EXPECT_FALSE(room_.git("worktree list").contains(numbered_workspace(1).to_string()));
}

TEST_F(Reap, ADiffShowsWhatIsCommittedAndWhatIsNot) {
  const ws::Prepared workspace = room_.prepare(1, Kind::kClone);
  write_text(workspace.path + "/committed", "in a commit\n");
  WorkspaceRoom::commit_all(workspace, "one");
  write_text(workspace.path + "/README", "changed\n");
  write_text(workspace.path + "/untracked", "in no commit\n");
  write_text(workspace.path + "/ignored", "left out\n");
  const std::string patch = must(ws::diff(room_.root(), numbered_workspace(1)));
  for (const char* line : {"+in a commit", "+in no commit", "+changed", "-one"})
    EXPECT_TRUE(patch.contains(line)) << patch;
  EXPECT_FALSE(patch.contains("left out"));
  const ws::Prepared directory = room_.prepare(2, Kind::kDirectory);
  write_text(directory.path + "/file", "text\n");
  EXPECT_TRUE(must(ws::diff(room_.root(), numbered_workspace(2))).contains("+text"));
}

}  // namespace
}  // namespace drover::test
