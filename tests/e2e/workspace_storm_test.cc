// Forty tasks over forty workspaces of one repository, while workers are killed again and again: every task ends, and
// the work of each is in its branch.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <iostream>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "e2e/e2e_test.h"
#include "e2e/git_repo.h"
#include "worker/process_tree.h"

namespace drover::e2e {
namespace {

constexpr int kTasks = 40;
constexpr int kWorkers = 8;
constexpr int kSteps = 4;
constexpr Millis kTick{1'000};
constexpr Millis kBound{150'000};  // on a busy machine; alone it takes a fifth of that

// Commits step by step, and goes on where the last run was killed. What it leaves uncommitted must not get lost either.
constexpr const char* kAgent = R"(#!/bin/sh
set -e
agent="git -c user.name=agent -c user.email=agent@example.org"
echo "$DROVER_RUN" >> runs.log
for step in 1 2 3 4; do
  test -e $step.txt || echo "$DROVER_TASK_ID $step" > $step.txt
  git add $step.txt
  git diff --cached --quiet || $agent commit -q -m "step $step"
  sleep 0.2
done
echo '"done"'
)";

class WorkspaceStormTest : public E2eTest {
 protected:
  WorkspaceStormTest() : repo(sandbox.file("site")) {
    sandbox.write_file("agent", kAgent);
    std::filesystem::permissions(sandbox.file("agent"), std::filesystem::perms::owner_all);
    sandbox.write_file("drover.yaml", fmt::format("local:\n  repos: {{site: {{path: {}}}}}\n  runners:\n"
                                                  "    storm: {{argv: [{}], workspace: {{repo: site}}}}\n",
                                                  repo.path(), sandbox.file("agent")));
    sandbox.must({"trust", "drover.yaml"});
  }
  void enqueue_all() {
    std::string batch;
    for (int i = 0; i < kTasks; ++i)
      batch += "{\"type\":\"storm\",\"max_stalls\":1000,\"max_attempts\":5,\"retry\":\"fixed:10ms\"}\n";
    sandbox.must({"enqueue", "--batch", "-"}, batch);
  }
  std::unique_ptr<Process> start_worker() {
    return sandbox.start({"work", "--type", "storm", "--lease", "1500ms", "--heartbeat", "200ms"});
  }
  [[nodiscard]] std::size_t count(const std::string& states) const {
    return sandbox.must_json({"list", "--json", "--state", states, "--limit", "1000"}).as_array()->size();
  }
  void expect_work_of(const json::Value& task) {
    const std::string id = at(task, "id");
    ASSERT_EQ(at(task, "state"), "completed") << id << ": " << at(task, "error");
    for (int step = 1; step <= kSteps; ++step) {
      EXPECT_EQ(repo.git(fmt::format("show refs/heads/drover/{}:{}.txt", id, step)), fmt::format("{} {}", id, step));
    }
    EXPECT_EQ(repo.git(fmt::format("rev-list --count main..refs/heads/drover/{}", id)), std::to_string(kSteps));
  }

  GitRepo repo;
};

TEST_F(WorkspaceStormTest, KilledWorkersLoseNoWork) {
  SeededRng rng(40);
  enqueue_all();
  std::vector<std::unique_ptr<Process>> workers;
  for (int i = 0; i < kWorkers; ++i) workers.push_back(start_worker());
  const Millis started = mono_now();
  int kills = 0;
  while (count("completed,failed,cancelled") < kTasks) {
    ASSERT_LT(mono_now() - started, kBound) << count("completed") << " completed";
    auto& victim = workers[rng.below(workers.size())];
    if (victim->wait(kTick)) ADD_FAILURE() << "a worker gave up: " << victim->errors();
    DeathWatch tree(descendants_of(victim->pid()));
    victim->signal(SIGKILL);
    EXPECT_TRUE(tree.all_dead(Millis{5'000})) << "what the worker had started outlived it";
    victim = start_worker();
    ++kills;
  }
  std::cout << fmt::format("{} tasks, {} kills, {:.1f} s\n", kTasks, kills,
                           std::chrono::duration<double>(mono_now() - started).count());
  EXPECT_GE(kills, 3);
  const json::Value tasks = sandbox.must_json({"list", "--json", "--limit", "1000"});
  for (const json::Value& task : *tasks.as_array()) expect_work_of(task);
  // Completed: each goes once everything in it is saved, also what no commit of the agent has.
  const auto is_empty = [&] { return sandbox.must({"workspace", "list", "--json"}) == "[]\n"; };
  const Millis end = mono_now() + kHangs;
  while (!is_empty() && mono_now() < end) (void)workers.front()->wait(Millis{100});
  EXPECT_TRUE(is_empty()) << workers.front()->errors();
  EXPECT_EQ(std::stoi(repo.git("for-each-ref refs/drover | wc -l")), kTasks);
  for (const json::Value& task : *tasks.as_array())
    EXPECT_NE(repo.git(fmt::format("show refs/drover/{}:runs.log", at(task, "id"))), "");
  EXPECT_EQ(repo.git("fsck --strict --no-dangling"), "");
}

}  // namespace
}  // namespace drover::e2e
