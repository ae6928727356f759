// Cancel goes down: to dependents as their policy says, to children always, to running ones by request.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

class CancelTree : public ConformanceTest {
 protected:
  TaskId spawn(const Lease& spawner, const TaskSpec& spec = {.type = "child"}) {
    return must(queue().spawn(spawner, std::span(&spec, 1))).front().id;
  }
  Lease start_child(const TaskId& id) {
    const auto claimed = claim({{.queue = "child"}}, 1);
    if (claimed.size() != 1 || claimed[0].task.id != id) throw std::runtime_error("another child was next");
    return claimed[0].lease;
  }
};
ON_EVERY_STORE(CancelTree);

TEST_P(CancelTree, TakesItsDependentsAlong) {
  const TaskId root = enqueue_work();
  const TaskId child = enqueue_after(root);
  const TaskId grandchild = enqueue_after(child);
  const CancelOutcome outcome = cancel(root, "stop");
  EXPECT_EQ(outcome.state, TaskState::kCancelled);
  EXPECT_EQ(outcome.cancelled, 3);
  EXPECT_EQ(outcome.requested, 0);
  EXPECT_EQ(state(child), TaskState::kCancelled);
  EXPECT_EQ(state(grandchild), TaskState::kCancelled);
}

TEST_P(CancelTree, DependentsFollowTheirPolicy) {
  const TaskId root = enqueue_work();
  const TaskId failed = enqueue({.type = "work", .depends_on = {root}, .on_parent_failure = OnParentFailure::kFail});
  const TaskId run = enqueue({.type = "work", .depends_on = {root}, .on_parent_failure = OnParentFailure::kRun});
  EXPECT_EQ(cancel(root).cancelled, 1);
  EXPECT_EQ(state(failed), TaskState::kFailed);
  EXPECT_EQ(state(run), TaskState::kPending);
}

TEST_P(CancelTree, ADiamondEndsOnce) {
  const auto ids = enqueue_all({{.ref = "top", .type = "work"},
                                {.ref = "left", .type = "work", .depends_on = {"top"}},
                                {.ref = "right", .type = "work", .depends_on = {"top"}},
                                {.type = "work", .depends_on = {"left", "right"}}});
  EXPECT_EQ(cancel(ids[0]).cancelled, 4);
  EXPECT_EQ(story(ids[3]), "enqueued cancelled");
}

TEST_P(CancelTree, DependentsOfARunningTaskEndWithIt) {
  const TaskId root = enqueue_work();
  const TaskId child = enqueue_after(root);
  const Lease lease = start(root);
  cancel(root);
  settle({lease, CancelConfirmed{}});
  EXPECT_EQ(state(child), TaskState::kCancelled);
  EXPECT_EQ(story(child), "enqueued cancelled");
}

TEST_P(CancelTree, WaitingChildrenEndAtOnce) {
  const Lease spawner = start_work();
  const TaskId child = spawn(spawner);
  const TaskId delayed = spawn(spawner, {.type = "child", .delay = 1h});
  const CancelOutcome outcome = cancel(spawner.task, "stop");
  EXPECT_EQ(outcome.state, TaskState::kRunning);
  EXPECT_EQ(outcome.cancelled, 2);
  EXPECT_EQ(outcome.requested, 1);
  EXPECT_EQ(state(child), TaskState::kCancelled);
  EXPECT_EQ(get(child).cancel_reason, "stop");
  EXPECT_EQ(state(delayed), TaskState::kCancelled);
}

TEST_P(CancelTree, RunningChildrenAreAskedToStop) {
  const Lease spawner = start_work();
  const Lease child = start_child(spawn(spawner));
  const Lease grandchild = start_child(spawn(child));
  const CancelOutcome outcome = cancel(spawner.task);
  EXPECT_EQ(outcome.requested, 3);
  EXPECT_EQ(renew(child), LeaseState::kCancelRequested);
  EXPECT_EQ(renew(grandchild), LeaseState::kCancelRequested);
  EXPECT_EQ(story(grandchild.task), "enqueued claimed cancel_requested");
}

TEST_P(CancelTree, ChildrenOfAFinishedTaskGoWithTheirSpawnersSpawner) {
  const Lease spawner = start_work();
  const Lease middle = start_child(spawn(spawner));
  const TaskId leaf = spawn(middle);
  complete(middle);
  const CancelOutcome outcome = cancel(spawner.task);
  EXPECT_EQ(state(leaf), TaskState::kCancelled);
  EXPECT_EQ(outcome.cancelled, 1);
}

TEST_P(CancelTree, DependentsOfAChildFollowToo) {
  const Lease spawner = start_work();
  const TaskId child = spawn(spawner);
  const TaskId dependent = enqueue_after(child);
  EXPECT_EQ(cancel(spawner.task).cancelled, 2);
  EXPECT_EQ(state(dependent), TaskState::kCancelled);
}

