// What becomes of a task whose parent ends without completing: on_parent_failure.
#include <functional>

#include "conformance/conformance.h"

namespace drover::test {
namespace {

class ParentPolicy : public ConformanceTest {
 protected:
  TaskId enqueue_child(const TaskId& parent, OnParentFailure policy) {
    return enqueue({.type = "work", .depends_on = {parent}, .on_parent_failure = policy});
  }
};
ON_EVERY_STORE(ParentPolicy);

TEST_P(ParentPolicy, CancelIsTheDefault) {
  const TaskId parent = enqueue_work();
  const TaskId child = enqueue_after(parent);
  fail(start(parent), ErrorClass::kInvalid);
  const Task task = get(child);
  EXPECT_EQ(task.state, TaskState::kCancelled);
  EXPECT_EQ(task.finished_at, now());
  ASSERT_TRUE(task.cancel_reason.has_value());
  EXPECT_NE(task.cancel_reason->find(parent.to_string()), std::string::npos);
  EXPECT_EQ(story(child), "enqueued cancelled");
}

TEST_P(ParentPolicy, FailEndsItAsFailed) {
  const TaskId parent = enqueue_work();
  const TaskId child = enqueue_child(parent, OnParentFailure::kFail);
  fail(start(parent), ErrorClass::kInvalid);
  const Task task = get(child);
  EXPECT_EQ(task.state, TaskState::kFailed);
  EXPECT_EQ(class_of(task.error), ErrorClass::kParentFailed);
  EXPECT_EQ(story(child), "enqueued failed");
}

TEST_P(ParentPolicy, RunGoesOnAsIfItWereDone) {
  const TaskId parent = enqueue_work();
  const TaskId child = enqueue_child(parent, OnParentFailure::kRun);
  fail(start(parent), ErrorClass::kInvalid);
  EXPECT_EQ(state(child), TaskState::kPending);
  EXPECT_EQ(story(child), "enqueued unblocked");
}

TEST_P(ParentPolicy, HoldsForEveryWayToEnd) {
  const std::pair<const char*, std::function<void(const TaskId&)>> ends[] = {
      {"failed", [&](const TaskId& id) { fail(start(id), ErrorClass::kInvalid); }},
      {"cancelled", [&](const TaskId& id) { cancel(id); }},
      {"deadline", [&](const TaskId&) { pass(1h); }},
      {"stalled too often", [&](const TaskId& id) { lose(start(id)); }},
  };
  for (const auto& [how, end] : ends) {
    const TaskId parent = enqueue({.type = "work", .deadline = 1h, .max_stalls = 0});
    const TaskId cancelled = enqueue_child(parent, OnParentFailure::kCancel);
    const TaskId failed = enqueue_child(parent, OnParentFailure::kFail);
    const TaskId run = enqueue_child(parent, OnParentFailure::kRun);
    end(parent);
    EXPECT_EQ(state(cancelled), TaskState::kCancelled) << how;
    EXPECT_EQ(state(failed), TaskState::kFailed) << how;
    EXPECT_EQ(state(run), TaskState::kPending) << how;
    cancel(run);
  }
}

TEST_P(ParentPolicy, GoesDownTheWholeLine) {
  const TaskId root = enqueue_work();
  const TaskId cancelled = enqueue_child(root, OnParentFailure::kCancel);
  const TaskId failed = enqueue_child(cancelled, OnParentFailure::kFail);
  const TaskId also_cancelled = enqueue_child(failed, OnParentFailure::kCancel);
  const TaskId runs = enqueue_child(also_cancelled, OnParentFailure::kRun);
  const TaskId waits = enqueue_child(runs, OnParentFailure::kCancel);
  fail(start(root), ErrorClass::kInvalid);
  EXPECT_EQ(state(cancelled), TaskState::kCancelled);
  EXPECT_EQ(state(failed), TaskState::kFailed);
  EXPECT_EQ(state(also_cancelled), TaskState::kCancelled);
  EXPECT_EQ(state(runs), TaskState::kPending);
  EXPECT_EQ(state(waits), TaskState::kBlocked);
}

TEST_P(ParentPolicy, OneBadParentOfSeveralIsEnough) {
  const TaskId bad = enqueue_work();
  const TaskId open = enqueue_work();
  const TaskId child = enqueue({.type = "work", .depends_on = {bad, open}});
  fail(start(bad), ErrorClass::kInvalid);
  EXPECT_EQ(state(child), TaskState::kCancelled);
  complete(start(open));
  EXPECT_EQ(state(child), TaskState::kCancelled);
  EXPECT_EQ(story(child), "enqueued cancelled");
}

TEST_P(ParentPolicy, RunStillWaitsForTheOthers) {
  const TaskId bad = enqueue_work();
  const TaskId open = enqueue_work();
  const TaskId child = enqueue({.type = "work", .depends_on = {bad, open}, .on_parent_failure = OnParentFailure::kRun});
  fail(start(bad), ErrorClass::kInvalid);
  EXPECT_EQ(state(child), TaskState::kBlocked);
  complete(start(open));
  EXPECT_EQ(state(child), TaskState::kPending);
}

TEST_P(ParentPolicy, AParentThatHadEndedBeforeCountsAlike) {
  const TaskId parent = enqueue_work();
  fail(start(parent), ErrorClass::kInvalid);
  const TaskId cancelled = enqueue_child(parent, OnParentFailure::kCancel);
  const TaskId failed = enqueue_child(parent, OnParentFailure::kFail);
  const TaskId run = enqueue_child(parent, OnParentFailure::kRun);
  EXPECT_EQ(state(cancelled), TaskState::kCancelled);
  EXPECT_EQ(story(cancelled), "enqueued cancelled");
  EXPECT_EQ(state(failed), TaskState::kFailed);
  EXPECT_EQ(story(failed), "enqueued failed");
  EXPECT_EQ(state(run), TaskState::kPending);
}

TEST_P(ParentPolicy, AWholeBatchOnAnEndedParentEndsWithIt) {
  const TaskId parent = enqueue_work();
  cancel(parent);
  const auto ids =
      enqueue_all({{.ref = "a", .type = "work", .depends_on = {parent}}, {.type = "work", .depends_on = {"a"}}});
  EXPECT_EQ(state(ids[0]), TaskState::kCancelled);
  EXPECT_EQ(state(ids[1]), TaskState::kCancelled);
}

}  // namespace
}  // namespace drover::test
