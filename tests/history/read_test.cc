#include "history/read.h"

#include <gtest/gtest.h>

#include "core/task_json.h"

namespace drover::history {
namespace {

constexpr std::string_view kId = "01920f5e-7a3c-7def-8123-456789abcdef";

TEST(HistoryReadTest, ReadsTasksAsDroverWritesThem) {
  Task task;
  task.id = *TaskId::parse(kId);
  task.state = TaskState::kStalled;
  task.run = 4;
  task.generation = 2;
  task.fallback = true;
  task.parent_id = task.id;
  const auto tasks = read_tasks("[" + to_json(task) + "]");
  ASSERT_TRUE(tasks.has_value()) << to_string(tasks.error());
  ASSERT_EQ(tasks->size(), 1U);
  EXPECT_EQ(tasks->front().id, task.id);
  EXPECT_EQ(tasks->front().state, TaskState::kStalled);
  EXPECT_EQ(tasks->front().run, 4);
  EXPECT_EQ(tasks->front().generation, 2);
  EXPECT_TRUE(tasks->front().fallback);
  EXPECT_EQ(tasks->front().parent_id, task.id);
}

TEST(HistoryReadTest, ReadsEventsAsDroverWritesThem) {
  Event event;
  event.seq = 77;
  event.name = "task.claimed";
  event.task = *TaskId::parse(kId);
  event.state = TaskState::kRunning;
  event.run = 3;
  event.generation = 2;
  event.data = "{}";
  const auto events = read_events(to_json(event) + "\n" + to_json(event) + "\n");
  ASSERT_TRUE(events.has_value()) << to_string(events.error());
  ASSERT_EQ(events->size(), 2U);
  EXPECT_EQ(events->back().seq, 77);
  EXPECT_EQ(events->back().name, "task.claimed");
  EXPECT_EQ(events->back().task, event.task);
  EXPECT_EQ(events->back().state, TaskState::kRunning);
  EXPECT_EQ(events->back().run, 3);
  EXPECT_EQ(events->back().generation, 2);
}

TEST(HistoryReadTest, ReadsEventsOfNoTask) {
  const auto events = read_events(to_json(Event{.seq = 5, .name = "gate.closed", .data = "{}"}) + "\n");
  ASSERT_TRUE(events.has_value()) << to_string(events.error());
  EXPECT_EQ(events->front().seq, 5);
  EXPECT_TRUE(events->front().task.is_nil());
}

TEST(HistoryReadTest, ReadsAWitnessAndLeavesItsTornLastLine) {
  const std::string id(kId);
  const auto seen = read_witness(id + " 1 start 12 1000\n" + id + " 1 stop 12 1500\n" + id + " 2 st");
  ASSERT_TRUE(seen.has_value()) << to_string(seen.error());
  ASSERT_EQ(seen->size(), 2U);
  EXPECT_EQ(seen->front().kind, Sighting::Kind::kStart);
  EXPECT_EQ(seen->back().kind, Sighting::Kind::kStop);
  EXPECT_EQ(seen->back().run, 1);
  EXPECT_EQ(seen->back().pid, 12);
  EXPECT_EQ(seen->back().at, MonoTime{Millis{1'500}});
}

TEST(HistoryReadTest, RefusesWhatItCannotRead) {
  const std::string id(kId);
  EXPECT_FALSE(read_tasks("{}").has_value());
  EXPECT_FALSE(read_tasks("[{}]").has_value());
  EXPECT_FALSE(read_tasks("[").has_value());
  EXPECT_FALSE(read_events("{}\n").has_value());
  EXPECT_FALSE(read_events("nothing\n").has_value());
  for (const char* line : {"x 1 start 12 1000\n", " 1 pause 12 1000\n", " one start 12 1000\n", " 1 start 12\n",
                           " 1 start 12 1000 more\n"}) {
    EXPECT_FALSE(read_witness((line[0] == 'x' ? "" : id) + line).has_value()) << line;
  }
}

}  // namespace
}  // namespace drover::history
