#include "cli/task_input.h"

#include <gtest/gtest.h>

#include <fstream>

#include "engine/open.h"
#include "support/must.h"
#include "support/printers.h"
#include "support/temp_dir.h"

namespace drover::cli {
namespace {

using test::code_of;
using test::must;

TaskArguments with_payload(const std::string& payload) {
  TaskArguments arguments;
  arguments.spec.type = "t";
  arguments.payload = payload;
  return arguments;
}

TEST(TaskInputTest, PayloadKeepsItsText) {
  EXPECT_EQ(must(read_task(with_payload(R"( { "b" : 1e400, "a" : 0.10 } )"))).payload, R"({"b":1e400,"a":0.10})");
}

TEST(TaskInputTest, PayloadFromAFile) {
  const test::TempDir dir;
  std::ofstream(dir.file("payload.json")) << "[ 1,\n 2 ]\n";
  EXPECT_EQ(must(read_task(with_payload("@" + dir.file("payload.json")))).payload, "[1,2]");
  const auto missing = read_task(with_payload("@" + dir.file("none.json")));
  ASSERT_EQ(code_of(missing), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(missing.error().message.contains("none.json")) << missing.error().message;
}

TEST(TaskInputTest, MalformedJsonIsRefused) {
  for (const std::string payload : {"", "{", "{\"a\":1,}", "nul", "1 2", "{\"a\":1,\"a\":2}", "\"\\ud800\""}) {
    EXPECT_EQ(code_of(read_task(with_payload(payload))), ErrorCode::kInvalidJson) << payload;
  }
  TaskArguments arguments = with_payload("1");
  arguments.fallback = "{";
  const auto task = read_task(arguments);
  ASSERT_EQ(code_of(task), ErrorCode::kInvalidJson);
  EXPECT_TRUE(task.error().message.starts_with("--fallback: ")) << task.error().message;
}

TEST(BatchTest, ReadsOneTaskALine) {
  const Batch batch =
      must(parse_batch("{\"type\":\"a\",\"ref\":\"x\"}\n\n  \r\n{\"type\":\"b\",\"depends_on\":[\"@x\"]}", "f"));
  ASSERT_EQ(batch.tasks.size(), 2u);
  EXPECT_EQ(batch.tasks[0].ref, "x");
  EXPECT_EQ(batch.tasks[1].depends_on, (std::vector<ParentRef>{std::string("x")}));
  EXPECT_EQ(batch.lines, (std::vector<std::size_t>{1, 4}));
}

TEST(BatchTest, ErrorsNameFileAndLine) {
  const struct {
    std::string text;
    ErrorCode code;
    std::string_view says;
  } rows[] = {
      {"{\"type\":\"a\"}\n\n{\"type\":", ErrorCode::kInvalidJson, "f:3:9: expected a value"},
      {"{\"type\":\"a\"}\n{\"type\":7}", ErrorCode::kInvalidArgument, "f:2: type"},
      {"{\"type\":\"a\",\"quue\":\"b\"}", ErrorCode::kInvalidArgument, "f:1: "},
      {"[]", ErrorCode::kInvalidArgument, "f:1: "},
      {"\n \n", ErrorCode::kInvalidArgument, "f holds no task"},
      {"", ErrorCode::kInvalidArgument, "f holds no task"},
  };
  for (const auto& row : rows) {
    const auto batch = parse_batch(row.text, "f");
    ASSERT_EQ(code_of(batch), row.code) << row.text;
    EXPECT_TRUE(batch.error().message.starts_with(row.says)) << batch.error().message;
  }
}

// The queue counts tasks; what it refuses must point at the line.
TEST(BatchTest, ARefusalOfTheQueueNamesTheLine) {
  const auto opened = must(open_queue("memory:"));
  const struct {
    std::string text;
    ErrorCode code;
    std::string_view says;
  } rows[] = {
      {"{\"type\":\"a\"}\n\n{\"type\":\"b\",\"depends_on\":[\"01920f5e-7a3c-7def-8123-456789abcdef\"]}",
       ErrorCode::kUnknownParent, "f:3: "},
      {"\n{\"type\":\"b\",\"depends_on\":[\"01920f5e-7a3c-7def-8123-456789abcdef\"]}", ErrorCode::kUnknownParent,
       "f:2: "},
      {"{\"type\":\"a\"}\n\n{\"type\":\"b\",\"depends_on\":[\"@zz\"]}", ErrorCode::kUnknownParent, "f:3: "},
      {"{\"type\":\"a\"}\n{\"type\":\"b\",\"payload\":\"" + std::string(1 << 20, 'x') + "\"}",
       ErrorCode::kPayloadTooLarge, "f:2: "},
  };
  for (const auto& row : rows) {
    const Batch batch = must(parse_batch(row.text, "f"));
    const auto refused = opened->queue().enqueue(batch.tasks);
    ASSERT_EQ(code_of(refused), row.code);
    const Error error = at_line(batch, refused.error());
    EXPECT_TRUE(error.message.starts_with(row.says)) << error.message;
  }
}

TEST(BatchTest, ARefusalOfTheWholeStaysAsItIs) {
  const Batch batch = must(parse_batch("{\"type\":\"a\"}\n{\"type\":\"b\"}", "f"));
  for (const std::string message : {"the store is locked", "task 9: out of range", "task x: no number", "task 1"}) {
    EXPECT_EQ(at_line(batch, {ErrorCode::kInternal, message, {}}).message, message);
  }
}

}  // namespace
}  // namespace drover::cli
