// List: filters, newest first, and pages that stay true while others enqueue.
#include <map>

#include "conformance/conformance.h"
#include "core/task_json.h"

namespace drover::test {
namespace {

class ListFilter : public ConformanceTest {
 protected:
  std::vector<TaskId> list(const TaskFilter& filter) {
    std::vector<TaskId> ids;
    for (const Task& task : all_tasks(filter)) ids.push_back(task.id);
    return ids;
  }
};
ON_EVERY_STORE(ListFilter);

TEST_P(ListFilter, NewestFirst) {
  std::vector<TaskId> ids;
  for (int i = 0; i < 5; ++i) ids.insert(ids.begin(), enqueue_work());
  EXPECT_EQ(list({}), ids);
}

TEST_P(ListFilter, AnEmptyStoreHasOneEmptyPage) {
  const TaskPage page = must(queue().list({}, 10, std::nullopt));
  EXPECT_TRUE(page.tasks.empty());
  EXPECT_EQ(page.cursor, std::nullopt);
}

TEST_P(ListFilter, ByTypeQueueOwnerAndTag) {
  const TaskId a = enqueue({.type = "x", .queue = "q1", .owner = "me", .tags = {"red", "big"}});
  const TaskId b = enqueue({.type = "x", .queue = "q2", .owner = "you", .tags = {"red"}});
  const TaskId c = enqueue({.type = "y", .queue = "q1", .owner = "me"});
  EXPECT_EQ(list({.type = "x"}), (std::vector{b, a}));
  EXPECT_EQ(list({.queue = "q1"}), (std::vector{c, a}));
  EXPECT_EQ(list({.owner = "me"}), (std::vector{c, a}));
  EXPECT_EQ(list({.tag = "red"}), (std::vector{b, a}));
  EXPECT_EQ(list({.tag = "big"}), std::vector{a});
  EXPECT_EQ(list({.type = "x", .owner = "me"}), std::vector{a});
  EXPECT_EQ(list({.type = "x", .queue = "q1", .owner = "me", .tag = "red"}), std::vector{a});
  EXPECT_TRUE(list({.type = "y", .tag = "red"}).empty());
  EXPECT_TRUE(list({.tag = "nobody"}).empty());
}

TEST_P(ListFilter, HeadsAreTheSameTasksAndPages) {
  for (int i = 0; i < 5; ++i) enqueue({.type = "x", .owner = i % 2 == 0 ? "me" : "you", .payload = "[1]"});
  const TaskFilter filter{.owner = "me", .states = {TaskState::kPending}};
  std::optional<std::string> cursor;
  do {
    const TaskPage whole = must(queue().list(filter, 2, cursor));
    const TaskPage heads = must(queue().list_heads(filter, 2, cursor));
    ASSERT_EQ(heads.tasks.size(), whole.tasks.size());
    for (std::size_t i = 0; i < heads.tasks.size(); ++i) {
      EXPECT_EQ(to_snapshot_json(heads.tasks[i]), to_snapshot_json(whole.tasks[i]));
    }
    EXPECT_EQ(heads.cursor, whole.cursor);
    cursor = whole.cursor;
  } while (cursor);
  EXPECT_EQ(queue().list_heads(filter, 0, std::nullopt).error().code, ErrorCode::kInvalidArgument);
}

TEST_P(ListFilter, ByState) {
  std::map<TaskState, TaskId> placed;
  for (const TaskState state : kAllStates) placed[state] = place_in(state).id;
  for (const auto& [state, id] : placed) {
    const auto ids = list({.queue = "work", .states = {state}});
    EXPECT_EQ(ids, std::vector{id}) << name_of(state);
  }
  EXPECT_EQ(list({.queue = "work", .states = {TaskState::kPending, TaskState::kCompleted, TaskState::kRunning}}),
            (std::vector{placed[TaskState::kCompleted], placed[TaskState::kRunning], placed[TaskState::kPending]}));
}

TEST_P(ListFilter, ByCreation) {
  const TaskId a = enqueue_work();
  advance(Millis(1'000));
  const TaskId b = enqueue_work();
  advance(Millis(1'000));
  const TaskId c = enqueue_work();
  const Time of_b = must(queue().get(b)).created_at;
  EXPECT_EQ(list({.created_since = of_b}), (std::vector{c, b}));
  EXPECT_EQ(list({.created_until = of_b}), std::vector{a});
  EXPECT_EQ(list({.created_since = of_b, .created_until = of_b + Millis(1)}), std::vector{b});
}

TEST_P(ListFilter, ByWorker) {
  const TaskId id = enqueue_work();
  enqueue_work();
  static_cast<void>(start(id));
  const std::string worker = must(queue().get(id)).worker_id.value();
  EXPECT_EQ(list({.worker_id = worker}), std::vector{id});
  EXPECT_TRUE(list({.worker_id = "nobody"}).empty());
}

TEST_P(ListFilter, BySearchInPromptPayloadAndError) {
  const TaskId a = enqueue({.type = "work", .prompt = "Fix the Login page"});
  const TaskId b = enqueue({.type = "work", .payload = R"({"note":"log \"in\""})"});
  const TaskId c = enqueue({.type = "work", .max_attempts = 1});
  enqueue({.type = "work", .prompt = "else"});
  EXPECT_EQ(list({.search = "LOG"}), (std::vector{b, a}));
  EXPECT_EQ(list({.search = "log \"in\""}), std::vector{b});
  cancel(a);
  cancel(b);
  fail(start(c), ErrorClass::kAgentError);
  const std::string message = must(queue().get(c)).error.value().message;
  EXPECT_EQ(list({.search = message}), std::vector{c});
  EXPECT_TRUE(list({.search = "nowhere"}).empty());
  EXPECT_EQ(list({.owner = "nobody", .search = "log"}), std::vector<TaskId>());
  EXPECT_EQ(queue().list({.search = ""}, 10, std::nullopt).error().code, ErrorCode::kInvalidArgument);
  const TaskPage page = must(queue().list({.search = "nowhere"}, 10, std::nullopt));
  EXPECT_EQ(page.searched.value_or(Searched()).tasks, 4);
  EXPECT_EQ(must(queue().list({}, 10, std::nullopt)).searched, std::nullopt);
}

TEST_P(ListFilter, ByTheBeginningOfItsId) {
  const TaskId a =
      enqueue({.id = TaskId::parse("0197b7d4-5c61-7cd5-8000-0123456789ab"), .type = "work", .tags = {"red"}});
  const TaskId b = enqueue({.id = TaskId::parse("0197b7d4-5c62-7cd5-8000-0123456789ab"), .type = "else"});
  enqueue({.id = TaskId::parse("0297b7d4-5c62-7cd5-8000-0123456789ab"), .type = "work"});
  EXPECT_EQ(list({.id_prefix = "0197"}), (std::vector{b, a}));
  EXPECT_EQ(list({.id_prefix = "0197b7d4-5c61"}), std::vector{a});
  EXPECT_EQ(list({.id_prefix = a.to_string()}), std::vector{a});
  EXPECT_EQ(list({.type = "else", .id_prefix = "0197"}), std::vector{b});
  EXPECT_EQ(list({.tag = "red", .id_prefix = "0"}), std::vector{a});
  EXPECT_TRUE(list({.id_prefix = "ffff"}).empty());
  EXPECT_EQ(queue().list({.id_prefix = "Q"}, 10, std::nullopt).error().code, ErrorCode::kInvalidArgument);
  const TaskPage first = must(queue().list({.id_prefix = "0197"}, 1, std::nullopt));
  ASSERT_TRUE(first.cursor.has_value());
  EXPECT_EQ(must(queue().list({.id_prefix = "0197"}, 1, first.cursor)).tasks.front().id, a);
}

TEST_P(ListFilter, FollowsATaskThroughItsStates) {
  const TaskId id = enqueue_work();
  EXPECT_EQ(list({.states = {TaskState::kPending}}), std::vector{id});
  const Lease lease = start(id);
  EXPECT_TRUE(list({.states = {TaskState::kPending}}).empty());
  EXPECT_EQ(list({.states = {TaskState::kRunning}}), std::vector{id});
  complete(lease);
  EXPECT_TRUE(list({.states = {TaskState::kRunning}}).empty());
  EXPECT_EQ(list({.states = {TaskState::kCompleted}}), std::vector{id});
}

TEST_P(ListFilter, PagesAreWholeAndDoNotOverlap) {
  std::vector<TaskId> ids;
  for (int i = 0; i < 10; ++i) ids.insert(ids.begin(), enqueue_work());
  std::vector<TaskId> seen;
  std::optional<std::string> cursor;
  std::vector<std::size_t> sizes;
  do {
    const TaskPage page = must(queue().list({}, 4, cursor));
    sizes.push_back(page.tasks.size());
    for (const Task& task : page.tasks) seen.push_back(task.id);
    cursor = page.cursor;
  } while (cursor);
  EXPECT_EQ(seen, ids);
  EXPECT_EQ(sizes, (std::vector<std::size_t>{4, 4, 2}));
}

TEST_P(ListFilter, TheLastPageKnowsThatItIsTheLast) {
  enqueue_all(std::vector<TaskSpec>(4, TaskSpec{.type = "work"}));
  const TaskPage first = must(queue().list({}, 2, std::nullopt));
  ASSERT_TRUE(first.cursor.has_value());
  EXPECT_EQ(must(queue().list({}, 2, first.cursor)).cursor, std::nullopt);
  EXPECT_EQ(must(queue().list({}, 4, std::nullopt)).cursor, std::nullopt);
}

TEST_P(ListFilter, PagesStayTrueWhileOthersEnqueue) {
  std::vector<TaskId> ids;
  for (int i = 0; i < 6; ++i) ids.insert(ids.begin(), enqueue_work());
  const TaskPage first = must(queue().list({}, 3, std::nullopt));
  enqueue_all(std::vector<TaskSpec>(5, TaskSpec{.type = "work"}));
  const TaskPage second = must(queue().list({}, 3, first.cursor));
  std::vector<TaskId> seen;
  for (const TaskPage& page : {first, second}) {
    for (const Task& task : page.tasks) seen.push_back(task.id);
  }
  EXPECT_EQ(seen, ids);
  EXPECT_EQ(second.cursor, std::nullopt);
}

TEST_P(ListFilter, PagesStayTrueWhileTasksEnd) {
  std::vector<TaskId> ids;
  for (int i = 0; i < 6; ++i) ids.insert(ids.begin(), enqueue_work());
  const TaskPage first = must(queue().list({.states = {TaskState::kPending}}, 3, std::nullopt));
  cancel(first.tasks.back().id);
  cancel(ids[3]);
  const TaskPage second = must(queue().list({.states = {TaskState::kPending}}, 3, first.cursor));
  ASSERT_EQ(second.tasks.size(), 2U);
  EXPECT_EQ(second.tasks[0].id, ids[4]);
  EXPECT_EQ(second.tasks[1].id, ids[5]);
}

TEST_P(ListFilter, FiltersPagesToo) {
  std::vector<TaskId> tagged;
  for (int i = 0; i < 12; ++i) {
    const TaskId id = enqueue({.type = "work", .tags = {i % 3 == 0 ? "yes" : "no"}});
    if (i % 3 == 0) tagged.insert(tagged.begin(), id);
  }
  const TaskPage first = must(queue().list({.tag = "yes"}, 3, std::nullopt));
  ASSERT_EQ(first.tasks.size(), 3U);
  const TaskPage second = must(queue().list({.tag = "yes"}, 3, first.cursor));
  ASSERT_EQ(second.tasks.size(), 1U);
  EXPECT_EQ(second.tasks[0].id, tagged.back());
}

TEST_P(ListFilter, ACursorOutlivesARestart) {
  enqueue_all(std::vector<TaskSpec>(4, TaskSpec{.type = "work"}));
  const TaskPage first = must(queue().list({}, 2, std::nullopt));
  reopen();
  EXPECT_EQ(must(queue().list({}, 2, first.cursor)).tasks.size(), 2U);
}

TEST_P(ListFilter, ABadRequestIsRefused) {
  enqueue_work();
  EXPECT_EQ(code_of(queue().list({}, 0, std::nullopt)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(queue().list({}, -1, std::nullopt)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(queue().list({}, 1'000'000, std::nullopt)), ErrorCode::kInvalidArgument);
  for (const char* cursor : {"", "nonsense", "1 OR 1=1", "-1", "99999999999999999999999"}) {
    EXPECT_EQ(code_of(queue().list({}, 10, cursor)), ErrorCode::kInvalidArgument) << cursor;
  }
}

}  // namespace
}  // namespace drover::test
