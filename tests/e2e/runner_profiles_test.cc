// What a worker claims by its profiles: only what it can run, and no more of it than they allow.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "e2e/e2e_test.h"

namespace drover::e2e {
namespace {

class RunnerProfilesTest : public E2eTest {
 protected:
  // drover.yaml with these lines under local.runners, trusted.
  void write_runners(const std::string& runners) {
    sandbox.write_file("drover.yaml", "local:\n  runners:\n" + runners);
    sandbox.must({"trust", "drover.yaml"});
  }
  Arguments serve_shared(const Arguments& more = {}) const {
    Arguments arguments{"work", "--queue", "shared"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
};

TEST_F(RunnerProfilesTest, AWorkerTakesNoTypeThatItHasNoRunnerFor) {
  write_runners("    mine: {argv: [\"/bin/true\"]}\n");
  const std::string other = sandbox.enqueue({"other", "--queue", "shared", "--priority", "1"});
  const std::string mine = sandbox.enqueue({"mine", "--queue", "shared"});
  const Outcome outcome = sandbox.drover(serve_shared({"--until-empty"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(sandbox.state_of(mine), "completed");
  const json::Value left = sandbox.show(other);
  EXPECT_EQ(at(left, "state"), "pending");
  EXPECT_EQ(at(left, "run"), "0") << "it was never claimed";
}

// Each agent fails if another of its type runs, and needs others of the other type to meet it.
TEST_F(RunnerProfilesTest, AProfilesConcurrencyLimitsItsTypeOnly) {
  write_runners(
      "    one: {argv: [\"/bin/sh\", \"-c\", \"mkdir one && sleep 0.1 && rmdir one\"], concurrency: 1}\n"
      "    many: {argv: [\"/bin/sh\", \"-c\", \"sleep 0.1\"], concurrency: 3}\n");
  std::vector<std::string> ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(sandbox.enqueue({"one", "--queue", "shared", "--max-attempts", "1"}));
    ids.push_back(sandbox.enqueue({"many", "--queue", "shared", "--max-attempts", "1"}));
  }
  const Outcome outcome = sandbox.drover(serve_shared({"--until-empty"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, R"("concurrency":"4")")) << "the sum of the profiles";
  for (const std::string& id : ids) EXPECT_EQ(sandbox.state_of(id), "completed");
}

TEST_F(RunnerProfilesTest, AProfileWithoutItsProgramIsRefusedAtTheStart) {
  write_runners("    work: {argv: [\"./nosuch\"]}\n");
  const std::string id = sandbox.enqueue({"work"});
  for (const Arguments& command : {Arguments{"work", "--type", "work"}, serve_shared()}) {
    const Outcome outcome = sandbox.drover(command);
    expect_refused(outcome, 1, "invalid_argument");
    EXPECT_TRUE(contains(outcome.err, "cannot find the program ./nosuch"));
    EXPECT_TRUE(contains(outcome.err, "local.runners.work.argv"));
  }
  if (!sandbox.is_served()) {
    const Outcome up = sandbox.drover({"up", "--listen", "127.0.0.1:0"});
    EXPECT_EQ(up.exit_code, 1);
    EXPECT_TRUE(contains(up.err, "cannot find the program ./nosuch"));
  }
  EXPECT_TRUE(contains(sandbox.drover({"doctor"}).out, "./nosuch is not found"));
  EXPECT_EQ(at(sandbox.show(id), "run"), "0");
}

TEST_F(RunnerProfilesTest, AProgramThatGoesMissingIsToldAndTakenUpAgain) {
  EventStream events = sandbox.events();
  sandbox.write_file("agent", "#!/bin/sh\nexec true\n");
  std::filesystem::permissions(sandbox.file("agent"), std::filesystem::perms::owner_all);
  const auto worker = sandbox.start(work("work", {sandbox.file("agent")}));
  const std::string first = sandbox.enqueue({"work"});
  ASSERT_TRUE(events.next("task.completed", first));
  std::filesystem::remove(sandbox.file("agent"));
  const std::string second = sandbox.enqueue({"work"});
  ASSERT_TRUE(events.next("task.released", second));
  const Millis end = mono_now() + kHangs;
  while (!contains(sandbox.drover({"worker", "list", "--json"}).out, "No such file or directory"))
    ASSERT_LT(mono_now(), end);
  EXPECT_TRUE(contains(sandbox.drover({"explain", second}).out, "No such file or directory"));
  EXPECT_EQ(at(sandbox.show(second), "attempts"), "0");

  sandbox.write_file("agent", "#!/bin/sh\nexec true\n");
  std::filesystem::permissions(sandbox.file("agent"), std::filesystem::perms::owner_all);
  ASSERT_TRUE(events.next("task.completed", second));
  EXPECT_EQ(at(sandbox.show(second), "attempts"), "1");
}

TEST_F(RunnerProfilesTest, WithoutDescriptorsClaimsPauseAndNoTaskIsSpent) {
  EventStream events = sandbox.events();
  const auto worker = sandbox.start(work("work", {"/bin/sh", "-c", "sleep 0.05"}, {"--concurrency", "20"}));
  const std::string probe = sandbox.enqueue({"work"});
  ASSERT_TRUE(events.next("task.completed", probe));
  const rlimit few{40, 40};
  ASSERT_EQ(::prlimit(worker->pid(), RLIMIT_NOFILE, &few, nullptr), 0);
  std::string batch;
  for (int i = 0; i < 60; ++i) batch += "{\"type\":\"work\"}\n";
  std::istringstream ids(sandbox.must({"enqueue", "--batch", "-"}, batch));
  for (std::string id; std::getline(ids, id);) {
    ASSERT_EQ(sandbox.drover({"wait", id}).exit_code, 0) << worker->errors();
    const json::Value task = sandbox.show(id);
    EXPECT_EQ(at(task, "state"), "completed");
    EXPECT_EQ(at(task, "attempts"), "1");
  }
  EXPECT_TRUE(contains(worker->errors(), "Too many open files (limit 40)"));
}

// Everything as a user whom a limit of processes holds, which root is not.
class ProcessLimitTest : public E2eTest {
 protected:
  static constexpr uid_t kNobody = 65'534;
  static constexpr int kProcesses = 40;  // more than a worker's threads, a shim and an agent need

  ProcessLimitTest() {
    std::filesystem::copy_file(DROVER_BIN, sandbox.file("drover"));
    if (::geteuid() != 0) return;
    give_away(sandbox.folder());
    constexpr std::string_view kUnix = "redis+unix://";
    if (const std::string& url = sandbox.store_url(); url.starts_with(kUnix)) {
      const std::filesystem::path socket(url.substr(kUnix.size(), url.find('?') - kUnix.size()));
      give_away(socket);
      give_away(socket.parent_path());
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(sandbox.folder())) give_away(entry.path());
  }
  static void give_away(const std::filesystem::path& path) {
    if (::lchown(path.c_str(), kNobody, kNobody) != 0) throw std::runtime_error("chown " + path.string());
  }
  // Threads and processes that the user has already.
  static int in_use() {
    const uid_t user = ::geteuid() == 0 ? kNobody : ::geteuid();
    int count = 0;
    std::error_code gone;
    for (const auto& process : std::filesystem::directory_iterator("/proc")) {
      struct stat info{};
      if (::stat(process.path().c_str(), &info) != 0 || info.st_uid != user) continue;
      for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator(process.path() / "task", gone))
        ++count;
    }
    return count;
  }
  Command limited(const Arguments& arguments) const {
    Command command{.argv = {}, .environment = sandbox.environment(), .folder = sandbox.folder(), .input = {}};
    if (::geteuid() == 0) {
      command.argv = {"/usr/bin/setpriv", fmt::format("--reuid={}", kNobody), fmt::format("--regid={}", kNobody),
                      "--clear-groups"};
    }
    command.argv.insert(command.argv.end(), {"/usr/bin/env", "prlimit",
                                             fmt::format("--nproc={}", in_use() + kProcesses), sandbox.file("drover")});
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    return command;
  }
  std::string enqueue(const std::string& payload) const {
    const Outcome outcome =
        run_to_end(limited({"enqueue", "work", "--payload", payload, "--max-attempts", "1"}), kHangs);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out.substr(0, outcome.out.find('\n'));
  }
};

TEST_F(ProcessLimitTest, AWorkerOutlivesAForkBomb) {
  const std::string bomb = enqueue("\"bomb\"");
  std::vector<std::string> others;
  for (int i = 0; i < 10; ++i) others.push_back(enqueue(std::to_string(i)));
  Process worker(limited(work("work",
                              {"/bin/sh", "-c",
                               "read payload; case $payload in *bomb*) i=0; while [ $i -lt 200 ]; do sleep 1 & "
                               "i=$((i+1)); done; wait;; esac; echo 1"},
                              {"--concurrency", "4"})));
  for (const std::string& id : others) {
    EXPECT_EQ(run_to_end(limited({"wait", id}), kHangs).exit_code, 0) << worker.errors();
  }
  EXPECT_NE(run_to_end(limited({"wait", bomb}), kHangs).exit_code, 124);
  EXPECT_EQ(worker.wait(Millis{0}), std::nullopt) << worker.errors();
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(kHangs), (Exit{.code = 0, .signal = {}})) << worker.errors();
}

}  // namespace
}  // namespace drover::e2e
