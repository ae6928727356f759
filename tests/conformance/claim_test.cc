// Claim: who gets what, and never two of one.
#include <set>

#include "conformance/conformance.h"

namespace drover::test {
namespace {

CONFORMANCE_SUITE(Claim);

TEST_P(Claim, StartsARun) {
  const TaskId id = enqueue({.type = "work", .payload = R"({"n":1})", .prompt = "go"});
  advance(5s);
  const auto claimed = claim({.worker_id = "host:7:x", .serves = {{.queue = "work"}}, .n = 1});
  ASSERT_EQ(claimed.size(), 1U);
  const Task& task = claimed[0].task;
  EXPECT_EQ(task.id, id);
  EXPECT_EQ(task.state, TaskState::kRunning);
  EXPECT_EQ(task.run, 1);
  EXPECT_EQ(task.attempts, 1);
  EXPECT_EQ(task.worker_id, "host:7:x");
  EXPECT_EQ(task.started_at, now());
  EXPECT_EQ(task.payload, R"({"n":1})");
  EXPECT_EQ(task.prompt, "go");
  EXPECT_EQ(claimed[0].lease.task, id);
  EXPECT_FALSE(claimed[0].lease.id.is_none());
  EXPECT_TRUE(claimed[0].earlier_runs.empty());
  EXPECT_EQ(get(id), task);
}

TEST_P(Claim, LeavesOneEvent) {
  const Lease lease = start_work();
  EXPECT_EQ(story(lease.task), "enqueued claimed");
  const Event event = last_event_of(lease.task);
  EXPECT_EQ(event.state, TaskState::kRunning);
  EXPECT_EQ(event.run, 1);
}

TEST_P(Claim, OpensARunInTheHistory) {
  const Lease lease = start_work();
  const auto runs = must(queue().runs(lease.task));
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].run, 1);
  EXPECT_EQ(runs[0].generation, 1);
  EXPECT_EQ(runs[0].worker_id, "host:1:a");
  EXPECT_EQ(runs[0].started_at, now());
  EXPECT_EQ(runs[0].ended_at, std::nullopt);
  EXPECT_EQ(runs[0].outcome, "");
}

TEST_P(Claim, AnEmptyQueueGivesNothing) {
  EXPECT_TRUE(claim(10).empty());
}

TEST_P(Claim, NeverMoreThanAskedFor) {
  enqueue_all(std::vector<TaskSpec>(10, TaskSpec{.type = "work"}));
  EXPECT_EQ(claim(3).size(), 3U);
  EXPECT_EQ(claim(100).size(), 7U);
}

TEST_P(Claim, LeasesAreAllDifferent) {
  enqueue_all(std::vector<TaskSpec>(50, TaskSpec{.type = "work"}));
  std::set<std::string> leases;
  for (const ClaimedTask& item : claim(50)) leases.insert(item.lease.id.to_string());
  EXPECT_EQ(leases.size(), 50U);
}

TEST_P(Claim, ARunningTaskIsNotGivenAgain) {
  start_work();
  EXPECT_TRUE(claim(1).empty());
}

TEST_P(Claim, OnlyClaimableStatesAreGiven) {
  for (const TaskState state : kAllStates) {
    const TaskId id = place_in(state).id;
    const auto claimed = claim(1);
    ASSERT_EQ(claimed.size(), is_claimable(state) ? 1U : 0U) << name_of(state);
    if (claimed.empty()) continue;
    EXPECT_EQ(claimed[0].task.id, id);
    complete(claimed[0].lease);
  }
}

TEST_P(Claim, ATypeFilterTakesOnlyThatType) {
  enqueue({.type = "other", .queue = "work", .priority = 0});
  const TaskId mine = enqueue({.type = "mine", .queue = "work"});
  const auto claimed = claim({{.queue = "work", .type = "mine"}}, 10);
  ASSERT_EQ(claimed.size(), 1U);
  EXPECT_EQ(claimed[0].task.id, mine);
}