TEST_P(CancelTree, FinishedOnesStayAsTheyAre) {
  const Lease spawner = start_work();
  const Lease child = start_child(spawn(spawner));
  complete(child);
  EXPECT_EQ(cancel(spawner.task).cancelled, 0);
  EXPECT_EQ(state(child.task), TaskState::kCompleted);
}

TEST_P(CancelTree, AFailedTaskLeavesItsChildrenAlone) {
  const Lease spawner = start_work();
  const TaskId child = spawn(spawner);
  fail(spawner, ErrorClass::kInvalid);
  EXPECT_EQ(state(child), TaskState::kPending);
}

TEST_P(CancelTree, AThousandDependentsInOneStep) {
  const TaskId root = enqueue_work();
  enqueue_all(std::vector<TaskSpec>(1'000, TaskSpec{.type = "work", .depends_on = {root}}));
  EXPECT_EQ(cancel(root).cancelled, 1'001);
  EXPECT_TRUE(all_tasks({.states = {TaskState::kBlocked, TaskState::kPending}}).empty());
}

TEST_P(CancelTree, ADependentThatRunsForAnotherReasonGoesOn) {
  const TaskId root = enqueue_work();
  const TaskId child = enqueue_after(root);
  complete(start(root));
  const Lease lease = start(child);
  EXPECT_EQ(code_of(queue().cancel(root, "late")), ErrorCode::kWrongState);
  EXPECT_EQ(renew(lease), LeaseState::kHeld);
}

TEST_P(CancelTree, APreviewTellsWhatACancelLeadsToAndChangesNothing) {
  const Lease spawner = start_work();
  const Lease running = start_child(spawn(spawner));
  const TaskId waiting = spawn(spawner);
  const TaskId dependent = enqueue_after(spawner.task);
  const TaskId failing =
      enqueue({.type = "work", .depends_on = {spawner.task}, .on_parent_failure = OnParentFailure::kFail});
  const TaskId released =
      enqueue({.type = "work", .depends_on = {running.task}, .on_parent_failure = OnParentFailure::kRun});
  enqueue({.type = "work", .depends_on = {running.task, enqueue_work()}, .on_parent_failure = OnParentFailure::kRun});
  const auto last_event = must(queue().last_event_seq());

  const auto effects = preview_cancel(spawner.task);
  EXPECT_EQ(effects.front(), (CancelEffect{spawner.task, "work", TaskState::kRunning, TaskState::kCancelled}));
  EXPECT_EQ(effects.size(), 6U) << "who waits for another parent still waits";
  EXPECT_EQ(must(queue().last_event_seq()), last_event);
  EXPECT_EQ(state(waiting), TaskState::kPending);
  EXPECT_EQ(renew(running), LeaseState::kHeld);

  cancel(spawner.task);
  settle({running, CancelConfirmed{}});
  settle({spawner, CancelConfirmed{}});
  for (const CancelEffect& effect : effects) EXPECT_EQ(state(effect.id), effect.to) << effect.id.to_string();
  EXPECT_EQ(state(dependent), TaskState::kCancelled);
  EXPECT_EQ(state(failing), TaskState::kFailed);
  EXPECT_EQ(state(released), TaskState::kPending);
}

TEST_P(CancelTree, APreviewOfWhatWasAskedToStopTellsWhatIsLeft) {
  const Lease lease = start_work();
  const TaskId dependent = enqueue_after(lease.task);
  cancel(lease.task);
  const std::vector<CancelEffect> expected{{lease.task, "work", TaskState::kRunning, TaskState::kCancelled},
                                           {dependent, "work", TaskState::kBlocked, TaskState::kCancelled}};
  EXPECT_EQ(preview_cancel(lease.task), expected);
}

TEST_P(CancelTree, APreviewNamesTheFollowUps) {
  apply_config(R"({"types":{"work":{"on_failure":{"type":"clean"}}}})");
  const TaskId root = enqueue({.type = "plan"});
  enqueue({.type = "work", .depends_on = {root}, .on_parent_failure = OnParentFailure::kFail});
  const auto effects = preview_cancel(root);
  ASSERT_EQ(effects.size(), 3U);
  EXPECT_EQ(effects[2].type, "clean");
  EXPECT_EQ(effects[2].from, std::nullopt);
  EXPECT_EQ(effects[2].to, TaskState::kPending);
}

TEST_P(CancelTree, APreviewRefusesWhatACancelRefuses) {
  const TaskId id = enqueue_work();
  cancel(id);
  EXPECT_EQ(code_of(queue().preview_cancel(id)), code_of(queue().cancel(id, "")));
  EXPECT_EQ(code_of(queue().preview_cancel(id)), ErrorCode::kWrongState);
  EXPECT_EQ(code_of(queue().preview_cancel(TaskId())), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace drover::test
