// What a claim takes, and in which order.
#include <gtest/gtest.h>

#include "support/printers.h"
#include "unit/store/store_fixture.h"

namespace drover::test {
namespace {

TaskRecord in(int number, const std::string& queue, const std::string& type, int priority = 5) {
  TaskRecord record = new_record(number);
  record.task.queue = queue;
  record.task.type = type;
  record.task.priority = priority;
  return record;
}

std::vector<TaskId> ids_of(const std::vector<TaskRecord>& records) {
  std::vector<TaskId> ids;
  for (const TaskRecord& record : records) ids.push_back(record.task.id);
  return ids;
}

std::vector<TaskId> claim(StoreUnderTest& sut, std::vector<Serve> serves, int n) {
  ClaimRequest request;
  request.worker_id = "w";
  request.serves = std::move(serves);
  request.n = n;
  std::vector<LeaseId> leases;
  for (int i = 0; i < n; ++i) leases.push_back(lease_of(i + 1));
  return ids_of(must(sut->claim(request, leases, std::nullopt)).records);
}

TEST(StoreClaim, TheBestRankOfAllServedQueuesThenTheQueueThatWaitedLongest) {
  StoreUnderTest sut;
  sut.add(in(1, "a", "x"));
  sut.add(in(2, "b", "x", 2));
  sut.add(in(3, "a", "x", 2));
  sut.add(in(4, "c", "x", 0));
  sut.add(in(5, "b", "x"));
  EXPECT_EQ(claim(sut, {{"a", {}}, {"b", {}}}, 10), (std::vector{id_of(3), id_of(2), id_of(1), id_of(5)}));
}

TEST(StoreClaim, OnlyTheTypeThatIsServed) {
  StoreUnderTest sut;
  sut.add(in(1, "a", "x"));
  sut.add(in(2, "a", "y"));
  EXPECT_EQ(claim(sut, {{"a", "y"}}, 10), std::vector{id_of(2)});
  EXPECT_EQ(claim(sut, {{"a", "z"}}, 10), std::vector<TaskId>());
}

TEST(StoreClaim, ServesThatOverlapGiveEachTaskOnce) {
  StoreUnderTest sut;
  sut.add(in(1, "a", "x"));
  sut.add(in(2, "a", "y"));
  EXPECT_EQ(claim(sut, {{"a", {}}, {"a", "x"}, {"a", {}}}, 10), (std::vector{id_of(1), id_of(2)}));
}

TEST(StoreClaim, AtMostN) {
  StoreUnderTest sut;
  for (int i = 1; i <= 5; ++i) sut.add(in(i, "a", "x"));
  EXPECT_EQ(claim(sut, {{"a", {}}}, 2), (std::vector{id_of(1), id_of(2)}));
  EXPECT_EQ(claim(sut, {{"a", {}}}, 0), std::vector<TaskId>());
}

TEST(StoreClaim, EachUnderItsOwnLeaseWithItsBody) {
  StoreUnderTest sut;
  TaskRecord record = new_record(1);
  record.task.payload = "[1]";
  record.task.tags = {"t"};
  sut.add(record);
  sut.add(2);
  const std::vector<TaskRecord> claimed = sut.claim(2, 7);
  ASSERT_EQ(claimed.size(), 2U);
  EXPECT_EQ(claimed[0].lease, lease_of(7));
  EXPECT_EQ(claimed[1].lease, lease_of(8));
  EXPECT_EQ(claimed[0].task.payload, "[1]");
  // What is handed out is what is stored.
  EXPECT_EQ(claimed[0], sut.read(id_of(1)));
  EXPECT_EQ(claimed[0].task.run, 1);
  EXPECT_EQ(claimed[0].task.attempts, 1);
}

TEST(StoreClaim, NeverWhatIsScheduledBlockedRunningOrFinished) {
  StoreUnderTest sut;
  TaskRecord later = new_record(1);
  later.task.run_at = sut.clock().wall() + Millis(1);
  sut.add(later);
  sut.add(2);
  sut.claim(1);
  TaskRecord blocked = new_record(3);
  blocked.task.depends_on = {id_of(2)};
  blocked.unmet_parents = 1;
  sut.add(blocked);
  sut.add(4);
  sut.step(id_of(4), trigger::Cancel{"no"});
  EXPECT_TRUE(sut.claim(10).empty());
}

TEST(StoreClaim, ReleasedAndStalledTasksKeepTheirPlaceDueOnesGoToTheTail) {
  StoreUnderTest sut;
  TaskRecord later = new_record(9);
  later.task.run_at = sut.clock().wall() + Millis(10);
  sut.add(later);
  for (int i = 1; i <= 3; ++i) sut.add(i);
  sut.claim(2);
  sut.clock().advance(Millis(10));
  sut.step(id_of(2), trigger::LeaseLost{});
  sut.step(id_of(9), trigger::Due{});
  sut.step(id_of(1), trigger::Release{});
  EXPECT_EQ(ids_of(sut.claim(10)), (std::vector{id_of(1), id_of(2), id_of(3), id_of(9)}));
}

TEST(StoreClaim, AnUnreadableRecordDoesNotStopTheOthers) {
  const TempDir dir;
  StoreUnderTest sut(dir.file("q.db"));
  sut.add(1);
  sut.add(2);
  RawDatabase(dir.file("q.db")).run("UPDATE body SET retry = 'nonsense' WHERE seq = 1");
  EXPECT_EQ(ids_of(sut.claim(10)), std::vector{id_of(2)});
  EXPECT_EQ(code_of(sut->read(std::vector{id_of(1)}, Parts::kHead)), ErrorCode::kStoreDamaged);
  EXPECT_EQ(codes_of(must(sut->fsck(FsckMode::kCheck))),
            (std::vector<std::string>{"record_unreadable", "lane_of_task_wrong", "lane_wrong"}));
}

TEST(StoreClaim, BacklogCountsEachTaskOnce) {
  StoreUnderTest sut;
  sut.add(in(1, "a", "x"));
  sut.add(in(2, "a", "y"));
  sut.add(in(3, "b", "x"));
  TaskRecord later = in(4, "a", "x");
  later.task.run_at = sut.clock().wall() + Millis(1);
  sut.add(later);
  TaskRecord blocked = in(5, "a", "x");
  blocked.task.depends_on = {id_of(1)};
  blocked.unmet_parents = 1;
  sut.add(blocked);
  claim(sut, {{"a", "y"}}, 1);

  const Backlog all = must(sut->backlog(std::vector<Serve>{{"a", {}}, {"a", "x"}}));
  EXPECT_EQ(all.waiting, 2);
  EXPECT_EQ(all.running, 1);
  EXPECT_EQ(all.blocked, 1);
  const Backlog typed = must(sut->backlog(std::vector<Serve>{{"a", "y"}, {"a", "y"}, {"b", "x"}}));
  EXPECT_EQ(typed.waiting, 1);
  EXPECT_EQ(typed.running, 1);
  EXPECT_EQ(typed.blocked, 0);
}

}  // namespace
}  // namespace drover::test
