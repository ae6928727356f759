// Lists: every filter, newest first, page by page.
#include <gtest/gtest.h>

#include "support/printers.h"
#include "unit/store/store_fixture.h"

namespace drover::test {
namespace {

std::vector<int> numbers_of(const RecordPage& page) {
  std::vector<int> numbers;
  for (const TaskRecord& record : page.records) numbers.push_back(record.task.id.bytes()[15]);
  return numbers;
}

using Numbers = std::vector<int>;

class StoreList : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int i = 1; i <= 6; ++i) {
      TaskRecord record = new_record(i);
      record.task.type = i % 2 == 0 ? "even" : "odd";
      record.task.queue = i <= 3 ? "low" : "high";
      record.task.owner = i % 3 == 0 ? "bob" : "ann";
      if (i >= 3) record.task.tags = {"late", "n" + std::to_string(i)};
      if (i == 2 || i == 5) record.task.parent_id = id_of(1);
      record.task.payload = std::to_string(i);
      sut_.add(record);
    }
    sut_.step(id_of(1), trigger::Cancel{"no"});
    sut_.step(id_of(4), trigger::Cancel{"no"});
  }

  Numbers list(const TaskFilter& filter) {
    return numbers_of(must(sut_->list(filter, 100, std::nullopt, Parts::kAll)));
  }

  // Page by page. What comes in meanwhile is newer and does not move the pages.
  Numbers walk(const TaskFilter& filter) {
    Numbers seen;
    std::optional<std::string> cursor;
    do {
      const RecordPage page = must(sut_->list(filter, 2, cursor, Parts::kAll));
      EXPECT_EQ(page.records.size(), 2U);
      for (const int number : numbers_of(page)) seen.push_back(number);
      cursor = page.cursor;
      sut_.add(static_cast<int>(100 + seen.size()));
    } while (cursor && seen.size() < 100);
    return seen;
  }

  StoreUnderTest sut_;
};

TEST_F(StoreList, EveryFilter) {
  EXPECT_EQ(list({}), (Numbers{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(list({.type = "even"}), (Numbers{6, 4, 2}));
  EXPECT_EQ(list({.queue = "low"}), (Numbers{3, 2, 1}));
  EXPECT_EQ(list({.owner = "bob"}), (Numbers{6, 3}));
  EXPECT_EQ(list({.states = {TaskState::kCancelled}}), (Numbers{4, 1}));
  EXPECT_EQ(list({.states = {TaskState::kCancelled, TaskState::kPending}}), (Numbers{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(list({.states = {TaskState::kRunning}}), Numbers());
  EXPECT_EQ(list({.tag = "late"}), (Numbers{6, 5, 4, 3}));
  EXPECT_EQ(list({.parent_id = id_of(1)}), (Numbers{5, 2}));
  EXPECT_EQ(list({.type = "odd", .owner = "ann", .states = {TaskState::kPending}, .tag = "late"}), Numbers{5});
  EXPECT_EQ(list({.type = "odd", .tag = "n5", .parent_id = id_of(1)}), Numbers{5});
  EXPECT_EQ(list({.tag = "n6", .parent_id = id_of(1)}), Numbers());
  EXPECT_EQ(list({.states = {TaskState::kCancelled}, .parent_id = id_of(1)}), Numbers());
}

TEST_F(StoreList, PagesFollowEachOther) {
  EXPECT_EQ(walk({}), (Numbers{6, 5, 4, 3, 2, 1}));
}

TEST_F(StoreList, PagesOfSeveralStatesFollowEachOther) {
  EXPECT_EQ(walk({.states = {TaskState::kPending, TaskState::kCancelled}}), (Numbers{6, 5, 4, 3, 2, 1}));
}

TEST_F(StoreList, RecordsAreWhole) {
  const RecordPage page = must(sut_->list({.tag = "n3"}, 1, std::nullopt, Parts::kAll));
  EXPECT_EQ(page.records.at(0), sut_.read(id_of(3)));
  EXPECT_EQ(page.records.at(0).task.payload, "3");
  EXPECT_EQ(page.cursor, std::nullopt);
}

TEST_F(StoreList, APageEndsWhenItsBodiesGrowLarge) {
  StoreUnderTest sut;
  for (int i = 1; i <= 20; ++i) {
    TaskRecord record = new_record(i);
    record.task.prompt = std::string(1 << 20, 'x');
    sut.add(record);
  }
  const RecordPage first = must(sut->list({}, 100, std::nullopt, Parts::kAll));
  EXPECT_LT(first.records.size(), 20U);
  const RecordPage second = must(sut->list({}, 100, first.cursor, Parts::kAll));
  EXPECT_EQ(first.records.size() + second.records.size(), 20U);
  EXPECT_EQ(second.cursor, std::nullopt);
}

TEST_F(StoreList, ACursorThatIsNoneIsRefused) {
  for (const char* cursor : {"", "x", "1x", "-1", "0", "99999999999999999999"}) {
    EXPECT_EQ(code_of(sut_->list({}, 10, cursor, Parts::kAll)), ErrorCode::kInvalidArgument) << cursor;
  }
  EXPECT_EQ(code_of(sut_->list({}, 0, std::nullopt, Parts::kAll)), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace drover::test
