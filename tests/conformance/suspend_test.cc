// Suspend: a run ends, and its task waits for children that it spawned.
#include <algorithm>
#include <ranges>
#include <stdexcept>

#include "conformance/conformance.h"
#include "support/together.h"

namespace drover::test {
namespace {

class Suspending : public ConformanceTest {
 protected:
  std::vector<TaskId> spawn(const Lease& spawner, int count) {
    return spawn(spawner, std::vector<TaskSpec>(static_cast<std::size_t>(count), TaskSpec{.type = "child"}));
  }
  std::vector<TaskId> spawn(const Lease& spawner, const std::vector<TaskSpec>& specs) {
    std::vector<TaskId> ids;
    for (const Enqueued& child : must(queue().spawn(spawner, specs))) ids.push_back(child.id);
    return ids;
  }
  TaskState suspend(const Lease& lease) { return settle({lease, Suspend{}}); }
  TaskState suspend(const Lease& lease, std::vector<TaskId> children) {
    return settle({lease, Suspend{.children = std::move(children)}});
  }
  std::optional<ErrorCode> refusal(const Lease& lease, std::vector<TaskId> children) {
    return code_of(try_settle({lease, Suspend{.children = std::move(children)}}));
  }
  Lease start_child() { return claim({{.queue = "child"}}, 1).at(0).lease; }
  // Its latest run; every child that waits starts with it.
  Lease start_named(const TaskId& id) {
    for (const ClaimedTask& one : claim({{.queue = "child"}}, 100)) started_.push_back(one.lease);
    for (const Lease& lease : started_ | std::views::reverse) {
      if (lease.task == id) return lease;
    }
    throw std::runtime_error("not to be claimed: " + id.to_string());
  }
  void complete_children() {
    for (const ClaimedTask& one : claim({{.queue = "child"}}, 100)) complete(one.lease);
  }

  // A task that waits for two children.
  struct Waiting {
    TaskId id;
    std::vector<TaskId> children;
  };
  Waiting waiting(const TaskSpec& spec = {.type = "work"}) {
    const Lease lease = start_new(spec);
    Waiting made{lease.task, spawn(lease, 2)};
    EXPECT_EQ(suspend(lease), TaskState::kBlocked);
    return made;
  }

