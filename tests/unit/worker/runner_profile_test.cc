#include "worker/runner_profile.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "unit/worker/fake_queue.h"

namespace drover::test {
namespace {

using Environment = std::vector<std::string>;

bool has(const Environment& environment, const std::string& variable) {
  return std::ranges::find(environment, variable) != environment.end();
}

TEST(AgentEnvironment, TakesOnlyWhatIsAllowed) {
  const Environment worker{"PATH=/bin",   "HOME=/h",      "LC_ALL=C", "LC_TIME=x", "AWS_SECRET=1",          "KEY=k",
                           "PATHOLOGY=x", "DROVER_RUN=9", "TZ=UTC",   "=odd",      "DROVER_STORE=redis://x"};
  Task task = numbered_task(1).task;
  task.run = 4;
  task.attempts = 3;
  const Environment agent = agent_environment(worker, {{"x"}, {"KEY", "MISSING", "DROVER_URL"}}, task, "/run/door");
  for (const char* expected :
       {"PATH=/bin", "HOME=/h", "LC_ALL=C", "LC_TIME=x", "KEY=k", "TZ=UTC", "DROVER_RUN=4", "DROVER_ATTEMPT=3",
        "DROVER_URL=unix:/run/door", "DROVER_TASK_ID=01000000-0000-0000-0000-000000000001"}) {
    EXPECT_TRUE(has(agent, expected)) << expected;
  }
  EXPECT_EQ(agent.size(), 11U) << "and the trace, but nothing else";
}

TEST(AgentEnvironment, TheTraceIsTheTasksOwnOrMadeFromItsId) {
  Task task = numbered_task(1).task;
  const Environment made = agent_environment({}, {}, task, "/d");
  EXPECT_TRUE(made.back().starts_with("TRACEPARENT=00-01000000000000000000000000000001-")) << made.back();
  EXPECT_EQ(made.back().size(), std::string("TRACEPARENT=").size() + 55);
  task.traceparent = "00-aa-bb-01";
  EXPECT_EQ(agent_environment({}, {}, task, "/d").back(), "TRACEPARENT=00-aa-bb-01");
}

TEST(Runners, ATypesOwnProfileIsFirst) {
  const Runners runners{.for_all = RunnerProfile{{"any"}, {}}, .by_type = {{"a", RunnerProfile{{"for-a"}, {}}}}};
  EXPECT_EQ(runners.find("a")->argv, std::vector<std::string>{"for-a"});
  EXPECT_EQ(runners.find("b")->argv, std::vector<std::string>{"any"});
  EXPECT_EQ(Runners{}.find("a"), nullptr);
}

}  // namespace
}  // namespace drover::test
