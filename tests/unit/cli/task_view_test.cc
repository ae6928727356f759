#include "cli/task_view.h"

#include <gtest/gtest.h>

#include "support/must.h"
#include "support/printers.h"

namespace drover::cli {
namespace {

using test::must;

const Time kNow = must(parse_time("2026-11-15T20:00:00Z"));
constexpr Look kTerminal80{.terminal = true, .color = false, .width = 80};
constexpr Look kTerminal120{.terminal = true, .color = false, .width = 120};
constexpr Look kPipe{.terminal = false, .color = false, .width = 80};

Task task(int number, TaskState state) {
  Task task;
  TaskId::Bytes bytes{};
  bytes[0] = 1;
  bytes[15] = static_cast<std::uint8_t>(number);
  task.id = TaskId(bytes);
  task.type = "herd";
  task.queue = "herd";
  task.owner = "default";
  task.state = state;
  task.created_at = kNow - std::chrono::minutes(5);
  task.attempts = 1;
  return task;
}

std::vector<Task> herd() {
  Task running = task(1, TaskState::kRunning);
  running.progress = Progress{40, "羊飼い at work"};
  Task failed = task(2, TaskState::kFailed);
  failed.error =
      TaskError{ErrorClass::kAgentError, "exit code 3:\nthe wolf was there before us, and nobody could do a thing"};
  Task scheduled = task(3, TaskState::kScheduled);
  scheduled.run_at = kNow + std::chrono::seconds(90);
  return {running, failed, scheduled};
}

TEST(TaskTableTest, At120) {
  EXPECT_EQ(task_table(herd(), kNow).render(kTerminal120),
            "ID                                    TYPE  QUEUE  STATE      TRY  AGE  NOTE\n"
            "01000000-0000-0000-0000-000000000001  herd  herd   running    1/3  5m   40% 羊飼い at work\n"
            "01000000-0000-0000-0000-000000000002  herd  herd   failed     1/3  5m   agent_error: exit code 3: the wolf"
            " was there be…\n"
            "01000000-0000-0000-0000-000000000003  herd  herd   scheduled  1/3  5m   in 1m30s\n");
}

TEST(TaskTableTest, At80) {
  EXPECT_EQ(task_table(herd(), kNow).render(kTerminal80),
            "ID                                    TYPE  STATE      TRY  AGE  NOTE\n"
            "01000000-0000-0000-0000-000000000001  herd  running    1/3  5m   40% 羊飼い at …\n"
            "01000000-0000-0000-0000-000000000002  herd  failed     1/3  5m   agent_error: e…\n"
            "01000000-0000-0000-0000-000000000003  herd  scheduled  1/3  5m   in 1m30s\n");
}

TEST(TaskTableTest, ForPrograms) {
  EXPECT_EQ(
      task_table(std::vector{task(1, TaskState::kPending)}, kNow).render(kPipe),
      "01000000-0000-0000-0000-000000000001\therd\therd\tdefault\tpending\t5\t1\t3\t2026-11-15T19:55:00.000Z\t\n");
}

TEST(NoteTest, SaysWhatMatters) {
  Task cancelled = task(1, TaskState::kCancelled);
  cancelled.cancel_reason = "wrong branch";
  EXPECT_EQ(note_on(cancelled, kNow), "wrong branch");
  Task blocked = task(1, TaskState::kBlocked);
  blocked.depends_on = {TaskId{}, TaskId{}};
  EXPECT_EQ(note_on(blocked, kNow), "waits for its parents");
  blocked.open_questions = 1;
  EXPECT_EQ(note_on(blocked, kNow), "waits for an answer");
  Question asked{.task_id = blocked.id, .text = "Shall I?", .asked_at = kNow - std::chrono::minutes(5)};
  Question later = asked;
  later.text = "And now?";
  Question other = asked;
  other.task_id = TaskId{};
  EXPECT_EQ(note_on(blocked, kNow, std::vector{other, later, asked}),
            "waits for an answer to \"Shall I?\" (5m, question " + asked.id.to_string() + ")");
  Task stopping = task(1, TaskState::kRunning);
  stopping.cancel_requested_at = kNow;
  EXPECT_EQ(note_on(stopping, kNow), "cancel requested");
  Task again = task(1, TaskState::kScheduled);
  again.run_at = kNow + std::chrono::seconds(2);
  again.error = TaskError{ErrorClass::kTimeout, ""};
  EXPECT_EQ(note_on(again, kNow), "in 2s, after timeout");
  Task late = task(1, TaskState::kCompleted);
  late.fallback = true;
  EXPECT_EQ(note_on(late, kNow), "fallback result");
}

TEST(DurationTest, IsCoarse) {
  const std::pair<Millis, std::string_view> rows[] = {
      {Millis{0}, "0ms"},      {Millis{999}, "999ms"},    {Millis{1'999}, "1s"},
      {Millis{119'000}, "1m"}, {Millis{7'200'000}, "2h"}, {Millis{86'400'000LL * 3}, "3d"},
  };
  for (const auto& [duration, text] : rows) EXPECT_EQ(coarse_duration(duration), text);
}

TEST(TaskViewTest, WhatLiesAheadIsRoundedUp) {
  const std::pair<Millis, std::string> rows[] = {
      {Millis{-5}, "0s"},           {Millis{1}, "1s"},      {Millis{44'001}, "45s"},   {Millis{7'199'900}, "2h"},
      {Millis{5'450'000}, "1h31m"}, {Millis{60'000}, "1m"}, {Millis{89'500}, "1m30s"},
  };
  for (const auto& [ahead, text] : rows) EXPECT_EQ(until(kNow, kNow + ahead), text);
}

TEST(TaskPageTest, ShowsFieldsAndRuns) {
  Task shown = task(1, TaskState::kFailed);
  shown.payload = R"({"a":[1,2]})";
  shown.prompt = "two\nlines\x1b[2J";
  shown.error = TaskError{ErrorClass::kAgentError, "exit code 3"};
  shown.tags = {"x", "y"};
  shown.started_at = kNow - std::chrono::seconds(10);
  const RunSummary run{.run = 1,
                       .worker_id = "host:1:w",
                       .started_at = kNow - std::chrono::seconds(10),
                       .ended_at = kNow - std::chrono::seconds(8),
                       .outcome = "failed",
                       .error = shown.error,
                       .exit_code = 3};
  EXPECT_EQ(task_page(shown, std::vector{run}, kNow, kTerminal80),
            "id            01000000-0000-0000-0000-000000000001\n"
            "type          herd\n"
            "state         failed\n"
            "queue         herd\n"
            "owner         default\n"
            "priority      5\n"
            "tags          x y\n"
            "created       2026-11-15T19:55:00.000Z (5m ago)\n"
            "started       2026-11-15T19:59:50.000Z (10s ago)\n"
            "attempts      1 of 3\n"
            "retry         exponential:1s,2,300s\n"
            "timeout       1h, idle 10m\n"
            "error         agent_error: exit code 3\n"
            "fingerprint   05c8aa15d0cd\n"
            "prompt        two\n"
            "              lines\n"
            "payload       {\n"
            "                \"a\": [\n"
            "                  1,\n"
            "                  2\n"
            "                ]\n"
            "              }\n"
            "\n"
            "RUN  OUTCOME  STARTED  TOOK  EXIT  WORKER    ERROR\n"
            "1    failed   10s ago  2s    3     host:1:w  agent_error: exit code 3\n");
}

TEST(TaskPageTest, AnErrorBeforeTheEndIsThatOfAnEarlierRun) {
  Task again = task(1, TaskState::kRunning);
  again.run = 2;
  again.error = TaskError{ErrorClass::kAgentError, "exit code 3"};
  again.exit_code = 3;
  const RunSummary running{.run = 2};
  const RunSummary failed{.run = 1, .outcome = "retrying", .error = again.error, .exit_code = 3};
  const std::string page = task_page(again, std::vector{running, failed}, kNow, kPipe);
  EXPECT_NE(page.find("\nlast error    run 1: agent_error: exit code 3\n"), std::string::npos) << page;
  EXPECT_EQ(page.find("\nerror "), std::string::npos) << page;
  EXPECT_EQ(page.find("\nexit code"), std::string::npos) << page;
  // Its history may be gone before the task is.
  EXPECT_NE(task_page(again, {}, kNow, kPipe).find("\nlast error    agent_error: exit code 3\n"), std::string::npos);
  again.error.reset();
  EXPECT_EQ(task_page(again, std::vector{running}, kNow, kPipe).find("last error"), std::string::npos);
}

TEST(WorkerTableTest, TellsWhoIsSilent) {
  const auto worker = [](std::string id, std::chrono::seconds ago, bool draining) {
    return WorkerInfo{.id = std::move(id),
                      .version = "1",
                      .serves = {{"q", std::nullopt}},
                      .registered_at = kNow - std::chrono::hours(1),
                      .last_beat_at = kNow - ago,
                      .draining = draining,
                      .drain_by = draining ? "ada@box" : "",
                      .drain_reason = draining ? "upgrade" : ""};
  };
  using std::chrono::seconds;
  EXPECT_EQ(worker_table(std::vector{worker("a", seconds(30), false), worker("b", seconds(3), true),
                                     worker("c", seconds(31), false), worker("d", seconds(31), true)},
                         kNow)
                .render(kTerminal80),
            "WORKER  VERSION  RUNNING  BEAT     STATE     WHY               SERVES\n"
            "a       1        0/1      30s ago  working                     q\n"
            "b       1        0/1      3s ago   draining  ada@box: upgrade  q\n"
            "c       1        0/1      31s ago  silent                      q\n"
            "d       1        0/1      31s ago  silent    ada@box: upgrade  q\n");
}

Event event(std::string name, TaskState state, JsonText data) {
  return {.seq = 7,
          .at = kNow,
          .name = std::move(name),
          .task = task(1, state).id,
          .type = "herd",
          .queue = "q",
          .owner = "o",
          .state = state,
          .run = 1,
          .data = std::move(data)};
}

TEST(EventLineTest, ForPrograms) {
  EXPECT_EQ(
      event_line(event("task.completed", TaskState::kCompleted, R"({"a":"b\nc"})"), kPipe),
      "7\t2026-11-15T20:00:00.000Z\ttask.completed\t01000000-0000-0000-0000-000000000001\therd\tq\to\tcompleted\t1\t"
      "{\"a\":\"b\\\\nc\"}\n");
}

TEST(EventLineTest, ForPeople) {
  const std::string line = event_line(event("task.retrying", TaskState::kScheduled,
                                            R"({"class":"agent_error","message":"exit code 1","delay_ms":2000})"),
                                      kTerminal120);
  EXPECT_TRUE(
      line.ends_with("  retrying          herd              01000000-0000-0000-0000-000000000001  "
                     "agent_error: exit code 1, again in …\n"))
      << line;
  const std::string narrow =
      event_line(event("task.progressed", TaskState::kRunning, R"({"percent":40,"message":"tests"})"), kTerminal80);
  EXPECT_TRUE(narrow.ends_with("\n          percent=40 message=tests\n")) << narrow;
  EXPECT_EQ(narrow.find('\n'), 80U) << "the id ends with the line";
}

TEST(ResultTextTest, StringsAreText) {
  Task done = task(1, TaskState::kCompleted);
  EXPECT_EQ(result_text(done), "");
  done.result = R"({"a":1e400})";
  EXPECT_EQ(result_text(done), "{\"a\":1e400}\n");
  done.result = R"("two\nlines\n")";
  EXPECT_EQ(result_text(done), "two\nlines\n");
  done.result = R"("")";
  EXPECT_EQ(result_text(done), "");
  done.result = R"("word")";
  EXPECT_EQ(result_text(done), "word\n");
}

}  // namespace
}  // namespace drover::cli
