#include "cli/loki.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/must.h"
#include "support/temp_dir.h"

namespace drover::cli {
namespace {

using test::must;

constexpr std::string_view kPending = R"([
  {"id":"a","type":"eng-backend","priority":10,"payload":{"n":0.10},"timeout":60,"maxRetries":5,"backoffSeconds":30},
  {"id":"b c","type":"eng-frontend","priority":1,"dependencies":["a","done","old"],"title":"Look","description":"well"}
])";
constexpr std::string_view kCompleted = R"({"version":3,"tasks":[{"id":"done","type":"x"}],"note":"keep"})";

class LokiTest : public testing::Test {
 protected:
  void write(const std::string& name, std::string_view text) const {
    std::ofstream out(dir_.file(name));
    out << text;
  }
  [[nodiscard]] LokiFolder folder() const { return must(read_loki(dir_.path())); }

  test::TempDir dir_;
  const TaskId old_ = TaskId::parse("0193300d-2b6b-7c4f-8a1e-00ff10ab5c9d").value_or(TaskId());
};

TEST_F(LokiTest, TakesWaitingTasksOfBothShapes) {
  write("pending.json", kPending);
  write("completed.json", kCompleted);
  write("in-progress.json", R"({"tasks":[{"id":"old","type":"x"},{"id":"a","type":"again"}]})");
  const auto specs = must(specs_from_loki(folder(), {{"old", old_}}));
  ASSERT_EQ(specs.size(), 2u);
  EXPECT_EQ(specs[0].type, "eng-backend");
  EXPECT_EQ(specs[0].request_id, "loki:a");
  EXPECT_EQ(specs[0].priority, 0);
  EXPECT_EQ(specs[0].payload, R"({"n":0.10})");
  EXPECT_EQ(specs[0].timeout, Millis{60'000});
  EXPECT_EQ(specs[0].max_attempts, 5);
  EXPECT_EQ(specs[0].retry.value_or(RetryPolicy()).base, Millis{30'000});
  EXPECT_EQ(specs[1].priority, 9);
  EXPECT_EQ(specs[1].prompt, "Look\n\nwell");
  // Its id is no name: a hash of it stands for it. What is completed is no dependency any more.
  EXPECT_EQ(specs[1].request_id, loki_request_id("b c"));
  EXPECT_EQ(specs[1].request_id.value_or("").size(), 5u + 64u);
  EXPECT_EQ(specs[1].depends_on, (std::vector<ParentRef>{std::string("loki:a"), old_}));
}

TEST_F(LokiTest, WhatIsWrongIsNamed) {
  write("pending.json", R"([{"id":"a","dependencies":["gone"]}])");
  const auto missing = specs_from_loki(folder(), {});
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().message, R"(task "a" depends on "gone", which neither waits nor is completed)");
  write("pending.json", R"([{"type":"x"}])");
  EXPECT_EQ(specs_from_loki(folder(), {}).error().message, "pending.json: a task without id");
  write("pending.json", R"({"things":[]})");
  EXPECT_FALSE(read_loki(dir_.path()).has_value());
  EXPECT_FALSE(read_loki(dir_.file("nowhere")).has_value());
}

TEST_F(LokiTest, TasksGoWhereTheyBelongAndOthersStay) {
  write("pending.json", kPending);
  write("completed.json", kCompleted);
  Task done;
  done.id = old_;
  done.type = "eng-backend";
  done.request_id = "loki:a";
  done.state = TaskState::kCompleted;
  done.priority = 0;
  done.finished_at = Time(Millis{1'000});
  done.result = R"({"decision_report":{"why":"w"}})";
  LokiFolder loki = folder();
  put_into_loki(loki, {done});
  must(write_loki(dir_.path(), loki));
  const LokiFolder written = folder();
  const json::Value& pending = written.files.at("pending");
  ASSERT_NE(pending.as_array(), nullptr);  // the shape stays
  ASSERT_EQ(pending.as_array()->size(), 1u);
  EXPECT_EQ(*pending.as_array()->front().find("id")->as_string(), "b c");
  const json::Value& completed = written.files.at("completed");
  EXPECT_EQ(*completed.find("note")->as_string(), "keep");
  const json::Value::Array& tasks = *completed.find("tasks")->as_array();
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(*tasks[0].find("id")->as_string(), "done");
  EXPECT_EQ(*tasks[1].find("id")->as_string(), "a");
  EXPECT_EQ(tasks[1].find("priority")->as_int(), 10);
  EXPECT_EQ(json::dump(*tasks[1].find("result")->find("decisionReport")), R"({"why":"w"})");
  EXPECT_TRUE(written.files.contains("dead-letter"));
}

}  // namespace
}  // namespace drover::cli
