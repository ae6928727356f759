// Events: one per transition, numbered without gaps, read by cursor.
#include <map>

#include "conformance/conformance.h"

namespace drover::test {
namespace {

CONFORMANCE_SUITE(Events);

TEST_P(Events, AnEmptyStoreHasNone) {
  EXPECT_TRUE(must(queue().events(0, 10)).empty());
  EXPECT_EQ(must(queue().last_event_seq()), 0);
}

TEST_P(Events, AreNumberedWithoutGaps) {
  for (int i = 0; i < 5; ++i) enqueue_work();
  drain();
  std::int64_t seq = 0;
  for (const Event& event : all_events()) EXPECT_EQ(event.seq, ++seq);
  EXPECT_EQ(seq, 15);
  EXPECT_EQ(must(queue().last_event_seq()), seq);
}

TEST_P(Events, AreReadByCursor) {
  for (int i = 0; i < 5; ++i) enqueue_work();
  const auto first = must(queue().events(0, 3));
  ASSERT_EQ(first.size(), 3U);
  const auto second = must(queue().events(first.back().seq, 3));
  ASSERT_EQ(second.size(), 2U);
  EXPECT_EQ(second.front().seq, first.back().seq + 1);
  EXPECT_TRUE(must(queue().events(second.back().seq, 3)).empty());
  const TaskId later = enqueue_work();
  EXPECT_EQ(must(queue().events(second.back().seq, 3)).at(0).task, later);
}

// More than a store may keep together, of two kinds that take turns.
TEST_P(Events, ThoseOfManyTasksOfOneCallAreEachOfOneTask) {
  constexpr int kTasks = 250;
  std::vector<TaskSpec> specs;
  for (int i = 0; i < kTasks; ++i) specs.push_back({.type = "work", .priority = i % 50 < 40 ? 5 : 6});
  std::vector<TaskId> ids;
  for (const Enqueued& one : must(queue().enqueue(specs))) ids.push_back(one.id);
  std::vector<Settlement> ends;
  for (const ClaimedTask& one : claim(kTasks)) ends.push_back({one.lease, Completion{.result = "1"}});
  ASSERT_EQ(ends.size(), ids.size());
  for (const auto& state : queue().settle(ends)) EXPECT_EQ(must(state), TaskState::kCompleted);

  const std::vector<Event> events = all_events();
  ASSERT_EQ(events.size(), 3 * ids.size());
  std::int64_t seq = 0;
  for (const Event& event : events) {
    const auto at = static_cast<std::size_t>(seq++);
    EXPECT_EQ(event.seq, seq);
    if (at < ids.size()) {
      EXPECT_EQ(event.task, ids[at]) << "in the order of the call";
    }
  }
  for (const std::size_t at : {0, 1, 99, 100, 101, 249, 250, 600, 749}) {
    const auto page = must(queue().events(static_cast<std::int64_t>(at), 1));
    ASSERT_EQ(page.size(), 1U) << at;
    EXPECT_EQ(page[0].task, events[at].task) << at;
    EXPECT_EQ(page[0].name, events[at].name) << at;
    EXPECT_EQ(page[0].data, events[at].data) << at;
  }
  std::map<TaskId, std::string> stories;
  for (const Event& event : events) stories[event.task] += event.name + " ";
  for (const TaskId& id : ids) EXPECT_EQ(stories[id], "task.enqueued task.claimed task.completed ");
}

TEST_P(Events, ACursorBeyondTheEndGivesNothing) {
  enqueue_work();
  EXPECT_TRUE(must(queue().events(1'000'000, 10)).empty());
}

TEST_P(Events, NumbersGoOnAfterARestart) {
  enqueue_work();
  reopen();
  enqueue_work();
  const auto events = all_events();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].seq, 2);
}

TEST_P(Events, TellTheTimeAndTheState) {
  const TaskId id = enqueue_work();
  advance(1s);
  const Lease lease = start(id);
  advance(1s);
  complete(lease);
  const auto events = events_of(id);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].state, TaskState::kPending);
  EXPECT_EQ(events[1].state, TaskState::kRunning);
  EXPECT_EQ(events[1].at, now() - 1s);
  EXPECT_EQ(events[2].state, TaskState::kCompleted);
  EXPECT_EQ(events[2].at, now());
}

TEST_P(Events, CarryWhatBelongsToThem) {
  const Lease failed = start_work();
  fail(failed, ErrorClass::kInvalid, "no \"good\"");
  EXPECT_EQ(last_event_of(failed.task).data, R"({"class":"invalid","message":"no \"good\""})");
  const TaskId cancelled = enqueue_work();
  must(queue().cancel(cancelled, Verdict{.by = "ada@box", .why = "why"}));
  EXPECT_EQ(last_event_of(cancelled).data, fmt::format(R"({{"reason":"why","by":"{}"}})", signed_as("ada@box")));
  const Lease claimed = start_work();
  EXPECT_EQ(last_event_of(claimed.task).data, R"({"worker_id":"host:1:a"})");
}

TEST_P(Events, ProgressCarriesThePercentAndTheText) {
  const Lease lease = start_work();
  must(queue().progress(lease, {40, "reading"}));
  EXPECT_EQ(last_event_of(lease.task).data, R"({"percent":40,"message":"reading"})");
}

TEST_P(Events, OneOfEveryKind) {
  const TaskId delayed = enqueue({.type = "work", .delay = 1s});
  pass(1s);
  EXPECT_EQ(story(delayed), "enqueued due");
  const Lease lease = start(delayed);
  must(queue().progress(lease, {1, ""}));
  release(lease);
  lose(start(delayed));
  fail(start(delayed), ErrorClass::kRateLimited);
  pass(10s);
  fail(start(delayed));
  pass(10s);
  fail(start(delayed), ErrorClass::kInvalid);
  retry(delayed);
  const Lease last = start(delayed);
  cancel(delayed);
  settle({last, CancelConfirmed{}});
  EXPECT_EQ(story(delayed),
            "enqueued due claimed progressed released claimed stalled claimed deferred due claimed retrying due "
            "claimed failed retried claimed cancel_requested cancelled");
}

TEST_P(Events, ARefusedCallLeavesNone) {
  const Lease lease = start_work();
  complete(lease);
  const std::int64_t before = must(queue().last_event_seq());
  EXPECT_EQ(code_of(queue().fail(lease, {})), ErrorCode::kStaleLease);
  EXPECT_EQ(must(queue().complete(lease, {})).replayed, "completed");
  EXPECT_EQ(code_of(queue().cancel(lease.task, "")), ErrorCode::kWrongState);
  EXPECT_EQ(code_of(queue().retry(lease.task)), ErrorCode::kWrongState);
  EXPECT_EQ(code_of(queue().enqueue_one({.type = ""})), ErrorCode::kInvalidArgument);
  EXPECT_EQ(must(queue().last_event_seq()), before);
}

TEST_P(Events, ABadRequestIsRefused) {
  EXPECT_EQ(code_of(queue().events(0, 0)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(queue().events(0, -1)), ErrorCode::kInvalidArgument);
}

TEST_P(Events, AChangeIsSeenByWhoWaits) {
  const std::uint64_t seen = queue().changes();
  enqueue_work();
  EXPECT_NE(queue().changes(), seen);
  queue().wait_for_change(seen, 1min);  // returns at once: it has changed
}

}  // namespace
}  // namespace drover::test