 private:
  std::vector<Lease> started_;
};
ON_EVERY_STORE(Suspending);

TEST_P(Suspending, WaitsWithoutLeaseAndAttempt) {
  const Waiting waits = waiting({.type = "work", .locks = {"deploy"}, .max_attempts = 1});
  const Task task = get(waits.id);
  EXPECT_EQ(task.state, TaskState::kBlocked);
  EXPECT_EQ(task.attempts, 0);
  EXPECT_EQ(task.suspends, 1);
  EXPECT_EQ(task.worker_id, std::nullopt);
  EXPECT_EQ(task.depends_on, waits.children);
  EXPECT_EQ(last_run_of(waits.id).outcome, "suspended");
  EXPECT_EQ(story(waits.id), "enqueued claimed suspended");
  EXPECT_EQ(last_event_of(waits.id).data, R"({"children":2,"unmet":2})");
  EXPECT_EQ(explain(waits.id).text, "it waits for 2 of 2 children");
  // Its lock is free.
  const Lease other = start_new({.type = "work", .locks = {"deploy"}});
  complete(other);
}

TEST_P(Suspending, RunsAgainWhenTheLastChildIsDone) {
  const Waiting waits = waiting();
  complete(start_child(), R"({"n":1})");
  EXPECT_EQ(state(waits.id), TaskState::kBlocked);
  EXPECT_EQ(explain(waits.id).text, "it waits for 1 of 2 children");
  complete(start_child(), R"({"n":2})");
  EXPECT_EQ(state(waits.id), TaskState::kPending);
  const ClaimedTask again = claim_one();
  EXPECT_EQ(again.task.id, waits.id);
  EXPECT_EQ(again.task.suspends, 1);
  EXPECT_EQ(again.task.attempts, 1);
  EXPECT_EQ(again.task.run, 2);
  EXPECT_EQ(again.task.depends_on, waits.children);
  ASSERT_EQ(again.earlier_runs.size(), 1U);
  EXPECT_EQ(again.earlier_runs[0].outcome, "suspended");
  complete(again.lease, R"("joined")");
  EXPECT_EQ(get(waits.id).result, R"("joined")");
  EXPECT_EQ(story(waits.id), "enqueued claimed suspended unblocked claimed completed");
}

TEST_P(Suspending, ComesBackAtTheTail) {
  const Waiting waits = waiting();
  const TaskId later = enqueue_work();
  complete_children();
  const TaskId latest = enqueue_work();
  EXPECT_EQ(drain(), (std::vector{later, waits.id, latest}));
}

TEST_P(Suspending, ComesBackAtTheTailAtOnceIfNothingIsLeftToWaitFor) {
  const Lease lease = start_work();
  spawn(lease, 2);
  complete_children();
  const TaskId later = enqueue_work();
  EXPECT_EQ(suspend(lease), TaskState::kPending);
  EXPECT_EQ(get(lease.task).depends_on.size(), 2U);
  EXPECT_EQ(story(lease.task), "enqueued claimed suspended");
  EXPECT_EQ(drain(), (std::vector{later, lease.task}));
}

TEST_P(Suspending, WithoutChildrenRunsAgain) {
  const Lease lease = start_work();
  EXPECT_EQ(suspend(lease), TaskState::kPending);
  EXPECT_EQ(get(lease.task).suspends, 1);
}

TEST_P(Suspending, WaitsForThoseThatAreNamed) {
  const Lease lease = start_work();
  const auto children = spawn(lease, 3);
  EXPECT_EQ(suspend(lease, {children[1], children[1]}), TaskState::kBlocked);
  EXPECT_EQ(get(lease.task).depends_on, std::vector{children[1]});
  complete(start_named(children[1]));
  EXPECT_EQ(state(lease.task), TaskState::kPending);
  // The next run waits for the others, too.
  const Lease again = claim_one().lease;
  EXPECT_EQ(suspend(again), TaskState::kBlocked);
  EXPECT_EQ(get(lease.task).depends_on, (std::vector{children[1], children[0], children[2]}));
  complete(start_named(children[0]));
  complete(start_named(children[2]));
  EXPECT_EQ(state(lease.task), TaskState::kPending);
  EXPECT_EQ(get(lease.task).suspends, 2);
}

TEST_P(Suspending, AFailedChildMeansWhatItsPolicySays) {
  using enum OnParentFailure;
  const std::pair<OnParentFailure, TaskState> cases[] = {
      {kCancel, TaskState::kCancelled}, {kFail, TaskState::kFailed}, {kRun, TaskState::kBlocked}};
  for (const auto& [policy, expected] : cases) {
    const Waiting waits = waiting({.type = "work", .on_parent_failure = policy});
    fail(start_named(waits.children[0]), ErrorClass::kInvalid);
    EXPECT_EQ(state(waits.id), expected) << name_of(policy);
    complete(start_named(waits.children[1]));
  }
  EXPECT_EQ(drain().size(), 1U);  // the one that runs all the same
}

TEST_P(Suspending, AChildThatHadFailedCountsAtOnce) {
  using enum OnParentFailure;
  const std::pair<OnParentFailure, TaskState> cases[] = {
      {kCancel, TaskState::kCancelled}, {kFail, TaskState::kFailed}, {kRun, TaskState::kPending}};
  for (const auto& [policy, expected] : cases) {
    const Lease lease = start_new({.type = "work", .on_parent_failure = policy});
    const auto children = spawn(lease, 1);
    fail(start_named(children[0]), ErrorClass::kInvalid);
    EXPECT_EQ(suspend(lease), expected) << name_of(policy);
    if (policy == kCancel) {
      EXPECT_EQ(story(lease.task), "enqueued claimed suspended cancelled");
    } else if (policy == kFail) {
      EXPECT_EQ(class_of(get(lease.task).error), ErrorClass::kParentFailed);
    }
  }
}

TEST_P(Suspending, TooOftenFailsTheTask) {
  const TaskId id = enqueue({.type = "work", .max_suspends = 2});
  EXPECT_EQ(suspend(start(id)), TaskState::kPending);
  EXPECT_EQ(suspend(start(id)), TaskState::kPending);
  EXPECT_EQ(suspend(start(id)), TaskState::kFailed);
  const Task task = get(id);
  EXPECT_EQ(class_of(task.error), ErrorClass::kSuspended);
  EXPECT_EQ(message_of(task.error), "it suspended 3 times; max_suspends is 2");
  EXPECT_EQ(story(id), "enqueued claimed suspended claimed suspended claimed failed");
}

TEST_P(Suspending, TwentyTimesIsTheDefault) {
  const TaskId id = enqueue_work();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(suspend(start(id)), TaskState::kPending);
  EXPECT_EQ(suspend(start(id)), TaskState::kFailed);
}

TEST_P(Suspending, IsRefusedToWhatMayRunOnce) {
  const Lease lease = start_new({.type = "work", .at_most_once = true});
  spawn(lease, 1);
  const World before = world();
  EXPECT_EQ(code_of(try_settle({lease, Suspend{}})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(world(), before);
  complete(lease);
}

TEST_P(Suspending, IsRefusedForStrangers) {
  const Lease lease = start_work();
  const auto own = spawn(lease, 1);
  const TaskId stranger = enqueue({.type = "child"});
  const TaskId unknown = TaskId::parse("0193300d-2b6b-7c4f-8a1e-00ff10ab5c9d").value();
  const World before = world();
  EXPECT_EQ(refusal(lease, {stranger}), ErrorCode::kUnknownParent);
  EXPECT_EQ(refusal(lease, {own[0], unknown}), ErrorCode::kUnknownParent);
  EXPECT_EQ(refusal(lease, {lease.task}), ErrorCode::kUnknownParent);
  EXPECT_EQ(world(), before);
  EXPECT_EQ(suspend(lease), TaskState::kBlocked);
}

TEST_P(Suspending, IsRefusedForAChildThatDependsOnTheTask) {
  const Lease lease = start_work();
  const auto children = spawn(lease, {{.ref = "a", .type = "child", .depends_on = {lease.task}},
                                      {.type = "child", .depends_on = {"a"}},
                                      {.type = "child"}});
  const World before = world();
  EXPECT_EQ(refusal(lease, {children[0]}), ErrorCode::kCycle);
  EXPECT_EQ(refusal(lease, {children[1]}), ErrorCode::kCycle);
  EXPECT_EQ(code_of(try_settle({lease, Suspend{}})), ErrorCode::kCycle);
  EXPECT_EQ(world(), before);
  EXPECT_EQ(suspend(lease, {children[2]}), TaskState::kBlocked);
}

TEST_P(Suspending, IsRefusedIfTwoWouldWaitForEachOther) {
  // The grandchild depends on the first task; its spawner waits for it, and the first task for that one.
  const Lease first = start_work();
  const TaskId middle = spawn(first, 1).at(0);
  const Lease second = start_named(middle);
  const auto last = spawn(second, {{.type = "other", .depends_on = {first.task}}});
  EXPECT_EQ(suspend(second), TaskState::kBlocked);
  EXPECT_EQ(code_of(try_settle({first, Suspend{}})), ErrorCode::kCycle);
  complete(first);
  EXPECT_EQ(state(last[0]), TaskState::kPending);
}

TEST_P(Suspending, TwoThatWouldWaitForEachOtherDoNotBoth) {
  for (int round = 0; round < 10; ++round) {
    const Lease first = start_work();
    const Lease second = start_named(spawn(first, 1).at(0));
    const auto last = spawn(second, {{.type = "other", .depends_on = {first.task}}});
    const Lease leases[] = {first, second};
    std::vector<std::optional<ErrorCode>> refused(2);
    together(2, [&](int i) {
      const auto at = static_cast<std::size_t>(i);
      const auto answer = queue().suspend(leases[at], Suspend{});
      if (!answer) refused[at] = answer.error().code;
    });
    EXPECT_EQ(std::ranges::count(refused, std::optional(ErrorCode::kCycle)), 1);
    EXPECT_EQ(std::ranges::count(refused, std::optional<ErrorCode>()), 1);
    cancel(last[0]);
    for (const Lease& lease : leases) {
      if (state(lease.task) == TaskState::kRunning) complete(lease);
      if (!is_terminal(state(lease.task))) cancel(lease.task);
    }
  }
}

TEST_P(Suspending, AChildThatEndsMeanwhileIsNotMissed) {
  for (int round = 0; round < 10; ++round) {
    const Lease lease = start_work();
    spawn(lease, 1);
    const Lease child = start_child();
    together(2, [&](int i) { must(i == 0 ? queue().suspend(lease, Suspend{}) : queue().complete(child, {})); });
    EXPECT_EQ(state(lease.task), TaskState::kPending);
    complete(claim_one().lease);
  }
}

TEST_P(Suspending, GoesTogetherWithOtherEndsInOneCall) {
  const Lease lease = start_work();
  const auto children = spawn(lease, 2);
  const Lease first = start_child();
  const Lease second = start_child();
  const std::vector<Settlement> ends{{first, Completion{}}, {lease, Suspend{}}, {second, Completion{}}};
  const auto answers = queue().settle(ends);
  EXPECT_EQ(must(answers[1]), TaskState::kBlocked);
  EXPECT_EQ(state(lease.task), TaskState::kPending);
}

TEST_P(Suspending, TwoInOneCallSeeEachOther) {
  // The second suspends, too, and is ended at once by a child that has failed: the first must hear of it.
  const Lease first = start_work();
  const Lease second = start_named(spawn(first, 1).at(0));
  spawn(second, {{.type = "other"}});
  fail(claim({{.queue = "other"}}, 1).at(0).lease, ErrorClass::kInvalid);
  const std::vector<Settlement> ends{{first, Suspend{}}, {second, Suspend{}}};
  for (const auto& answer : queue().settle(ends)) must(answer);
  EXPECT_EQ(state(second.task), TaskState::kCancelled);
  EXPECT_EQ(state(first.task), TaskState::kCancelled);
}

TEST_P(Suspending, ACancelThatWasRequestedWins) {
  const Lease lease = start_work();
  spawn(lease, 1);
  cancel(lease.task);
  EXPECT_EQ(suspend(lease), TaskState::kCancelled);
  EXPECT_EQ(get(lease.task).depends_on.size(), 0U);
}

TEST_P(Suspending, OnlyTheLiveLeaseMaySuspend) {
  const Lease lease = start_work();
  lose(lease);
  EXPECT_EQ(code_of(try_settle({lease, Suspend{}})), ErrorCode::kStaleLease);
  EXPECT_EQ(state(lease.task), TaskState::kStalled);
}

// ---- what happens to a task that waits: the rows of docs/internals/waiting.md

TEST_P(Suspending, ACancelEndsItAndItsChildren) {
  const Waiting waits = waiting();
  const Lease running = start_child();
  const CancelOutcome outcome = cancel(waits.id);
  EXPECT_EQ(outcome.state, TaskState::kCancelled);
  EXPECT_EQ(state(waits.children[1]), TaskState::kCancelled);
  settle({running, CancelConfirmed{}});
  EXPECT_EQ(state(waits.id), TaskState::kCancelled);
  EXPECT_EQ(story(waits.id), "enqueued claimed suspended cancelled");
}

TEST_P(Suspending, ADeadlineEndsItAndLeavesItsChildren) {
  const Waiting waits = waiting({.type = "work", .deadline = 1min});
  pass(1min);
  EXPECT_EQ(class_of(get(waits.id).error), ErrorClass::kDeadline);
  complete_children();
  EXPECT_EQ(state(waits.children[0]), TaskState::kCompleted);
  EXPECT_EQ(state(waits.id), TaskState::kFailed);
}

TEST_P(Suspending, AnEditChangesItWhileItWaits) {
  const Waiting waits = waiting();
  const Time later = now() + 1h;
  must(queue().edit(waits.id, {.priority = 2, .run_at = later, .payload = R"({"edited":true})"}));
  EXPECT_EQ(state(waits.id), TaskState::kBlocked);
  EXPECT_EQ(get(waits.id).depends_on, waits.children);
  complete_children();
  EXPECT_EQ(state(waits.id), TaskState::kScheduled);
  pass(1h);
  EXPECT_EQ(claim_one().task.payload, R"({"edited":true})");
}

TEST_P(Suspending, ARetryIsRefusedWhileItWaitsAndThenBeginsAnew) {
  const Waiting waits = waiting({.type = "work", .deadline = 1min});
  EXPECT_EQ(code_of(queue().retry(waits.id)), ErrorCode::kWrongState);
  pass(1min);
  const Task again = retry(waits.id);
  EXPECT_EQ(again.state, TaskState::kPending);
  EXPECT_EQ(again.generation, 2);
  EXPECT_EQ(again.suspends, 0);
  EXPECT_TRUE(again.depends_on.empty());
  // Children of its last life are none of its business, whatever becomes of them.
  const Lease lease = claim_one().lease;
  EXPECT_EQ(refusal(lease, {waits.children[0]}), ErrorCode::kUnknownParent);
  const auto born = spawn(lease, {{.type = "other"}});
  EXPECT_EQ(suspend(lease), TaskState::kBlocked);
  EXPECT_EQ(get(waits.id).depends_on, born);
  complete_children();
  EXPECT_EQ(state(waits.id), TaskState::kBlocked);
  complete(claim({{.queue = "other"}}, 1).at(0).lease);
  EXPECT_EQ(state(waits.id), TaskState::kPending);
}

TEST_P(Suspending, ARetryKeepsTheParentsItWasGiven) {
  const TaskId parent = enqueue_work();
  const TaskId id = enqueue_after(parent);
  complete(start(parent));
  const Lease lease = start(id);
  spawn(lease, 1);
  suspend(lease);
  cancel(id);
  EXPECT_EQ(retry(id).depends_on, std::vector{parent});
  EXPECT_EQ(state(id), TaskState::kPending);
}

TEST_P(Suspending, AParentsRetryIsWaitedForToo) {
  const TaskId parent = enqueue_work();
  const TaskId id = enqueue({.type = "work", .depends_on = {parent}, .on_parent_failure = OnParentFailure::kRun});
  fail(start(parent), ErrorClass::kInvalid);
  const Lease lease = start(id);
  const auto children = spawn(lease, 1);
  suspend(lease);
  retry(parent);
  EXPECT_EQ(explain(id).text, "it waits for 1 of 1 child and 1 of 1 parent");
  complete_children();
  EXPECT_EQ(state(id), TaskState::kBlocked);
  complete(start(parent));
  EXPECT_EQ(state(id), TaskState::kPending);
}

TEST_P(Suspending, AParentThatWasRetriedBeforeIsWaitedForToo) {
  const TaskId parent = enqueue_work();
  const TaskId id = enqueue({.type = "work", .depends_on = {parent}, .on_parent_failure = OnParentFailure::kRun});
  fail(start(parent), ErrorClass::kInvalid);
  const Lease lease = start(id);
  retry(parent);
  EXPECT_EQ(suspend(lease), TaskState::kBlocked);
  complete(start(parent));
  EXPECT_EQ(state(id), TaskState::kPending);
}

TEST_P(Suspending, AChildsRetryBringsItBack) {
  const Waiting waits = waiting({.type = "work", .on_parent_failure = OnParentFailure::kFail});
  fail(start_named(waits.children[0]), ErrorClass::kInvalid);
  ASSERT_EQ(state(waits.id), TaskState::kFailed);
  retry(waits.children[0]);
  const Task task = get(waits.id);
  EXPECT_EQ(task.state, TaskState::kBlocked);
  EXPECT_EQ(task.suspends, 1) << "it goes on where it was";
  EXPECT_EQ(task.depends_on, waits.children);
  complete(start_named(waits.children[0]));
  complete(start_named(waits.children[1]));
  const Lease again = claim_one().lease;
  // What it spawned before still belongs to it.
  EXPECT_EQ(suspend(again, {waits.children[1]}), TaskState::kPending);
  EXPECT_EQ(story(waits.id), "enqueued claimed suspended failed revived unblocked claimed suspended");
}

TEST_P(Suspending, AChildsRetryIsWaitedForAgain) {
  const Waiting waits = waiting({.type = "work", .on_parent_failure = OnParentFailure::kRun});
  fail(start_named(waits.children[0]), ErrorClass::kInvalid);
  retry(waits.children[0]);
  complete(start_named(waits.children[1]));
  EXPECT_EQ(state(waits.id), TaskState::kBlocked);
  complete(start_named(waits.children[0]));
  EXPECT_EQ(state(waits.id), TaskState::kPending);
}

TEST_P(Suspending, AWorkersDeathBeforeTheSuspendIsAStall) {
  const Lease lease = start_work();
  spawn(lease, 1);
  lose(lease);
  EXPECT_EQ(get(lease.task).suspends, 0);
  const Lease again = claim_one().lease;
  EXPECT_EQ(suspend(again), TaskState::kBlocked) << "the children are there";
  EXPECT_EQ(get(lease.task).depends_on.size(), 1U);
}

TEST_P(Suspending, AWorkersDeathAfterItChangesNothing) {
  const Waiting waits = waiting();
  lose(start_named(waits.children[0]));
  EXPECT_EQ(state(waits.id), TaskState::kBlocked);
  complete_children();
  EXPECT_EQ(state(waits.id), TaskState::kPending);
}

TEST_P(Suspending, DoesNotKeepADrainingWorker) {
  const Waiting waits = waiting();
  const std::vector<Serve> work{{.queue = "work"}};
  const std::vector<Serve> both{{.queue = "work"}, {.queue = "child"}};
  EXPECT_EQ(must(queue().backlog(work)).waiting, 0);
  EXPECT_EQ(must(queue().backlog(work)).blocked, 1);
  EXPECT_EQ(must(queue().backlog(both)).waiting, 2);
  release(start_named(waits.children[0]));
  EXPECT_EQ(state(waits.id), TaskState::kBlocked);
}

TEST_P(Suspending, SurvivesAReopenedStore) {
  const Waiting waits = waiting();
  reopen();
  EXPECT_EQ(get(waits.id).depends_on, waits.children);
  complete_children();
  EXPECT_EQ(state(waits.id), TaskState::kPending);
}

}  // namespace
}  // namespace drover::test