TEST_P(Claim, FiltersOfSeveralQueuesStayApart) {
  const TaskId mine = enqueue({.type = "mine", .queue = "a"});
  const TaskId any = enqueue({.type = "whatever", .queue = "b"});
  enqueue({.type = "whatever", .queue = "a"});
  const auto claimed = claim({{.queue = "a", .type = "mine"}, {.queue = "b"}}, 10);
  ASSERT_EQ(claimed.size(), 2U);
  EXPECT_EQ(claimed[0].task.id, mine);
  EXPECT_EQ(claimed[1].task.id, any);
}

TEST_P(Claim, AQueueNamedTwiceGivesATaskOnce) {
  enqueue({.type = "mine", .queue = "a"});
  EXPECT_EQ(claim({{.queue = "a", .type = "mine"}, {.queue = "a"}}, 10).size(), 1U);
}

TEST_P(Claim, ShowsTheEarlierRunsNewestFirst) {
  const RetryPolicy at_once{.kind = RetryPolicy::Kind::kFixed, .base = 0ms};
  const TaskId id = enqueue({.type = "work", .retry = at_once});
  must(queue().fail(start(id),
                    {.error_class = ErrorClass::kTimeout, .message = "slow", .exit_code = 3, .note = "half done"}));
  fail(start(id), ErrorClass::kKilled);
  const ClaimedTask third = claim_one();
  EXPECT_EQ(third.task.run, 3);
  ASSERT_EQ(third.earlier_runs.size(), 2U);
  EXPECT_EQ(third.earlier_runs[0].run, 2);
  EXPECT_EQ(class_of(third.earlier_runs[0].error), ErrorClass::kKilled);
  EXPECT_EQ(third.earlier_runs[1].run, 1);
  EXPECT_EQ(third.earlier_runs[1].outcome, "retrying");
  EXPECT_EQ(third.earlier_runs[1].error, (TaskError{ErrorClass::kTimeout, "slow"}));
  EXPECT_EQ(third.earlier_runs[1].exit_code, 3);
  EXPECT_EQ(third.earlier_runs[1].note, "half done");
}

TEST_P(Claim, RunNumbersAreNeverReused) {
  const TaskId id = enqueue({.type = "work", .max_stalls = 100});
  int last = 0;
  const auto next = [&] {
    const ClaimedTask claimed = claim_one();
    EXPECT_EQ(claimed.task.id, id);
    EXPECT_EQ(claimed.task.run, ++last);
    return claimed.lease;
  };
  release(next());
  lose(next());
  fail(next());
  pass(10s);
  must(queue().fail(next(), {.error_class = ErrorClass::kRateLimited, .retry_after = 1s}));
  pass(1s);
  fail(next(), ErrorClass::kInvalid);
  retry(id);
  complete(next());
  const auto runs = must(queue().runs(id));
  ASSERT_EQ(runs.size(), 6U);
  for (std::size_t i = 0; i < runs.size(); ++i) EXPECT_EQ(runs[i].run, 6 - static_cast<int>(i));
}

TEST_P(Claim, ABadRequestIsRefused) {
  enqueue_work();
  const World before = world();
  const ClaimRequest good{.worker_id = "host:1:a", .serves = {{.queue = "work"}}, .n = 1};
  std::vector<ClaimRequest> bad(8, good);
  bad[0].n = 0;
  bad[1].n = -1;
  bad[2].serves.clear();
  bad[3].worker_id.clear();
  bad[4].lease = 0ms;
  bad[5].lease = -1s;
  bad[6].serves.front().queue = "no queue";
  bad[7].serves.front().type = "";
  must(queue().register_worker({.id = "host:1:a", .version = "1", .serves = good.serves}));
  for (const ClaimRequest& request : bad) EXPECT_EQ(code_of(queue().claim(request)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(world(), before);
}

}  // namespace
}  // namespace drover::test
