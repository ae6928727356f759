#include "core/task_filter.h"

#include <gtest/gtest.h>

#include "unit/core/records.h"

namespace drover {
namespace {

using testing::record_in;

bool takes(const TaskFilter& filter, const Task& task) {
  return TaskSieve(filter).takes(task);
}

TEST(TaskSieve, GoesByWorkerAndCreation) {
  Task task = record_in(TaskState::kPending).task;
  task.created_at = Time(Millis(5'000));
  task.worker_id = "w1";
  EXPECT_TRUE(takes({.worker_id = "w1"}, task));
  EXPECT_FALSE(takes({.worker_id = "w2"}, task));
  EXPECT_TRUE(takes({.created_since = Time(Millis(5'000))}, task));
  EXPECT_FALSE(takes({.created_since = Time(Millis(5'001))}, task));
  EXPECT_TRUE(takes({.created_until = Time(Millis(5'001))}, task));
  EXPECT_FALSE(takes({.created_until = Time(Millis(5'000))}, task));
}

TEST(TaskSieve, SearchesPromptPayloadAndError) {
  Task task = record_in(TaskState::kFailed).task;
  task.prompt = "Fix the Login page";
  task.payload = R"({"note":"say \"hello\" twice"})";
  task.error = TaskError{ErrorClass::kAgentError, "no route to host"};
  EXPECT_TRUE(takes({.search = "login"}, task));
  EXPECT_TRUE(takes({.search = "LOGIN PAGE"}, task));
  EXPECT_TRUE(takes({.search = "ROUTE to"}, task));
  EXPECT_TRUE(takes({.search = "say \"hello\""}, task)) << "as people write it, not as JSON does";
  EXPECT_FALSE(takes({.search = "logout"}, task));
  EXPECT_FALSE(takes({.search = "agent_error"}, task)) << "the class has a filter of its own";
  const TaskFilter by_text{.search = "x"};
  const TaskFilter by_class{.error_class = ErrorClass::kAuth};
  EXPECT_EQ(TaskSieve(by_text).parts(), Parts::kAll);
  EXPECT_EQ(TaskSieve(by_class).parts(), Parts::kHead);
}

TEST(TaskSieve, OneCallLooksAtABoundedNumberOfTasks) {
  Task task = record_in(TaskState::kPending).task;
  const TaskFilter by_text{.search = "nowhere"};
  TaskSieve sieve(by_text);
  for (int i = 0; i < kSearchTasksMax; ++i) {
    ASSERT_FALSE(sieve.has_looked_enough());
    EXPECT_FALSE(sieve.takes(task));
  }
  EXPECT_TRUE(sieve.has_looked_enough());
  EXPECT_EQ(sieve.searched(), (Searched{kSearchTasksMax, task.created_at}));

  TaskSieve of_large_ones(by_text);
  task.payload = std::string(33 << 20, 'x');
  EXPECT_FALSE(of_large_ones.takes(task));
  EXPECT_TRUE(of_large_ones.has_looked_enough());

  const TaskFilter by_class{.error_class = ErrorClass::kAuth};
  TaskSieve of_heads(by_class);
  for (int i = 0; i < 50'000; ++i) {
    ASSERT_FALSE(of_heads.has_looked_enough());
    EXPECT_FALSE(of_heads.takes(task));
  }
  EXPECT_TRUE(of_heads.has_looked_enough());
  const TaskFilter all{.type = "t"};
  EXPECT_EQ(TaskSieve(all).searched(), std::nullopt);
}

TEST(TaskSieve, KnowsWhenAllThatFollowIsOlder) {
  Task old = record_in(TaskState::kPending).task;
  Task young = old;
  old.created_at = Time(Millis(1));
  young.created_at = Time(Millis(100));
  const TaskFilter since{.created_since = Time(Millis(50))};
  TaskSieve sieve(since);
  for (int i = 0; i < 999; ++i) EXPECT_FALSE(sieve.takes(old));
  EXPECT_TRUE(sieve.takes(young)) << "a clock was set back";
  EXPECT_FALSE(sieve.is_past_all());
  for (int i = 0; i < 1'000; ++i) EXPECT_FALSE(sieve.takes(old));
  EXPECT_TRUE(sieve.is_past_all());
}

TEST(TaskFilterCheck, RefusesWhatFitsNothing) {
  EXPECT_TRUE(check_filter({}));
  EXPECT_TRUE(check_filter({.search = "x"}));
  EXPECT_FALSE(check_filter({.search = ""}));
  EXPECT_FALSE(check_filter({.search = std::string(1'025, 'x')}));
  for (const std::string good : {"0", "0197b7d4", "0197b7d4-", "0197b7d4-5c61-7cd5-8000-0123456789ab"}) {
    EXPECT_TRUE(check_filter({.id_prefix = good})) << good;
  }
  for (const std::string bad : {"", "x", "0197B7D4", "0197b7d45", "0197-", "0197b7d4-5c61-7cd5-8000-0123456789abc"}) {
    EXPECT_FALSE(check_filter({.id_prefix = bad})) << bad;
  }
}

TEST(IdPrefix, IsARangeOfIds) {
  const IdRange ids = ids_with_prefix("0197b7d4-5");
  EXPECT_EQ(ids.first.to_string(), "0197b7d4-5000-0000-0000-000000000000");
  EXPECT_EQ(ids.last.to_string(), "0197b7d4-5fff-ffff-ffff-ffffffffffff");
  EXPECT_TRUE(ids_with_prefix("0000").first.is_nil());
}

TEST(Searched, AddsUpOverPages) {
  const std::optional<Searched> first(Searched{10, Time(Millis(7))});
  const std::optional<Searched> second(Searched{5, Time(Millis(3))});
  EXPECT_EQ(both(first, second), (Searched{15, Time(Millis(3))}));
  EXPECT_EQ(both(std::nullopt, second), second);
  EXPECT_EQ(both(first, std::nullopt), first);
  const TaskPage more{.tasks = {}, .cursor = "7"};
  const TaskPage last{.tasks = {}, .cursor = std::nullopt};
  EXPECT_TRUE(ends_search({.search = "x"}, true, true, first)) << "the page ended early";
  EXPECT_FALSE(ends_search({.search = "x"}, true, false, first));
  EXPECT_TRUE(ends_search({.search = "x"}, true, false, Searched{kSearchTasksMax, Time()}));
  EXPECT_FALSE(ends_search({.search = "x"}, false, true, first));
  EXPECT_FALSE(ends_search({.type = "x"}, true, true, first));
}

}  // namespace
}  // namespace drover
