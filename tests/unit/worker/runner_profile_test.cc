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
  task.suspends = 1;
  const Environment agent =
      agent_environment(worker, {{"x"}, {"KEY", "MISSING", "DROVER_URL"}}, task, "/run/door", "w:1:u");
  for (const char* expected : {"PATH=/bin", "HOME=/h", "LC_ALL=C", "LC_TIME=x", "KEY=k", "TZ=UTC", "DROVER_RUN=4",
                               "DROVER_ATTEMPT=3", "DROVER_SUSPENDS=1", "DROVER_URL=unix:/run/door",
                               "DROVER_WORKER=w:1:u", "DROVER_TASK_ID=01000000-0000-0000-0000-000000000001"}) {
    EXPECT_TRUE(has(agent, expected)) << expected;
  }
  EXPECT_EQ(agent.size(), 13U) << "and the trace, but nothing else";
}

TEST(AgentEnvironment, TheTraceIsTheTasksOwnOrMadeFromItsId) {
  Task task = numbered_task(1).task;
  const Environment made = agent_environment({}, {}, task, "/d", "w");
  EXPECT_TRUE(made.back().starts_with("TRACEPARENT=00-01000000000000000000000000000001-")) << made.back();
  EXPECT_EQ(made.back().size(), std::string("TRACEPARENT=").size() + 55);
  task.traceparent = "00-aa-bb-01";
  EXPECT_EQ(agent_environment({}, {}, task, "/d", "w").back(), "TRACEPARENT=00-aa-bb-01");
}

TEST(Runners, ATypesOwnProfileIsFirst) {
  const Runners runners{.for_all = RunnerProfile{{"any"}, {}}, .by_type = {{"a", RunnerProfile{{"for-a"}, {}}}}};
  EXPECT_EQ(runners.find("a")->argv, std::vector<std::string>{"for-a"});
  EXPECT_EQ(runners.find("b")->argv, std::vector<std::string>{"any"});
  EXPECT_EQ(Runners{}.find("a"), nullptr);
}

using Serves = std::vector<Serve>;

Runners profiles(std::optional<int> a, std::optional<int> b) {
  return {.for_all = {},
          .by_type = {{"a", {.argv = {"sh"}, .env = {}, .concurrency = a}},
                      {"b", {.argv = {"sh"}, .env = {}, .concurrency = b}}}};
}

TEST(Runners, AQueueIsServedForTheTypesThatHaveARunner) {
  const Serves queue{{"shared", std::nullopt}, {"q", "a"}};
  EXPECT_EQ(serves_with_runners(queue, profiles(1, 1)), (Serves{{"shared", "a"}, {"shared", "b"}, {"q", "a"}}));
  EXPECT_EQ(serves_with_runners(queue, {.for_all = RunnerProfile{{"any"}, {}}, .by_type = {}}), queue);
  EXPECT_EQ(serves_with_runners({{"shared", std::nullopt}}, {}), Serves{});
}

TEST(Runners, SlotsAreTheSumOfTheProfilesUnlessFewerAreWanted) {
  const Serves both{{"q", "a"}, {"q", "b"}, {"a", "a"}};
  EXPECT_EQ(slots_for(both, profiles(2, 3), {}), (Slots{5, {{"a", 2}, {"b", 3}}})) << "each profile counts once";
  EXPECT_EQ(slots_for(both, profiles(2, 3), 4), (Slots{4, {{"a", 2}, {"b", 3}}}));
  EXPECT_EQ(slots_for(both, profiles(2, 3), 9), (Slots{5, {{"a", 2}, {"b", 3}}})) << "a profile's limit stands";
  EXPECT_EQ(slots_for(both, profiles({}, 3), {}), (Slots{4, {{"a", 1}, {"b", 3}}}));
  EXPECT_EQ(slots_for(both, profiles({}, 3), 8), (Slots{8, {{"a", 8}, {"b", 3}}})) << "without one the worker's counts";
  EXPECT_EQ(slots_for(both, profiles(1'000, 1'000), {}).total, 1'000);
  const Runners any{.for_all = RunnerProfile{{"any"}, {}}, .by_type = {}};
  EXPECT_EQ(slots_for({{"q", std::nullopt}}, any, 7), (Slots{7, {}}));
  EXPECT_EQ(slots_for({{"q", std::nullopt}}, any, {}), (Slots{1, {}}));
}

TEST(Runners, EveryProgramThatIsServedMustBeThere) {
  Runners runners = profiles(1, 1);
  runners.by_type["b"].argv = {"/no/such/agent"};
  const std::string path = "/nowhere:/bin:/usr/bin";
  EXPECT_TRUE(check_programs({{"q", "a"}}, runners, path)) << "a profile that is not served does not matter";
  const Status refused = check_programs({{"q", "a"}, {"q", "b"}}, runners, path);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("/no/such/agent"), std::string::npos);
  EXPECT_NE(refused.error().message.find("local.runners.b.argv"), std::string::npos);
  EXPECT_FALSE(finds_program("/etc/passwd", path)) << "a file that is no program";
  EXPECT_FALSE(finds_program("sh", "/nowhere"));
  EXPECT_TRUE(finds_program("sh", ""));
}

}  // namespace
}  // namespace drover::test
