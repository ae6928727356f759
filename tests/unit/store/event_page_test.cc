// Events that were made together share a row: each is still read, kept and let go by itself.
#include "store/sqlite/event_page.h"

#include <gtest/gtest.h>

#include "store/sqlite/connection.h"
#include "unit/store/store_fixture.h"

namespace drover::test {
namespace {

using sqlite::EventPage;
using sqlite::kEventsPerPage;
using sqlite::SqliteFailure;
using sqlite::unpack_events;

Event event_of(std::int64_t seq, int task) {
  return {.seq = seq,
          .at = Time(Millis(1'000 + seq)),
          .name = "task.started",
          .task = id_of(task),
          .type = "build",
          .queue = "q",
          .owner = "ann",
          .state = TaskState::kRunning,
          .run = 2,
          .generation = 1,
          .data = R"({"text":"tab \t and line \n stay escaped"})"};
}

TEST(EventPage, HoldsEveryFieldOfEveryEvent) {
  std::vector<Event> events{event_of(7, 1), event_of(8, 1), event_of(9, 2), event_of(10, 3)};
  events[1].name = "task.completed";
  events[1].state = TaskState::kCompleted;
  events[2].owner = "bob";
  events[2].at = Time(Millis(-5));
  events[3].task = TaskId();  // of a gate
  events[3].type = events[3].queue = events[3].owner = "";
  EventPage page;
  for (const Event& event : events) page.add(event);
  EXPECT_EQ(page.count(), 4);
  EXPECT_EQ(unpack_events(page.lines(), 7), events);
}

TEST(EventPage, StartsAnewWhenItIsCleared) {
  EventPage page;
  page.add(event_of(1, 1));
  page.clear();
  page.add(event_of(2, 1));
  EXPECT_EQ(unpack_events(page.lines(), 2), std::vector{event_of(2, 1)});
}

TEST(EventPage, RefusesWhatIsDamaged) {
  EventPage page;
  page.add(event_of(1, 1));
  const std::string line = page.lines();
  EXPECT_THROW(static_cast<void>(unpack_events(line.substr(0, line.size() - 1), 1)), SqliteFailure) << "no end";
  EXPECT_THROW(static_cast<void>(unpack_events("x" + line, 1)), SqliteFailure) << "no number";
  EXPECT_THROW(static_cast<void>(unpack_events("1\ttask.started\n", 1)), SqliteFailure) << "too few fields";
  std::string longer = line;
  longer.insert(longer.size() - 1, "\t1");
  EXPECT_THROW(static_cast<void>(unpack_events(longer, 1)), SqliteFailure) << "too many fields";
  std::string other_state = line;
  other_state.replace(other_state.find("\t3\t"), 3, "\t9\t");
  EXPECT_THROW(static_cast<void>(unpack_events(other_state, 1)), SqliteFailure) << "no such state";
}

std::vector<TaskRecord> new_records(int count) {
  std::vector<TaskRecord> records;
  for (int i = 1; i <= count; ++i) records.push_back(new_record(i));
  return records;
}

class EventPageStore : public ::testing::Test {
 protected:
  static constexpr int kTasks = 2 * kEventsPerPage + 10;

  void SetUp() override {
    ASSERT_EQ(must(sut_.try_add(new_records(kTasks))), std::vector{Applied::kDone});
    ASSERT_EQ(RawDatabase(path_).number("SELECT count(*) FROM event_page"), 3);
  }

  const TempDir dir_;
  const std::string path_ = dir_.file("q.db");
  StoreUnderTest sut_{path_};
};

TEST_F(EventPageStore, IsReadFromAnyEventOn) {
  for (const int after : {0, 1, kEventsPerPage - 1, kEventsPerPage, kTasks - 1}) {
    const std::vector<Event> events = must(sut_->events(after, kEventsPerPage + 5));
    ASSERT_EQ(events.size(), static_cast<std::size_t>(std::min(kEventsPerPage + 5, kTasks - after))) << after;
    EXPECT_EQ(events.front().seq, after + 1);
    EXPECT_EQ(events.front().task, id_of(after + 1));
    EXPECT_EQ(events.back().seq, after + static_cast<std::int64_t>(events.size()));
  }
  EXPECT_TRUE(must(sut_->events(kTasks, 10)).empty());
}

TEST_F(EventPageStore, IsCutWhereRetentionEnds) {
  Retention retention;
  retention.events_max = kEventsPerPage + 3;
  must(sut_->expire(retention, 1'000));
  const std::vector<Event> events = must(sut_->events(0, 1'000));
  ASSERT_EQ(events.size(), static_cast<std::size_t>(kEventsPerPage + 3));
  EXPECT_EQ(events.front().seq, kTasks - kEventsPerPage - 2);
  EXPECT_EQ(events.front().task, id_of(kTasks - kEventsPerPage - 2));
  EXPECT_EQ(codes_of(must(sut_->fsck(FsckMode::kCheck))), std::vector<std::string>());
}

TEST_F(EventPageStore, IsNotWrittenByAGroupThatIsRefused) {
  std::vector<TaskRecord> records = new_records(kTasks + kEventsPerPage);
  records.erase(records.begin(), records.begin() + kTasks);
  records.push_back(new_record(1));
  EXPECT_EQ(must(sut_.try_add(records)), std::vector{Applied::kIdTaken});
  EXPECT_EQ(must(sut_->last_event_seq()), kTasks);
  EXPECT_EQ(codes_of(must(sut_->fsck(FsckMode::kCheck))), std::vector<std::string>());
}

}  // namespace
}  // namespace drover::test
