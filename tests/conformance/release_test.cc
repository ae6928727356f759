// Release: a worker that stops gives its task back unharmed.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

CONFORMANCE_SUITE(Releasing);

TEST_P(Releasing, TheTaskIsPendingAtOnce) {
  const Lease lease = start_work();
  EXPECT_EQ(release(lease), TaskState::kPending);
  const Task task = get(lease.task);
  EXPECT_EQ(task.attempts, 0);
  EXPECT_EQ(task.run, 1);
  EXPECT_EQ(task.stalls, 0);
  EXPECT_EQ(task.defers, 0);
  EXPECT_EQ(task.worker_id, std::nullopt);
  EXPECT_EQ(task.error, std::nullopt);
  EXPECT_EQ(story(lease.task), "enqueued claimed released");
  EXPECT_EQ(last_run_of(lease.task).outcome, "released");
}

TEST_P(Releasing, CostsNoAttemptHoweverOften) {
  const TaskId id = enqueue({.type = "work", .max_attempts = 1, .max_stalls = 0, .max_defers = 0});
  for (int i = 0; i < 10; ++i) release(start(id));
  EXPECT_EQ(claim_one().task.run, 11);
}

TEST_P(Releasing, KeepsTheCheckpoint) {
  const Lease lease = start_work();
  must(queue().checkpoint(lease, R"({"page":7})"));
  release(lease);
  EXPECT_EQ(claim_one().task.checkpoint, R"({"page":7})");
}

// A worker that lacks what the task names would take it again and again, and nothing else.
TEST_P(Releasing, WhatCannotRunHereWaitsBehindTheOthers) {
  const Lease first = start_new({.type = "work", .max_attempts = 1, .at_most_once = true});
  const TaskId second = enqueue_work();
  const Settlement item{first, Release{Begun::kNotHere}};
  EXPECT_EQ(must(queue().settle(std::span(&item, 1)).front()), TaskState::kPending);
  EXPECT_EQ(get(first.task).attempts, 0);
  EXPECT_EQ(story(first.task), "enqueued claimed released");
  EXPECT_EQ(claim_one().task.id, second);
  EXPECT_EQ(claim_one().task.id, first.task);
}

// One goes to the tail of the lane in the same call in which the other comes back to its place there.
TEST_P(Releasing, BesideOneThatIsTriedAgainAtOnce) {
  apply_config(R"({"types":{"work":{"breaker":"off"}}})");
  const TaskSpec spec{.type = "work", .retry = must(parse_retry_policy("linear:60ms"))};
  const Lease failed = start_new(spec);
  const Lease released = start_new(spec);
  const std::vector<Settlement> ends{{failed, Failure{.error_class = ErrorClass::kAgentError, .message = "no"}},
                                     {released, Release{}}};
  for (const auto& state : queue().settle(ends)) EXPECT_EQ(must(state), TaskState::kPending);
  EXPECT_EQ(claim_one().task.id, released.task);
  EXPECT_EQ(claim_one().task.id, failed.task);
}

}  // namespace
}  // namespace drover::test
