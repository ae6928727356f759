// Steps that die at any point, alone or with the git that they started: the next one ends well.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/rng.h"
#include "base/unique_fd.h"
#include "unit/workspace/workspace_support.h"
#include "workspace/lock.h"
#include "workspace/step.h"

namespace drover::test {
namespace {

namespace fs = std::filesystem;

using ws::Kind;

constexpr int kLongMs = 30'000;

// This program as `drover workspace-step NAME`, in a process group of its own.
class StepProcess {
 public:
  StepProcess(const std::string& name, const std::string& request_file, const std::string& dies_at) {
    std::vector<std::string> environment{fmt::format("PATH={}", std::getenv("PATH")), "STEP_DIES_AT=" + dies_at};
    std::vector<char*> variables{environment[0].data(), dies_at.empty() ? nullptr : environment[1].data(), nullptr};
    std::string program = "/proc/self/exe";
    std::string verb = "workspace-step";
    std::string step = name;
    std::vector<char*> argv{program.data(), verb.data(), step.data(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    ::posix_spawn_file_actions_addopen(&actions, 0, request_file.c_str(), O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    const int error = ::posix_spawn(&pid_, program.c_str(), &actions, &attributes, argv.data(), variables.data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    if (error != 0) throw std::runtime_error("posix_spawn");
    pidfd_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  }

  // Whether it ends within the time.
  [[nodiscard]] bool ends_within(int ms) const {
    pollfd ended{pidfd_.get(), POLLIN, 0};
    return ::poll(&ended, 1, ms) == 1;
  }
  void kill_all() const { ::kill(-pid_, SIGKILL); }
  // Its exit code, or minus the signal that killed it.
  [[nodiscard]] int wait() const {
    EXPECT_TRUE(ends_within(kLongMs));
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
  UniqueFd pidfd_;
};

class Kill : public testing::TestWithParam<Kind> {
 protected:
  std::string request(int n) const {
    return fmt::format(R"({{"root":"{}","task_id":"{}","kind":"{}","repo":"{}","base":"main"}})", room_.root(),
                       numbered_workspace(n).to_string(), name_of(GetParam()), room_.repo());
  }
  StepProcess start(const std::string& step, int n, const std::string& failpoint = {}) {
    write_text(room_.file("request"), request(n));
    return {step, room_.file("request"), failpoint};
  }
  void expect_sound(int n) {
    EXPECT_EQ(start("prepare", n).wait(), 0);
    const auto workspace = must(ws::find(room_.root(), numbered_workspace(n)));
    EXPECT_EQ(read_text(workspace.path + "/README"), "one\ntwo\n");
    EXPECT_EQ(shell("git -C " + workspace.path + " status --porcelain"), "");
  }
  // Kills at the first, second, … passage until there is none; returns how many there were.
  template <class Before, class After>
  int kill_at_each(const std::string& step, const std::string& failpoint, Before before, After after) {
    for (int n = 1;; ++n) {
      const int task = ++task_;
      before(task);
      const int ended = start(step, task, fmt::format("{}:{}", failpoint, n)).wait();
      after(task);
      if (ended != -SIGKILL) {
        EXPECT_EQ(ended, 0);
        return n - 1;
      }
    }
  }
  void make_dirty(int n) {
    const ws::Prepared workspace = room_.prepare(n, GetParam());
    write_text(workspace.path + "/committed", "1\n");
    WorkspaceRoom::commit_all(workspace, "one");
    write_text(workspace.path + "/uncommitted", fmt::format("{}\n", n));
  }
  void expect_removed_and_saved(int n) {
    (void)must(ws::Lock::use(room_.root(), numbered_workspace(n)));  // once the git of the killed one has ended
    const int again = start("remove", n).wait();
    EXPECT_TRUE(again == 0 || again == 1);  // 1: the killed one had deleted everything
    EXPECT_FALSE(ws::find(room_.root(), numbered_workspace(n)));
    EXPECT_EQ(room_.git("show " + saved_ref(n) + ":uncommitted"), std::to_string(n));
    EXPECT_FALSE(room_.git("worktree list").contains(numbered_workspace(n).to_string()));
  }
  void TearDown() override {
    EXPECT_TRUE(succeeds("git -C " + room_.repo() + " fsck --strict"));
    EXPECT_EQ(room_.fingerprint(), before_);
    for (const auto& entry : fs::directory_iterator(room_.root())) {
      EXPECT_FALSE(entry.path().extension() == ".new" || entry.path().extension() == ".gone") << entry.path();
    }
  }

  WorkspaceRoom room_;
  std::string before_ = room_.fingerprint();
  int task_ = 0;
};

TEST_P(Kill, PrepareAtEveryStep) {
  const auto nothing = [](int) {};
  const auto sound = [this](int n) { expect_sound(n); };
  EXPECT_GE(kill_at_each("prepare", "workspace.git", nothing, sound), 6);
  EXPECT_GE(kill_at_each("prepare", "workspace.git_runs", nothing, sound), 6);
  EXPECT_EQ(kill_at_each("prepare", "workspace.rename", nothing, sound), 1);
}

TEST_P(Kill, RemoveAtEveryStep) {
  const auto dirty = [this](int n) { make_dirty(n); };
  const auto saved = [this](int n) { expect_removed_and_saved(n); };
  EXPECT_GE(kill_at_each("remove", "workspace.git_runs", dirty, saved), 6);
  for (const char* point : {"workspace.saved", "workspace.remove", "workspace.erase"})
    EXPECT_EQ(kill_at_each("remove", point, dirty, saved), 1) << point;
}

TEST_P(Kill, PrepareAndRemoveWithTheirGitAtRandomTimes) {
  constexpr std::uint64_t kSeed = 18;
  SeededRng rng(kSeed);
  for (int i = 0; i < 10; ++i) {
    const int task = ++task_;
    const StepProcess preparing = start("prepare", task);
    if (!preparing.ends_within(static_cast<int>(rng.below(80)))) preparing.kill_all();
    (void)preparing.wait();
    expect_sound(task);
    make_dirty(task);
    const StepProcess removing = start("remove", task);
    if (!removing.ends_within(static_cast<int>(rng.below(150)))) removing.kill_all();
    (void)removing.wait();
    expect_removed_and_saved(task);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Kill, testing::Values(Kind::kClone, Kind::kWorktree), kind_of_test);

TEST(Step, AnswersInJson) {
  const WorkspaceRoom room;
  const auto request = [&](const std::string& more) {
    return fmt::format(R"({{"root":"{}","task_id":"{}"{}}})", room.root(), numbered_workspace(1).to_string(), more);
  };
  const std::string clone = fmt::format(R"(,"kind":"clone","repo":"{}")", room.repo());
  const std::string base = room.commit_of("main");
  const std::string path =
      fs::weakly_canonical(room.root()).string() + "/" + numbered_workspace(1).to_string() + "/work";
  const auto prepared = ws::run_step("prepare", request(clone));
  EXPECT_EQ(prepared.exit_code, 0);
  EXPECT_EQ(
      prepared.json,
      fmt::format(R"({{"path":"{}","branch":"{}","base_commit":"{}","reused":false,"set_up":false,"begun":false}})",
                  path, task_branch(1), base));
  EXPECT_EQ(ws::run_step("set-up", request("")).json, "{}");
  EXPECT_TRUE(ws::run_step("prepare", request(clone)).json.ends_with(R"("reused":true,"set_up":true,"begun":false})"));
  EXPECT_EQ(
      ws::run_step("finish", request("")).json,
      fmt::format(
          R"({{"branch":"{}","head":"{}","commits":0,"files":0,"insertions":0,"deletions":0,"uncommitted_files":0}})",
          task_branch(1), base));
  EXPECT_EQ(ws::run_step("inspect", request(R"(,"argv":["README"])")).json,
            fmt::format(R"({{"commit":"{}","changed":[]}})", base));
  (void)shell("git init -q " + path + "/nested");
  EXPECT_EQ(ws::run_step("remove", request("")).json,
            R"({"saved":false,"why":"\"nested\" is a repository of its own","commit":""})");
}

TEST(Step, ItsExitCodeTellsWhoseFaultItIs) {
  const WorkspaceRoom room;
  const auto request = [&](const std::string& repo, const std::string& base) {
    return fmt::format(R"({{"root":"{}","task_id":"{}","kind":"clone","repo":"{}","base":"{}"}})", room.root(),
                       numbered_workspace(1).to_string(), repo, base);
  };
  const auto refused = ws::run_step("prepare", request(room.repo(), "--upload-pack=x"));
  EXPECT_EQ(refused.exit_code, 65);
  EXPECT_TRUE(
      refused.json.starts_with(R"({"code":"invalid_argument","message":"base: \"--upload-pack=x\" is not the name)"));
  EXPECT_EQ(ws::run_step("prepare", request("/nowhere", "main")).exit_code, 1);
  EXPECT_EQ(ws::run_step("prepare", "{}").exit_code, 1);
  EXPECT_EQ(ws::run_step("prepare", R"({"surprise":1})").exit_code, 1);
  EXPECT_EQ(ws::run_step("dance", request(room.repo(), "main")).exit_code, 2);
}

}  // namespace
}  // namespace drover::test
