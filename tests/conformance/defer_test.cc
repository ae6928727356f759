// Defer: a rate limit holds a task back and costs it nothing, up to max_defers.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

class Defer : public ConformanceTest {
 protected:
  TaskState defer(const Lease& lease, std::optional<Millis> retry_after = std::nullopt) {
    return must(queue().fail(lease,
                             {.error_class = ErrorClass::kRateLimited, .message = "429", .retry_after = retry_after}))
        .state;
  }
};
ON_EVERY_STORE(Defer);

TEST_P(Defer, WaitsForRetryAfter) {
  const TaskId id = enqueue_work();
  EXPECT_EQ(defer(start(id), 90s), TaskState::kScheduled);
  EXPECT_EQ(get(id).run_at, now() + 90s);
  pass(90s - 1ms);
  EXPECT_TRUE(claim(1).empty());
  pass(1ms);
  EXPECT_EQ(story(id), "enqueued claimed deferred due");
  EXPECT_EQ(drain(), std::vector{id});
}

TEST_P(Defer, GivesTheAttemptBack) {
  const TaskId id = enqueue({.type = "work", .max_attempts = 1});
  defer(start(id), 1s);
  Task task = get(id);
  EXPECT_EQ(task.attempts, 0);
  EXPECT_EQ(task.defers, 1);
  EXPECT_EQ(task.run, 1);
  EXPECT_EQ(task.worker_id, std::nullopt);
  pass(1s);
  const ClaimedTask again = claim_one();
  EXPECT_EQ(again.task.attempts, 1);
  EXPECT_EQ(again.task.run, 2);
}

TEST_P(Defer, WithoutRetryAfterItBacksOff) {
  const TaskId id = enqueue_work();
  for (const Millis expected : {1'000ms, 2'000ms, 4'000ms}) {
    defer(start(id));
    const Millis delay = *get(id).run_at - now();
    EXPECT_GE(delay, expected * 9 / 10);
    EXPECT_LE(delay, expected * 11 / 10);
    pass(delay);
  }
}

TEST_P(Defer, PastMaxDefersItFails) {
  const TaskId id = enqueue({.type = "work", .max_defers = 2});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(defer(start(id), 1s), TaskState::kScheduled);
    pass(1s);
  }
  EXPECT_EQ(defer(start(id), 1s), TaskState::kFailed);
  EXPECT_EQ(class_of(get(id).error), ErrorClass::kRateLimited);
  EXPECT_EQ(story(id), "enqueued claimed deferred due claimed deferred due claimed failed");
}

TEST_P(Defer, NoDefersAllowedMeansFailed) {
  EXPECT_EQ(defer(start_new({.type = "work", .max_defers = 0})), TaskState::kFailed);
}

TEST_P(Defer, ANegativeRetryAfterIsNow) {
  const TaskId id = enqueue_work();
  defer(start(id), -5s);
  EXPECT_EQ(get(id).run_at, now());
  sweep();
  EXPECT_EQ(drain(), std::vector{id});
}

}  // namespace
}  // namespace drover::test
