// Retention: finished tasks and old events go in time; unfinished work is never touched.
#include <fmt/format.h>

#include "conformance/conformance.h"

namespace drover::test {
namespace {

class Retaining : public ConformanceTest {
 protected:
  // From the beginning: a store that is in use before anybody looks at its clock trusts that after an hour.
  Retaining() { sweep(); }

  bool exists(const TaskId& id) { return queue().get(id).has_value(); }
  TaskId finished(const TaskSpec& spec = {.type = "work"}) {
    const Lease lease = start_new(spec);
    complete(lease);
    return lease.task;
  }
};
ON_EVERY_STORE(Retaining);

TEST_P(Retaining, FinishedTasksGoAfterSevenDays) {
  const TaskId id = finished();
  pass(24h * 7 - 1ms);
  EXPECT_TRUE(exists(id));
  pass(2min);
  EXPECT_FALSE(exists(id));
  EXPECT_TRUE(all_tasks().empty());
}

TEST_P(Retaining, WhateverTheirEnd) {
  const TaskId failed = place_in(TaskState::kFailed).id;
  const TaskId cancelled = place_in(TaskState::kCancelled).id;
  pass(24h * 8);
  EXPECT_FALSE(exists(failed));
  EXPECT_FALSE(exists(cancelled));
}

TEST_P(Retaining, NeverTouchesUnfinishedWork) {
  set_limits(R"({"retention":"1m","retention_tasks":1,"retention_bytes":1})");
  const TaskId pending = enqueue({.type = "work", .payload = R"("some bytes")"});
  const TaskId scheduled = enqueue({.type = "work", .run_at = now() + 24h * 300});
  const TaskId blocked = enqueue_after(pending);
  const auto running = claim({{.queue = "work"}}, 1, 24h);
  ASSERT_EQ(running.size(), 1U);
  const TaskId waiting = enqueue_work();
  pass(23h);
  for (const TaskId& id : {pending, scheduled, blocked, waiting}) EXPECT_TRUE(exists(id));
  EXPECT_EQ(state(pending), TaskState::kRunning);
  pass(24h * 30);
  EXPECT_EQ(state(pending), TaskState::kStalled);
  for (const TaskId& id : {pending, scheduled, blocked, waiting}) EXPECT_TRUE(exists(id));
}

TEST_P(Retaining, TheAgeCountsFromTheEnd) {
  set_limits(R"({"retention":"1h"})");
  const TaskId old = enqueue_work();
  pass(24h);
  complete(start(old));
  pass(30min);
  EXPECT_TRUE(exists(old));
  pass(31min);
  EXPECT_FALSE(exists(old));
}

TEST_P(Retaining, WhatAnUnfinishedTaskDependsOnStays) {
  set_limits(R"({"retention":"1h"})");
  const TaskId parent = enqueue_work();
  const TaskId dependent = enqueue({.type = "work", .depends_on = {parent}, .run_at = now() + 24h});
  complete(start(parent), R"("read me")");
  const TaskId other = finished();
  pass(2h);
  EXPECT_FALSE(exists(other)) << "one that stays does not stand in the way of others";
  EXPECT_EQ(get(parent).result, R"("read me")");
  pass(22h);
  complete(start(dependent));
  pass(2min);
  EXPECT_FALSE(exists(parent));
  EXPECT_TRUE(exists(dependent));
  pass(2h);
  EXPECT_FALSE(exists(dependent));
}

TEST_P(Retaining, ChildrenStayWhileTheirSpawnerWaits) {
  set_limits(R"({"retention":"1h"})");
  const Lease lease = start_work();
  const auto children = must(queue().spawn(lease, std::vector<TaskSpec>{{.type = "child"}, {.type = "child"}}));
  settle({lease, Suspend{}});
  complete(claim({{.queue = "child"}}, 1).at(0).lease);
  pass(3h);
  EXPECT_TRUE(exists(children[0].id));
  complete(claim({{.queue = "child"}}, 1).at(0).lease);
  complete(start(lease.task));
  pass(2min);
  EXPECT_FALSE(exists(children[0].id));
  EXPECT_TRUE(exists(children[1].id));
}

TEST_P(Retaining, ACapTakesWhatOthersDependOn) {
  set_limits(R"({"retention":"1h","retention_tasks":1})");
  const TaskId parent = enqueue_work();
  const TaskId dependent = enqueue({.type = "work", .depends_on = {parent}, .run_at = now() + 24h});
  complete(start(parent));
  pass(2h);
  EXPECT_TRUE(exists(parent));
  finished();
  pass(2min);
  EXPECT_FALSE(exists(parent));
  pass(22h);
  EXPECT_EQ(claim_one().task.id, dependent);
}

TEST_P(Retaining, ByCountTheOldestGoFirst) {
  set_limits(R"({"retention_tasks":2})");
  std::vector<TaskId> ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(finished());
    advance(1s);
  }
  pass(2min);
  EXPECT_FALSE(exists(ids[0]));
  EXPECT_FALSE(exists(ids[1]));
  EXPECT_TRUE(exists(ids[2]));
  EXPECT_TRUE(exists(ids[3]));
}

TEST_P(Retaining, ByBytesTheOldestGoFirst) {
  set_limits(R"({"retention_bytes":25000})");
  std::vector<TaskId> ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(finished({.type = "work", .payload = fmt::format(R"("{}")", std::string(10'000, 'x'))}));
    advance(1s);
  }
  pass(2min);
  EXPECT_FALSE(exists(ids[0]));
  EXPECT_FALSE(exists(ids[1]));
  EXPECT_TRUE(exists(ids[2]));
  EXPECT_TRUE(exists(ids[3]));
}

TEST_P(Retaining, TheEndOfATaskIsAnEvent) {
  set_limits(R"({"retention":"1h"})");
  const TaskId id = finished();
  pass(2h);
  ASSERT_FALSE(exists(id));
  EXPECT_EQ(last_event_of(id).name, "task.deleted");
}

TEST_P(Retaining, TakesRunsAndLogAlong) {
  set_limits(R"({"retention":"1h"})");
  const Lease lease = start_work();
  must(queue().append_log(lease, std::vector<LogChunk>{{LogStream::kOut, "text"}}));
  complete(lease);
  pass(2h);
  EXPECT_EQ(code_of(queue().runs(lease.task)), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(queue().log(lease.task, 0, 10)), ErrorCode::kNotFound);
  EXPECT_TRUE(all_tasks({.tag = "x"}).empty());
}

TEST_P(Retaining, ADependentOutlivesItsParent) {
  set_limits(R"({"retention_tasks":1})");
  const TaskId parent = enqueue_work();
  const TaskId child = enqueue({.type = "work", .depends_on = {parent}, .run_at = now() + 24h});
  complete(start(parent));
  finished();
  pass(2h);
  EXPECT_FALSE(exists(parent));
  EXPECT_EQ(state(child), TaskState::kScheduled);
  EXPECT_EQ(get(child).depends_on, std::vector{parent});
  pass(24h);
  EXPECT_EQ(drain(), std::vector{child});
}

TEST_P(Retaining, AChildOutlivesItsSpawner) {
  set_limits(R"({"retention":"1h"})");
  const Lease spawner = start_work();
  const TaskId child = must(queue().spawn(spawner, std::vector<TaskSpec>{{.type = "child"}})).front().id;
  complete(spawner);
  pass(2h);
  EXPECT_FALSE(exists(spawner.task));
  EXPECT_EQ(state(child), TaskState::kPending);
  EXPECT_EQ(get(child).parent_id, spawner.task);
  cancel(child);
}

TEST_P(Retaining, ATaskWhoseParentIsGoneMayBeRetried) {
  set_limits(R"({"retention":"1h"})");
  const TaskId parent = enqueue_work();
  const TaskId child = enqueue_after(parent);
  complete(start(parent));
  pass(50min);
  fail(start(child), ErrorClass::kInvalid);
  pass(20min);
  ASSERT_FALSE(exists(parent));
  EXPECT_EQ(retry(child).state, TaskState::kPending);
}

const Millis kSteps[] = {10s, 1h, 24h * 8, 24h * 3650};

TEST_P(Retaining, NothingGoesEarlyWhenSomebodySetsTheClock) {
  const TaskId id = finished();
  for (const Millis step : kSteps) {
    for (const Millis by : {step, -step, -step, step}) {
      set_clock(by);
      sweep();
      pass(3s);
      pass(1min);
      EXPECT_TRUE(exists(id)) << by.count();
    }
  }
  EXPECT_EQ(story(id), "enqueued claimed completed");
  EXPECT_EQ(must(queue().events(0, 1)).at(0).seq, 1);
  pass(24h * 7);
  EXPECT_FALSE(exists(id)) << "it goes in time, though not early";
}

TEST_P(Retaining, WhatEndedWhileTheClockWasBehindStaysAsLongAsOthers) {
  set_clock(-24h * 3650);
  sweep();
  const TaskId id = finished();
  pass(3s);
  set_clock(24h * 3650);
  sweep();
  pass(24h * 6);
  EXPECT_TRUE(exists(id)) << "it says that it ended ten years ago";
  pass(24h);
  EXPECT_FALSE(exists(id));
}

TEST_P(Retaining, AClockThatRunsSteadilyIsBelievedAfterAnHour) {
  const TaskId id = finished();
  set_clock(24h * 8);
  sweep();
  pass(59min);
  EXPECT_TRUE(exists(id));
  pass(2min);
  EXPECT_FALSE(exists(id));
}

TEST_P(Retaining, AStepIsRememberedOverARestart) {
  const TaskId id = finished();
  set_clock(24h * 8);
  reopen();
  sweep();
  EXPECT_TRUE(exists(id));
  pass(59min);
  EXPECT_TRUE(exists(id));
}

TEST_P(Retaining, ByCountGoesOnWhateverTheClockShows) {
  set_limits(R"({"retention_tasks":1})");
  const TaskId first = finished();
  advance(1s);
  const TaskId second = finished();
  set_clock(24h * 3650);
  sweep();
  EXPECT_FALSE(exists(first));
  EXPECT_TRUE(exists(second));
}

TEST_P(Retaining, OldEventsGoAndNumbersGoOn) {
  set_limits(R"({"event_retention":"1h"})");
  enqueue_work();
  pass(2h);
  EXPECT_TRUE(must(queue().events(0, 10)).empty());
  enqueue_work();
  const auto events = must(queue().events(0, 10));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].seq, 2);
}

TEST_P(Retaining, EventsGoByCountToo) {
  set_limits(R"({"event_retention_count":3})");
  enqueue_all(std::vector<TaskSpec>(10, TaskSpec{.type = "work"}));
  pass(2min);
  const auto events = must(queue().events(0, 100));
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].seq, 8);
  EXPECT_EQ(events[2].seq, 10);
}

}  // namespace
}  // namespace drover::test
