// Bulk operations: one verb for many tasks, durable, bounded, each task once.
#include "core/bulk.h"
#include "conformance/conformance.h"
#include "engine/bulk_document.h"

namespace drover::test {
namespace {

const Verdict kBulkVerdict{.by = "ada@box", .why = "because | \"so\""};

class Bulk : public ConformanceTest {
 protected:
  BulkOperation start_bulk(const BulkOrder& order) { return must(queue().start_bulk(order)); }
  // Sweeps until it has ended.
  BulkOperation finished(const BulkId& id) {
    for (int pass = 0; pass < 1'000; ++pass) {
      auto operation = must(queue().bulk_operation(id));
      if (operation.state != BulkState::kRunning) return operation;
      sweep();
    }
    throw std::runtime_error("the bulk operation does not end");
  }
  BulkOperation run_bulk(const BulkOrder& order) { return finished(start_bulk(order).id); }
  std::vector<TaskId> enqueue_many(int n, const TaskSpec& spec) {
    std::vector<TaskSpec> group(static_cast<std::size_t>(n), spec);
    return enqueue_all(group);
  }
  int count_in(TaskState state) { return static_cast<int>(all_tasks({.states = {state}}).size()); }
  std::vector<std::string> bulk_story() {
    std::vector<std::string> names;
    for (const Event& event : all_events()) {
      if (event.name.starts_with("bulk.")) names.push_back(event.name);
    }
    return names;
  }
};
ON_EVERY_STORE(Bulk);

BulkOrder cancel_of(const TaskFilter& filter) {
  return {.verb = BulkVerb::kCancel, .filter = filter, .verdict = kBulkVerdict};
}

TEST_P(Bulk, CancelsWhatMatchesAndNothingElse) {
  const auto meant = enqueue_many(700, {.type = "work"});
  const auto others = enqueue_many(5, {.type = "other", .queue = "work"});
  const BulkOperation started = start_bulk(cancel_of({.type = "work"}));
  EXPECT_EQ(started.state, BulkState::kRunning);
  EXPECT_EQ(started.total, 700);
  EXPECT_TRUE(started.total_is_exact);
  const TaskId late = enqueue_work();
  const BulkOperation ended = finished(started.id);
  EXPECT_EQ(ended.state, BulkState::kCompleted);
  EXPECT_EQ(ended.done, 700);
  EXPECT_EQ(ended.skipped + ended.failed, 0);
  EXPECT_EQ(state(late), TaskState::kPending) << "it was enqueued after the start";
  for (const TaskId& id : others) EXPECT_EQ(state(id), TaskState::kPending);
  EXPECT_EQ(count_in(TaskState::kCancelled), 700);
  EXPECT_EQ(story(meant.front()), "enqueued cancelled");
  EXPECT_EQ(get(meant.front()).cancel_reason, kBulkVerdict.why);
  EXPECT_EQ(bulk_story(), (std::vector<std::string>{"bulk.started", "bulk.finished"}));
}

TEST_P(Bulk, ADryRunCountsAndChangesNothing) {
  start_work();
  enqueue_many(30, {.type = "work"});
  enqueue({.type = "work", .delay = 1h});
  const World before = world();
  const auto preview = must(queue().preview_bulk(cancel_of({.type = "work"})));
  EXPECT_EQ(preview.matched, 32);
  EXPECT_TRUE(preview.exact);
  EXPECT_EQ(preview.by_state[static_cast<std::size_t>(TaskState::kPending)], 30);
  EXPECT_EQ(preview.by_state[static_cast<std::size_t>(TaskState::kScheduled)], 1);
  EXPECT_EQ(preview.by_state[static_cast<std::size_t>(TaskState::kRunning)], 1);
  EXPECT_EQ(preview.sample.size(), kBulkSampleMax);
  EXPECT_EQ(world(), before);
  EXPECT_TRUE(must(queue().bulk_operations()).empty());
}

TEST_P(Bulk, EachTaskIsRetriedOnceHoweverSoonItFailsAgain) {
  std::vector<TaskId> ids;
  for (int i = 0; i < 5; ++i) {
    const Lease lease = start_work();
    fail(lease, ErrorClass::kInvalid);
    ids.push_back(lease.task);
  }
  pass(1s);
  const BulkOperation started =
      start_bulk({.verb = BulkVerb::kRetry, .filter = TaskFilter{.type = "work"}, .verdict = kBulkVerdict});
  EXPECT_EQ(started.total, 5);
  const BulkOperation ended = finished(started.id);
  EXPECT_EQ(ended.done, 5);
  for (const TaskId& id : ids) {
    EXPECT_EQ(story(id), "enqueued claimed failed retried");
    EXPECT_EQ(get(id).generation, 2);
  }
  // One that fails after the start is not caught by it.
  const Lease again = claim_one().lease;
  const BulkOperation second = start_bulk({.verb = BulkVerb::kRetry, .filter = TaskFilter{}});
  pass(1s);
  fail(again, ErrorClass::kInvalid);
  EXPECT_EQ(finished(second.id).done, 0);
  EXPECT_EQ(state(again.task), TaskState::kFailed);
}

TEST_P(Bulk, RetriesWithAnotherPayloadAndAtATime) {
  const Lease lease = start_new({.type = "work", .payload = R"({"a":1,"b":2})"});
  fail(lease, ErrorClass::kInvalid);
  const Time at = now() + 1h;
  const BulkOperation ended = run_bulk({.verb = BulkVerb::kRetry,
                                        .filter = TaskFilter{},
                                        .verdict = kBulkVerdict,
                                        .retry = RetryOrder{.patch = R"({"a":5})", .run_at = at}});
  EXPECT_EQ(ended.done, 1);
  EXPECT_EQ(state(lease.task), TaskState::kScheduled);
  EXPECT_EQ(get(lease.task).payload, R"({"a":5,"b":2})");
  EXPECT_EQ(get(lease.task).run_at, at);
  EXPECT_EQ(ended.order.retry->patch, std::nullopt) << "what may be large is not kept after the end";
}

TEST_P(Bulk, EditsWhatWaits) {
  const auto ids = enqueue_many(3, {.type = "work", .tags = {"x"}});
  start(ids[0]);
  const BulkOperation ended = run_bulk({.verb = BulkVerb::kEdit,
                                        .filter = TaskFilter{.tag = "x"},
                                        .verdict = kBulkVerdict,
                                        .edit = EditOrder{.priority = 1, .delay = 1h}});
  EXPECT_EQ(ended.done, 2);
  EXPECT_EQ(get(ids[0]).priority, 5);
  EXPECT_EQ(get(ids[2]).priority, 1);
  EXPECT_EQ(get(ids[2]).run_at, ended.started_at + 1h) << "from the start of the operation";
  EXPECT_EQ(state(ids[2]), TaskState::kScheduled);
}

TEST_P(Bulk, EscalatesAndDeletesDeadLetters) {
  const Lease first = start_work();
  fail(first, ErrorClass::kInvalid);
  const Lease second = start_work();
  complete(second);
  EXPECT_EQ(run_bulk({.verb = BulkVerb::kEscalate, .filter = TaskFilter{}, .verdict = kBulkVerdict, .to = "bob"}).done,
            1);
  EXPECT_EQ(get(first.task).escalation->to, "bob");
  EXPECT_EQ(run_bulk({.verb = BulkVerb::kDelete, .filter = TaskFilter{}, .verdict = kBulkVerdict}).done, 1);
  EXPECT_EQ(code_of(queue().get(first.task)), ErrorCode::kNotFound);
  EXPECT_EQ(state(second.task), TaskState::kCompleted) << "without a state, failed tasks are meant";
  EXPECT_EQ(run_bulk({.verb = BulkVerb::kDelete, .filter = TaskFilter{.states = {TaskState::kCompleted}}}).done, 1);
  EXPECT_TRUE(all_tasks().empty());
}

TEST_P(Bulk, TakesIdsAndSaysWhichWereLeft) {
  const TaskId waiting = enqueue_work();
  const Lease ended = start_new({.type = "other", .queue = "work", .priority = 0});
  complete(ended);
  const BulkOperation operation =
      run_bulk({.verb = BulkVerb::kCancel, .ids = {ended.task, waiting}, .verdict = kBulkVerdict});
  EXPECT_EQ(operation.total, 1) << "those that it applies to";
  EXPECT_EQ(operation.done, 1);
  EXPECT_EQ(operation.skipped, 1);
  ASSERT_EQ(operation.problems.size(), 1U);
  EXPECT_EQ(operation.problems[0].id, ended.task);
  EXPECT_EQ(operation.problems[0].code, ErrorCode::kWrongState);
  EXPECT_EQ(state(waiting), TaskState::kCancelled);
  EXPECT_TRUE(operation.order.ids.empty());
}

TEST_P(Bulk, OneStepMayReachATaskTwice) {
  // Newest first: the child is cancelled before its parent, in the same page.
  const TaskId parent = enqueue_work();
  const TaskId child = enqueue_after(parent);
  const TaskId grandchild = enqueue_after(child);
  const BulkOperation operation = run_bulk({.verb = BulkVerb::kCancel, .ids = {child, parent, grandchild}});
  EXPECT_EQ(operation.done, 2);
  EXPECT_EQ(operation.skipped, 1) << "it ended with its parent";
  for (const TaskId& id : {parent, child, grandchild}) EXPECT_EQ(state(id), TaskState::kCancelled);
  const BulkOperation back = run_bulk({.verb = BulkVerb::kRetry, .ids = {parent, child, grandchild}});
  EXPECT_GE(back.done, 1);
  EXPECT_EQ(state(parent), TaskState::kPending);
  EXPECT_EQ(state(grandchild), TaskState::kBlocked);
}

TEST_P(Bulk, AsksRunningTasksToStopOnce) {
  const Lease lease = start_work();
  EXPECT_EQ(run_bulk(cancel_of({})).done, 1);
  EXPECT_EQ(renew(lease), LeaseState::kCancelRequested);
  const BulkOperation again = run_bulk(cancel_of({}));
  EXPECT_EQ(again.done, 0);
  EXPECT_EQ(again.skipped, 1);
  EXPECT_EQ(story(lease.task), "enqueued claimed cancel_requested");
}

TEST_P(Bulk, AStoppedOneChangesNothingMore) {
  enqueue_many(600, {.type = "work"});
  const BulkOperation started = start_bulk(cancel_of({}));
  sweep();
  const BulkOperation stopped = must(queue().stop_bulk(started.id, {.by = "bob", .why = "wrong one"}));
  EXPECT_EQ(stopped.state, BulkState::kStopped);
  EXPECT_TRUE(stopped.ended_at.has_value());
  for (int i = 0; i < 5; ++i) sweep();
  EXPECT_EQ(count_in(TaskState::kCancelled), stopped.done);
  EXPECT_LT(stopped.done, 600);
  EXPECT_EQ(must(queue().stop_bulk(started.id, {})).done, stopped.done) << "it is stopped already";
  EXPECT_EQ(bulk_story(), (std::vector<std::string>{"bulk.started", "bulk.stopped"}));
  const BulkOperation completed = run_bulk(cancel_of({.type = "none"}));
  EXPECT_EQ(code_of(queue().stop_bulk(completed.id, {})), ErrorCode::kWrongState);
}

TEST_P(Bulk, GoesOnInAnotherProcess) {
  enqueue_many(600, {.type = "work"});
  const BulkOperation started = start_bulk(cancel_of({}));
  sweep();
  const std::int64_t before = must(queue().bulk_operation(started.id)).done;
  EXPECT_GT(before, 0);
  EXPECT_LT(before, 600);
  reopen();
  const BulkOperation ended = finished(started.id);
  EXPECT_EQ(ended.done, 600);
  EXPECT_EQ(ended.order.filter->states.size(), 5U) << "the states that were meant";
  EXPECT_EQ(ended.order.verdict.why, kBulkVerdict.why);
}

TEST_P(Bulk, SeveralGoOnInTurns) {
  enqueue_many(300, {.type = "work"});
  enqueue_many(300, {.type = "other", .queue = "work"});
  const BulkId first = start_bulk(cancel_of({.type = "work"})).id;
  advance(1ms);
  const BulkId second = start_bulk(cancel_of({.type = "other"})).id;
  pass(1ms);
  pass(1ms);
  EXPECT_GT(must(queue().bulk_operation(first)).done, 0);
  EXPECT_GT(must(queue().bulk_operation(second)).done, 0);
  EXPECT_EQ(finished(first).done, 300);
  EXPECT_EQ(finished(second).done, 300);
  const auto operations = must(queue().bulk_operations());
  ASSERT_EQ(operations.size(), 2U);
  EXPECT_EQ(operations.front().id, second) << "newest first";
}

TEST_P(Bulk, RefusesWhatMakesNoSense) {
  const TaskId id = enqueue_work();
  const std::vector<std::pair<BulkOrder, ErrorCode>> cases{
      {{}, ErrorCode::kInvalidArgument},
      {{.filter = TaskFilter{}, .ids = {id}}, ErrorCode::kInvalidArgument},
      {{.ids = {id, id}}, ErrorCode::kInvalidArgument},
      {{.ids = std::vector<TaskId>(kBulkIdsMax + 1, id)}, ErrorCode::kInvalidArgument},
      {{.filter = TaskFilter{.states = {TaskState::kCompleted}}}, ErrorCode::kInvalidArgument},
      {{.filter = TaskFilter{.type = ""}}, ErrorCode::kInvalidArgument},
      {{.filter = TaskFilter{}, .to = "bob"}, ErrorCode::kInvalidArgument},
      {{.filter = TaskFilter{}, .retry = RetryOrder{}}, ErrorCode::kInvalidArgument},
      {{.verb = BulkVerb::kEdit, .filter = TaskFilter{}}, ErrorCode::kInvalidArgument},
      {{.verb = BulkVerb::kEdit, .filter = TaskFilter{}, .edit = EditOrder{.priority = 77}},
       ErrorCode::kInvalidArgument},
      {{.verb = BulkVerb::kEscalate, .filter = TaskFilter{}}, ErrorCode::kInvalidArgument},
      {{.verb = BulkVerb::kRetry,
        .filter = TaskFilter{},
        .retry = RetryOrder{.payload = "\"" + std::string(kBulkPayloadBytesMax, 'x') + "\""}},
       ErrorCode::kPayloadTooLarge},
      {{.ids = {TaskId::parse("0193300d-2b6b-7c4f-8a1e-00ff10ab5c9d").value()}}, ErrorCode::kNotFound},
  };
  const World before = world();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(code_of(queue().start_bulk(cases[i].first)), cases[i].second) << "case " << i;
    EXPECT_EQ(code_of(queue().preview_bulk(cases[i].first)), cases[i].second) << "case " << i;
  }
  EXPECT_EQ(world(), before);
  const BulkId nobody = BulkId::parse("0193300d-2b6b-7c4f-8a1e-00ff10ab5c9d").value();
  EXPECT_EQ(code_of(queue().bulk_operation(nobody)), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(queue().stop_bulk(nobody, {})), ErrorCode::kNotFound);
}

TEST_P(Bulk, OnlySoManyRunAtATime) {
  enqueue_work();
  for (std::size_t i = 0; i < kBulkRunningMax; ++i) start_bulk(cancel_of({}));
  EXPECT_EQ(code_of(queue().start_bulk(cancel_of({}))), ErrorCode::kLimitExceeded);
  sweep();
  start_bulk(cancel_of({}));
}

TEST_P(Bulk, EndedOnesAreForgotten) {
  for (std::size_t i = 0; i < 3; ++i) run_bulk(cancel_of({}));
  EXPECT_EQ(must(queue().bulk_operations()).size(), 3U);
  for (int day = 0; day < 9; ++day) {
    for (int hour = 0; hour < 24; ++hour) pass(1h);
  }
  EXPECT_TRUE(must(queue().bulk_operations()).empty());
}

TEST_P(Bulk, ARecordThatSweepersMissIsRepaired) {
  enqueue_work();
  start_bulk(cancel_of({}));
  auto document = must(read_bulk_document(store()));
  StepGroup group;
  group.document = step_of(document, {});
  group.document->due = false;
  ASSERT_EQ(must(store().apply(std::span(&group, 1))).front(), Applied::kDone);
  const auto found = must(queue().fsck(FsckMode::kCheck));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].code, "bulk_due");
  EXPECT_TRUE(must(queue().fsck(FsckMode::kRepair)).at(0).repaired);
  EXPECT_TRUE(must(queue().fsck(FsckMode::kCheck)).empty());
  EXPECT_EQ(must(store().next_wake()), Millis{0});
}

TEST_P(Bulk, TwoSweepersDoAStepOnce) {
  enqueue_many(10, {.type = "work"});
  const BulkOperation started = start_bulk(cancel_of({}));
  auto document = must(read_bulk_document(store()));
  finished(started.id);
  StepGroup late;
  late.document = step_of(document, {});
  EXPECT_EQ(must(store().apply(std::span(&late, 1))).front(), Applied::kConflict);
  EXPECT_EQ(count_in(TaskState::kCancelled), 10);
}

}  // namespace
}  // namespace drover::test
