// Retention: by age, by number and by size; never unfinished work.
#include <gtest/gtest.h>

#include "support/printers.h"
#include "unit/store/store_fixture.h"

namespace drover::test {
namespace {

constexpr Millis kForEver{1'000'000'000'000};
const Retention kKeepAll{};

// Ends a task that was just added.
void end(StoreUnderTest& sut, int number) {
  sut.step(id_of(number), trigger::Cancel{"enough"});
}

bool exists(StoreUnderTest& sut, int number) {
  return must(sut->read(std::vector{id_of(number)}, Parts::kHead)).at(0).has_value();
}

TEST(StoreRetention, ByAgeOldestFirst) {
  StoreUnderTest sut;
  for (int i = 1; i <= 3; ++i) {
    sut.add(i);
    end(sut, i);
    sut.clock().advance(Millis(1000));
  }
  sut.add(4);
  Retention retention = kKeepAll;
  retention.finished_until = sut.clock().wall() - Millis(2000);
  EXPECT_EQ(must(sut->expire(retention, 10)), 2);
  EXPECT_FALSE(exists(sut, 1));
  EXPECT_FALSE(exists(sut, 2));
  EXPECT_TRUE(exists(sut, 3));
  sut.clock().advance(kForEver / 2);
  EXPECT_EQ(must(sut->expire(retention, 10)), 0) << "the store's own clock does not count";
  retention.finished_until = sut.clock().wall() - Millis(2000);
  EXPECT_EQ(must(sut->expire(retention, 10)), 1);
  EXPECT_TRUE(exists(sut, 4)) << "unfinished work stays however old it is";
}

TEST(StoreRetention, ByNumberAndAtMostTheLimit) {
  StoreUnderTest sut;
  for (int i = 1; i <= 5; ++i) {
    sut.add(i);
    end(sut, i);
    sut.clock().advance(Millis(1));
  }
  Retention retention = kKeepAll;
  retention.tasks_max = 1;
  EXPECT_EQ(must(sut->expire(retention, 3)), 3);
  EXPECT_EQ(must(sut->expire(retention, 3)), 1);
  EXPECT_EQ(must(sut->expire(retention, 3)), 0);
  EXPECT_TRUE(exists(sut, 5));
}

TEST(StoreRetention, BySizeOfBodyResultAndLog) {
  SqliteOptions options;
  StoreUnderTest sut(std::move(options));
  for (int i = 1; i <= 3; ++i) {
    TaskRecord record = new_record(i);
    record.task.payload = std::string(1'000, '1');
    sut.add(record);
    sut.claim(1, 1000 + i);
    const Lease lease{id_of(i), lease_of(1000 + i)};
    ASSERT_EQ(must(sut->note(std::vector{Note{.lease = lease, .log = {{LogStream::kOut, std::string(3'000, 'x')}}}})),
              std::vector{true});
    sut.step(id_of(i), trigger::Complete{{.result = std::string(2'000, '2')}});
    sut.clock().advance(Millis(1));
  }
  Retention retention = kKeepAll;
  retention.bytes_max = 12'500;
  EXPECT_EQ(must(sut->expire(retention, 10)), 1);
  EXPECT_FALSE(exists(sut, 1));
  retention.bytes_max = 11'999;
  EXPECT_EQ(must(sut->expire(retention, 10)), 1);
  EXPECT_TRUE(exists(sut, 3));
}

TEST(StoreRetention, NothingOfADeletedTaskIsLeftButItsEvents) {
  const TempDir dir;
  StoreUnderTest sut(dir.file("q.db"));
  TaskRecord parent = new_record(1);
  parent.task.tags = {"t"};
  sut.add(parent);
  TaskRecord child = new_record(2);
  child.task.depends_on = {id_of(1)};
  sut.add(child);
  sut.claim(1);
  const Lease lease{id_of(1), lease_of(1000)};
  static_cast<void>(
      must(sut->note(std::vector{Note{.lease = lease, .checkpoint = "1", .log = {{LogStream::kOut, "x"}}}})));
  sut.step(id_of(1), trigger::Complete{{.result = "1"}});
  Retention retention = kKeepAll;
  retention.tasks_max = 0;
  ASSERT_EQ(must(sut->expire(retention, 10)), 1);

  RawDatabase raw(dir.file("q.db"));
  for (const char* table : {"tag", "dependency", "run", "log", "log_total", "checkpoint"}) {
    EXPECT_EQ(raw.number(std::string("SELECT count(*) FROM ") + table), 0) << table;
  }
  EXPECT_EQ(raw.number("SELECT count(*) FROM body"), 1);
  EXPECT_EQ(must(sut->events(0, 100)).back().name, "task.deleted");
  EXPECT_EQ(codes_of(must(sut->fsck(FsckMode::kCheck))), std::vector<std::string>());
}

TEST(StoreRetention, OwnersThatAreGoneLeaveNoCounts) {
  const TempDir dir;
  StoreUnderTest sut(dir.file("q.db"));
  for (int i = 1; i <= 20; ++i) {
    TaskRecord record = new_record(i);
    record.task.owner = "owner" + std::to_string(i);
    sut.add(record);
    end(sut, i);
    sut.clock().advance(Millis(1));
  }
  Retention retention = kKeepAll;
  retention.tasks_max = 1;
  EXPECT_EQ(must(sut->expire(retention, 18)), 18);
  EXPECT_EQ(must(sut->expire(retention, 18)), 1);
  EXPECT_LE(RawDatabase(dir.file("q.db")).number("SELECT count(*) FROM counts"), 7);
}

TEST(StoreRetention, OneWhoseCascadeIsDueStays) {
  StoreUnderTest sut;
  sut.add(1);
  Step step = must(decide(sut.read(id_of(1)), trigger::Cancel{"no"}, sut.context()));
  step.next.cascade_due = true;
  ASSERT_EQ(must(sut->apply(std::vector{group_of({step})})), std::vector{Applied::kDone});
  Retention retention = kKeepAll;
  retention.tasks_max = 0;
  EXPECT_EQ(must(sut->expire(retention, 10)), 0);
  EXPECT_EQ(must(sut->cascades(10)).size(), 1U);
}

TEST(StoreRetention, EventsGoFromTheFrontWithoutHoles) {
  StoreUnderTest sut;
  for (int i = 1; i <= 10; ++i) {
    sut.add(i);
    sut.clock().advance(Millis(100));
  }
  Retention retention = kKeepAll;
  retention.events_until = sut.clock().wall() - Millis(750);
  static_cast<void>(must(sut->expire(retention, 10)));
  EXPECT_EQ(must(sut->events(0, 100)).front().seq, 4);
  retention.events_max = 2;
  static_cast<void>(must(sut->expire(retention, 10)));
  EXPECT_EQ(must(sut->events(0, 100)).front().seq, 9);

  // The clock was set back: the newest events look old, but nothing is torn out of the middle.
  sut.clock().jump_wall(-kForEver / 2);
  sut.add(11);
  sut.clock().jump_wall(kForEver / 2);
  retention = kKeepAll;
  retention.events_until = sut.clock().wall() - Millis(5'000);
  static_cast<void>(must(sut->expire(retention, 10)));
  EXPECT_EQ(must(sut->events(0, 100)).front().seq, 9);

  // Numbers are never used again, not even when every event has gone.
  retention.events_until = sut.clock().wall();
  static_cast<void>(must(sut->expire(retention, 10)));
  EXPECT_TRUE(must(sut->events(0, 100)).empty());
  EXPECT_EQ(must(sut->last_event_seq()), 11);
  sut.add(12);
  EXPECT_EQ(must(sut->events(0, 100)).front().seq, 12);
}

}  // namespace
}  // namespace drover::test
