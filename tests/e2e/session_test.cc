// Sessions with real workers: one task at a time whoever dies, the same agent goes on, and what it is told comes once.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "e2e/agent_fixture.h"
#include "support/redis_server.h"

namespace drover::e2e {
namespace {

enum class SessionStore : std::uint8_t { kSandbox, kRedis };

class SessionTest : public AgentFixture, public testing::WithParamInterface<SessionStore> {
 protected:
  SessionTest() {
    if (GetParam() != SessionStore::kRedis) return;
    redis_.emplace();
    sandbox.set("DROVER_STORE", redis_->tcp_url());
  }

  [[nodiscard]] std::string prompt_of_run(const std::string& prompt, Arguments more = {}) {
    more.insert(more.end(), {"--session", "reviewer"});
    const json::Value task = after_work("do: prompt\n" + prompt, std::move(more));
    EXPECT_EQ(at(task, "state"), "completed") << at(task, "error");
    return at(task, "result");
  }

  // All that happened, oldest first.
  [[nodiscard]] std::vector<json::Value> all_events() const {
    std::vector<json::Value> events;
    std::istringstream lines(sandbox.must({"events", "--after", "0", "--json"}));
    for (std::string line; std::getline(lines, line);) {
      if (auto event = json::parse(line)) events.push_back(*std::move(event));
    }
    return events;
  }

  std::optional<test::RedisServer> redis_;
};
INSTANTIATE_TEST_SUITE_P(Stores, SessionTest, testing::Values(SessionStore::kSandbox, SessionStore::kRedis),
                         [](const auto& test) { return test.param == SessionStore::kRedis ? "redis" : "sandbox"; });

// Each run leaves a mark while it lives; one that finds another's has seen two at once.
constexpr std::string_view kOneAtATime = R"(#!/bin/sh
folder=$1
if ! mkdir "$folder/live.$DROVER_TASK_ID" 2>/dev/null; then :; fi
set -- "$folder"/live.*
for mark in "$@"; do
  case $mark in *.$DROVER_TASK_ID) ;; *) owner=$(cat "$mark/pid" 2>/dev/null); [ -n "$owner" ] && kill -0 "$owner" 2>/dev/null && echo "$mark" >> "$folder/overlaps" ;; esac
done
echo $$ > "$folder/live.$DROVER_TASK_ID/pid"
sleep 0.3
rm -rf "$folder/live.$DROVER_TASK_ID"
)";

TEST_P(SessionTest, TenTasksNeverTwoAtOnceWhileWorkersAreKilled) {
  constexpr int kTasks = 10;
  constexpr int kWorkers = 3;
  sandbox.write_file("one.sh", kOneAtATime);
  std::vector<std::string> ids;
  for (int i = 0; i < kTasks; ++i) {
    ids.push_back(sandbox.enqueue({"work", "--session", "reviewer", "--owner", "ann"}));
  }
  const auto start = [&] {
    return sandbox.start(
        work("work", {"sh", sandbox.file("one.sh"), sandbox.folder().string()}, {"--concurrency", "4"}));
  };
  EventStream events = sandbox.events();
  std::vector<std::unique_ptr<Process>> workers;
  for (int i = 0; i < kWorkers; ++i) workers.push_back(start());
  // Whoever has just begun one of these dies.
  for (const std::size_t victim : {1U, 4U, 7U}) {
    const auto claimed = events.next("task.claimed", ids[victim]);
    ASSERT_TRUE(claimed) << victim;
    for (std::unique_ptr<Process>& worker : workers) {
      if (!contains(at(*claimed, "data"), fmt::format(":{}:", worker->pid()))) continue;
      worker->signal(SIGKILL);
      worker = start();
      break;
    }
  }
  for (const std::string& id : ids) {
    const Outcome waited = sandbox.drover({"wait", id}, {}, Millis{60'000});
    EXPECT_EQ(waited.exit_code, 0) << waited.err;
  }
  EXPECT_FALSE(std::filesystem::exists(sandbox.file("overlaps")));
  // As the events tell it, and in the order in which they came.
  std::optional<std::string> running;
  std::vector<std::string> first_runs;
  for (const json::Value& event : all_events()) {
    const std::string task = at(event, "task_id");
    const std::string name = at(event, "name");
    if (name == "task.claimed") {
      EXPECT_TRUE(!running || *running == task) << task << " starts while " << running.value_or("") << " runs";
      running = task;
      if (at(event, "run") == "1") first_runs.push_back(task);
    } else if (running == task && at(event, "state") != "running") {
      running.reset();
    }
  }
  EXPECT_EQ(first_runs, ids);
  const json::Value session = sandbox.must_json({"session", "show", "reviewer", "--owner", "ann", "--json"});
  EXPECT_EQ(at(session, "state"), "warm");
  EXPECT_EQ(at(session, "tasks"), "[]");
}

TEST_P(SessionTest, TheSameAgentGoesOnAndIsToldOnce) {
  sandbox.write_file("drover.yaml",
                     "sessions:\n  reviewer: {preflight: \"You review.\", idle: 30m}\n"
                     "local:\n  runners:\n    fix: {preset: claude}\n");
  sandbox.must({"trust", "drover.yaml"});
  sandbox.must({"config", "apply", "drover.yaml"});
  const std::string first = prompt_of_run("One.", {"--bootstrap", "api=Know the API."});
  EXPECT_TRUE(contains(first, "You review."));
  EXPECT_TRUE(contains(first, "Know the API."));
  const std::string session = at(*sandbox.show(id_).find("agent"), "session_id");
  const std::string second = prompt_of_run("Two.", {"--bootstrap", "api=Know the API."});
  EXPECT_FALSE(contains(second, "You review."));
  EXPECT_FALSE(contains(second, "Know the API."));
  EXPECT_TRUE(contains(second, "Two."));
  EXPECT_EQ(at(*sandbox.show(id_).find("agent"), "resumed"), "true");
  EXPECT_EQ(at(*sandbox.show(id_).find("agent"), "session_id"), session);
  const std::string third = prompt_of_run("Three.", {"--bootstrap", "web=Know the web."});
  EXPECT_FALSE(contains(third, "You review."));
  EXPECT_TRUE(contains(third, "Know the web."));
  // An agent that has lost its session begins afresh inside the attempt, and is told everything.
  std::filesystem::remove_all(sandbox.file(".fake_agent"));
  const std::string fourth = prompt_of_run("Four.", {"--bootstrap", "api=Know the API."});
  EXPECT_TRUE(contains(fourth, "You review."));
  EXPECT_TRUE(contains(fourth, "Know the API."));
  EXPECT_EQ(at(sandbox.show(id_), "attempts"), "1");
  const json::Value shown = sandbox.must_json({"session", "show", "reviewer", "--json"});
  EXPECT_EQ(at(shown, "bootstrap_keys"), R"(["api"])");
  EXPECT_EQ(at(shown, "state"), "warm");
}

}  // namespace
}  // namespace drover::e2e
