// A record comes back from the store exactly as it went in, and the basic verbs move it.
#include <gtest/gtest.h>

#include <functional>

#include "support/other_value.h"
#include "support/printers.h"
#include "unit/store/store_fixture.h"

namespace drover::test {
namespace {

TaskRecord full_record(Time now) {
  TaskRecord record = new_record(1);
  Task& task = record.task;
  task.priority = 2;
  task.payload = R"({"b":1e400,"a":[0.10,123456789012345678901234567890],"é":""})";
  task.prompt = std::string("one\0two", 7);
  task.system_prompt = "";
  task.model = "m";
  task.repo = "r";
  task.base = "b";
  task.agent_id = "a";
  task.source = "s";
  task.traceparent = "00-1-2-03";
  task.fallback_result = R"("later")";
  task.tags = {"z", "a", "z"};
  task.parent_id = id_of(77);
  task.request_id = "r-1";
  task.run_at = now + Millis(5000);
  task.deadline_at = now + Millis(60'000);
  task.max_attempts = 7;
  task.max_stalls = 8;
  task.max_defers = 9;
  task.retry = must(parse_retry_policy("exponential:1500ms,1.7,90s,0.3"));
  task.timeout = Millis(1234);
  task.idle_timeout = Millis(567);
  task.on_parent_failure = OnParentFailure::kRun;
  task.at_most_once = true;
  record.depth = 3;
  record.deadline = Millis(60'000);
  record.request_hash = "abc";
  return record;
}

TEST(StoreRecord, ComesBackAsItWentIn) {
  StoreUnderTest sut;
  TaskRecord record = full_record(sut.clock().wall());
  record.task.created_at = sut.clock().wall();
  Step step = first_step(record, sut.context());
  TaskRecord expected = step.next;
  expected.revision = 1;
  ASSERT_EQ(must(sut->apply(std::vector{group_of({std::move(step)})})), std::vector{Applied::kDone});
  EXPECT_EQ(sut.read(record.task.id), expected);
}

// Ended, with everything that can happen to a task on the way.
void end_with_everything(Step& step, Time now) {
  step.result = Step::ResultWrite::kReplace;
  Task& task = step.next.task;
  task.state = TaskState::kFailed;
  task.priority = 9;
  task.result = "[1,2]";
  task.run_at = now;
  task.started_at = now + Millis(1);
  task.finished_at = now + Millis(2);
  task.deadline_at = now + Millis(3);
  task.run = 4;
  task.attempts = 5;
  task.stalls = 7;
  task.defers = 9;
  task.generation = 11;
  task.timeout = Millis(12);
  task.progress = Progress{14, ""};
  task.worker_id = "w";
  task.cancel_requested_at = now + Millis(4);
  task.cancel_reason = "because";
  task.fallback = true;
  task.error = TaskError{ErrorClass::kContextTooLong, "too long"};
  task.exit_code = 15;
  step.next.place = 16;
  step.next.unmet_parents = 17;
  step.next.dependents = 18;
  step.next.children = 19;
  step.next.ended_by = id_of(20);
  step.next.cascade_due = true;
}

TEST(StoreRecord, EveryFieldThatStepsMoveComesBack) {
  StoreUnderTest sut;
  const TaskRecord added = sut.add(1);
  Step step;
  step.next = added;
  step.expected_revision = added.revision;
  end_with_everything(step, sut.clock().wall());
  ASSERT_EQ(must(sut->apply(std::vector{group_of({step})})), std::vector{Applied::kDone});

  TaskRecord expected = step.next;
  expected.revision = added.revision + 1;
  EXPECT_EQ(sut.read(id_of(1)), expected);
}

TEST(StoreRecord, EveryFieldOfATaskThatIsNewAndEndedComesBack) {
  StoreUnderTest sut;
  Step step = first_step(new_record(1), sut.context());
  end_with_everything(step, sut.clock().wall());
  ASSERT_EQ(must(sut->apply(std::vector{group_of({step})})), std::vector{Applied::kDone});

  TaskRecord expected = step.next;
  expected.revision = 1;
  EXPECT_EQ(sut.read(id_of(1)), expected);
}

struct Difference {
  std::string name;
  std::function<void(TaskRecord&)> make;
};

// Every field that a new task may come with, and some by hand.
std::vector<Difference> differences() {
  std::vector<Difference> all{
      {"no payload", [](TaskRecord& r) { r.task.payload.reset(); }},
      {"empty payload", [](TaskRecord& r) { r.task.payload = ""; }},
      {"empty prompt", [](TaskRecord& r) { r.task.prompt = ""; }},
      {"due", [](TaskRecord& r) { r.task.run_at = Time(Millis(1)); }},
      {"scheduled", [](TaskRecord& r) { r.task.run_at = r.task.created_at + Millis(1'000'000); }},
      {"depends on another", [](TaskRecord& r) { r.task.depends_on = {id_of(r.task.id == id_of(1) ? 2 : 1)}; }},
  };
  visit_task_fields([&](auto field) {
    // Whose values follow from others, or are the store's.
    constexpr bool kIsFree = !field.template is<&Task::id, &Task::state, &Task::checkpoint, &Task::run_at,
                                                &Task::finished_at, &Task::depends_on, &TaskRecord::place,
                                                &TaskRecord::revision, &TaskRecord::lease, &TaskRecord::cascade_due>();
    if constexpr (kIsFree) {
      all.push_back({std::string(field.name()), [field](TaskRecord& record) { make_other(field, record); }});
    }
  });
  return all;
}

// Tasks of one group that are alike are written together: nothing of one may pass for the other's.
TEST(StoreRecord, WhatOneTaskOfAGroupHasForItselfComesBack) {
  for (const Difference& difference : differences()) {
    SCOPED_TRACE(difference.name);
    for (const int different : {0, 1, 3}) {  // 0: all of them
      StoreUnderTest sut;
      std::vector<Step> steps;
      for (int number = 1; number <= 3; ++number) {
        TaskRecord record = new_record(number);
        record.task.created_at = sut.clock().wall();
        if (different == 0 || number == different) difference.make(record);
        if (different == 0 && record.task.request_id) record.task.request_id = std::to_string(number);
        steps.push_back(first_step(std::move(record), sut.context()));
      }
      ASSERT_EQ(must(sut->apply(std::vector{group_of(steps)})), std::vector{Applied::kDone});
      for (const Step& step : steps) {
        TaskRecord expected = step.next;
        expected.revision = 1;
        TaskRecord stored = sut.read(expected.task.id);
        expected.place = stored.place;  // the store gives it
        EXPECT_EQ(stored, expected);
      }
    }
  }
}

// The short way to write the end of a first run carries what it names; whatever else has changed goes the long way.
TEST(StoreRecord, WhatACompletionChangesBesidesComesBack) {
  visit_task_fields([](auto field) {
    constexpr bool kIsFree =
        field.kIs.kept == FieldKept::kMoving && !is_left_at_end(field) &&
        !field.template is<&Task::state, &TaskRecord::revision, &TaskRecord::lease, &TaskRecord::lease_beats>();
    if constexpr (kIsFree) {
      SCOPED_TRACE(field.name());
      StoreUnderTest sut;
      sut.add(1);
      const TaskRecord claimed = sut.claim(1).at(0);
      ASSERT_NE(claimed.kept.seq, 0);
      Step step = must(decide(claimed, trigger::Complete{{.result = "42", .exit_code = 3}}, sut.context()));
      make_other(field, step.next);
      TaskRecord expected = step.next;
      expected.revision = claimed.revision + 1;
      ASSERT_EQ(must(sut->apply(std::vector{group_of({step})})), std::vector{Applied::kDone});
      EXPECT_EQ(sut.read(id_of(1)), expected);
    }
  });
}

TEST(StoreRecord, HeadLeavesTheBodyOut) {
  StoreUnderTest sut;
  sut.add(full_record(sut.clock().wall()));
  const TaskRecord head = *must(sut->read(std::vector{id_of(1)}, Parts::kHead)).at(0);
  EXPECT_EQ(head.task.type, "build");
  EXPECT_EQ(head.task.payload, std::nullopt);
  EXPECT_TRUE(head.task.tags.empty());
}

// A completion that goes by what its claim remembers leaves what one that was read again leaves, whatever was noted
// meanwhile.
TEST(StoreRecord, CompletesAsClaimedAsItDoesAsRead) {
  const std::vector<std::function<void(Store&, const Lease&)>> meanwhile{
      [](Store&, const Lease&) {},
      [](Store& store, const Lease& lease) {
        static_cast<void>(must(store.renew("host:1:w", std::vector{lease}, Millis(60'000))));
      },
      [](Store& store, const Lease& lease) {
        const Note note{.lease = lease, .progress = {}, .checkpoint = R"({"at":7})", .log = {}};
        EXPECT_EQ(must(store.note(std::vector{note})), std::vector{true});
      },
      [](Store& store, const Lease& lease) {
        const Note note{.lease = lease, .progress = {}, .checkpoint = {}, .log = {{LogStream::kOut, "text"}}};
        EXPECT_EQ(must(store.note(std::vector{note})), std::vector{true});
      },
  };
  for (std::size_t i = 0; i < meanwhile.size(); ++i) {
    SCOPED_TRACE(i);
    StoreUnderTest sut;
    sut.add(1);
    sut.add(2);
    const std::vector<TaskRecord> claimed = sut.claim(2);
    for (const TaskRecord& record : claimed) meanwhile[i](sut.store(), {record.task.id, record.lease});
    const TaskRecord as_read = sut.read(id_of(2));
    ASSERT_NE(claimed[0].kept.seq, 0);
    ASSERT_EQ(as_read.kept.seq, 0);
    sut.clock().advance(Millis(250));
    const trigger::Complete complete{{.result = "42", .exit_code = 3}};
    std::vector<StepGroup> groups;
    for (const TaskRecord& record : {claimed[0], as_read}) {
      groups.push_back(group_of({must(decide(record, complete, sut.context()))}));
    }
    ASSERT_EQ(must(sut->apply(groups)), (std::vector{Applied::kDone, Applied::kDone}));

    TaskRecord one = sut.read(id_of(1));
    const TaskRecord other = sut.read(id_of(2));
    EXPECT_EQ(one.task.result, "42");
    one.task.id = other.task.id;
    one.place = other.place;
    EXPECT_EQ(one, other);
    std::vector<RunSummary> runs = must(sut->runs(id_of(1), 5));
    const std::vector<RunSummary> others = must(sut->runs(id_of(2), 5));
    ASSERT_TRUE(runs.at(0).settlement && others.at(0).settlement);
    runs[0].settlement->lease = others[0].settlement->lease;
    EXPECT_EQ(runs, others);
    EXPECT_EQ(codes_of(must(sut->fsck(FsckMode::kCheck))), std::vector<std::string>());
  }
}

TEST(StoreRecord, CompletesNothingThatHasMovedSinceItsClaim) {
  StoreUnderTest sut;
  sut.add(1);
  const TaskRecord claimed = sut.claim(1).at(0);
  const Step step = must(decide(claimed, trigger::Complete{{.result = "42", .exit_code = {}}}, sut.context()));
  const TaskRecord asked = sut.step(id_of(1), trigger::Cancel{"no use"});
  EXPECT_EQ(must(sut->apply(std::vector{group_of({step})})), std::vector{Applied::kConflict});
  EXPECT_EQ(sut.read(id_of(1)), asked);
}

TEST(StoreRecord, ReadsInTheOrderOfIdsAndNothingForStrangers) {
  StoreUnderTest sut;
  sut.add(1);
  sut.add(2);
  const auto records = must(sut->read(std::vector{id_of(2), id_of(9), id_of(1)}, Parts::kHead));
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0]->task.id, id_of(2));
  EXPECT_EQ(records[1], std::nullopt);
  EXPECT_EQ(records[2]->task.id, id_of(1));
}

TEST(StoreRecord, OneLifeLeavesItsRunAndItsEvents) {
  StoreUnderTest sut;
  sut.add(1);
  ASSERT_EQ(sut.claim(5).size(), 1U);
  const TaskRecord running = sut.read(id_of(1));
  EXPECT_EQ(running.task.state, TaskState::kRunning);
  EXPECT_EQ(running.lease, lease_of(1000));
  EXPECT_EQ(running.task.worker_id, "host:1:w");
  EXPECT_TRUE(sut.claim(5).empty());

  sut.clock().advance(Millis(250));
  const TaskRecord done = sut.step(id_of(1), trigger::Complete{{.result = "42", .exit_code = 0}});
  EXPECT_EQ(done.task.state, TaskState::kCompleted);
  EXPECT_EQ(done.task.result, "42");
  EXPECT_TRUE(done.lease.is_none());

  const std::vector<RunSummary> runs = must(sut->runs(id_of(1), 10));
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].run, 1);
  EXPECT_EQ(runs[0].outcome, "completed");
  EXPECT_EQ(runs[0].worker_id, "host:1:w");
  EXPECT_EQ(*runs[0].ended_at - runs[0].started_at, Millis(250));

  const std::vector<Event> events = must(sut->events(0, 10));
  EXPECT_EQ(names_of(events), (std::vector<std::string>{"task.enqueued", "task.claimed", "task.completed"}));
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].seq, static_cast<std::int64_t>(i + 1));
    EXPECT_EQ(events[i].task, id_of(1));
  }
  EXPECT_EQ(events.back().state, TaskState::kCompleted);
  EXPECT_EQ(must(sut->last_event_seq()), 3);
  EXPECT_EQ(codes_of(must(sut->fsck(FsckMode::kCheck))), std::vector<std::string>());
}

}  // namespace
}  // namespace drover::test
