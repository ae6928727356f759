// Bad input: a stable code, a message that names the field, and nothing stored.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

class BadInput : public ConformanceTest {
 protected:
  void expect_refused(const TaskSpec& spec, ErrorCode code, const std::string& names) {
    const auto answer = queue().enqueue_one(spec);
    ASSERT_FALSE(answer.has_value()) << names;
    EXPECT_EQ(answer.error().code, code) << names;
    EXPECT_NE(answer.error().message.find(names), std::string::npos) << answer.error().message;
  }
  void TearDown() override {
    EXPECT_TRUE(all_tasks().empty());
    EXPECT_EQ(must(queue().last_event_seq()), 0);
    ConformanceTest::TearDown();
  }
};
ON_EVERY_STORE(BadInput);

TEST_P(BadInput, Names) {
  const std::string bad[] = {
      "", " ", "with blank", "slash/ed", "grüße", std::string(129, 'x'), std::string("nul\0", 4), "a\nb"};
  for (const std::string& name : bad) {
    expect_refused({.type = name}, ErrorCode::kInvalidArgument, "type");
    expect_refused({.type = "work", .queue = name}, ErrorCode::kInvalidArgument, "queue");
    expect_refused({.type = "work", .owner = name}, ErrorCode::kInvalidArgument, "owner");
    expect_refused({.type = "work", .tags = {"ok", name}}, ErrorCode::kInvalidArgument, "tags");
    expect_refused({.type = "work", .request_id = name}, ErrorCode::kInvalidArgument, "request_id");
    expect_refused({.ref = name, .type = "work"}, ErrorCode::kInvalidArgument, "ref");
  }
}

// It becomes a word on an agent's command line.
TEST_P(BadInput, Models) {
  for (const std::string& model :
       {std::string(), std::string("-p"), std::string("a\nb"), std::string("nul\0", 4), std::string(257, 'x')}) {
    expect_refused({.type = "work", .model = model}, ErrorCode::kInvalidArgument, "model");
  }
}

TEST_P(BadInput, Numbers) {
  for (const int priority : {-1, 10, 1'000'000}) {
    expect_refused({.type = "work", .priority = priority}, ErrorCode::kInvalidArgument, "priority");
  }
  expect_refused({.type = "work", .max_attempts = 0}, ErrorCode::kInvalidArgument, "max_attempts");
  expect_refused({.type = "work", .max_attempts = -1}, ErrorCode::kInvalidArgument, "max_attempts");
  expect_refused({.type = "work", .max_stalls = -1}, ErrorCode::kInvalidArgument, "max_stalls");
  expect_refused({.type = "work", .max_defers = -1}, ErrorCode::kInvalidArgument, "max_defers");
}

TEST_P(BadInput, ObjectsWithTooManyKeys) {
  std::string payload = "{";
  for (int i = 0; i <= 1'000; ++i) payload += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":1";
  payload += "}";
  expect_refused({.type = "work", .payload = payload}, ErrorCode::kInvalidJson, "1000 keys");
  expect_refused({.type = "work", .payload = "[{\"a\":" + payload + "}]"}, ErrorCode::kInvalidJson, "1000 keys");
}

// More than a page may have.
TEST_P(BadInput, Pages) {
  for (const int limit : {-1, 0, 1'001}) {
    EXPECT_EQ(code_of(queue().list({}, limit, std::nullopt)), ErrorCode::kInvalidArgument) << limit;
    EXPECT_EQ(code_of(queue().events(0, limit)), ErrorCode::kInvalidArgument) << limit;
  }
}

TEST_P(BadInput, Durations) {
  expect_refused({.type = "work", .delay = -1ms}, ErrorCode::kInvalidArgument, "delay");
  expect_refused({.type = "work", .delay = Millis::max()}, ErrorCode::kInvalidArgument, "delay");
  expect_refused({.type = "work", .deadline = 0ms}, ErrorCode::kInvalidArgument, "deadline");
  expect_refused({.type = "work", .deadline = Millis::max()}, ErrorCode::kInvalidArgument, "deadline");
  expect_refused({.type = "work", .timeout = 0ms}, ErrorCode::kInvalidArgument, "timeout");
  expect_refused({.type = "work", .timeout = -1s}, ErrorCode::kInvalidArgument, "timeout");
  expect_refused({.type = "work", .idle_timeout = 0ms}, ErrorCode::kInvalidArgument, "idle_timeout");
}

TEST_P(BadInput, RetryPolicies) {
  using Kind = RetryPolicy::Kind;
  const RetryPolicy bad[] = {
      {.kind = Kind::kExponential, .base = -1s}, {.kind = Kind::kExponential, .multiplier = -1},
      {.kind = Kind::kExponential, .cap = -1s},  {.kind = Kind::kExponential, .jitter = 2},
      {.kind = Kind::kFixed, .base = -1s},       {.kind = Kind::kList, .delays = {}},
      {.kind = Kind::kList, .delays = {-1s}},
  };
  for (const RetryPolicy& policy : bad) {
    expect_refused({.type = "work", .retry = policy}, ErrorCode::kInvalidArgument, "retry");
  }
}

TEST_P(BadInput, Json) {
  const std::string bad[] = {"",
                             "{",
                             "{} {}",
                             R"({"a":1,"a":2})",
                             R"("\ud800")",
                             "\"\xff\"",
                             "NaN",
                             "'x'",
                             "[1,]",
                             "{a:1}",
                             "01",
                             "+1",
                             "\"tab\t\"",
                             "nul",
                             "1e",
                             R"("\x41")",
                             "/* no */ 1",
                             std::string(100'000, '['),
                             "\xEF\xBB\xBF{}"};
  for (const std::string& text : bad) {
    expect_refused({.type = "work", .payload = text}, ErrorCode::kInvalidJson, "payload");
    expect_refused({.type = "work", .fallback_result = text}, ErrorCode::kInvalidJson, "fallback_result");
  }
}

TEST_P(BadInput, JsonThatIsTooDeep) {
  const std::string deep = std::string(65, '[') + std::string(65, ']');
  expect_refused({.type = "work", .payload = deep}, ErrorCode::kInvalidJson, "payload");
}

TEST_P(BadInput, Oversize) {
  const std::string big(1 << 20, 'x');
  expect_refused({.type = "work", .payload = '"' + big + '"'}, ErrorCode::kPayloadTooLarge, "payload");
  expect_refused({.type = "work", .fallback_result = '"' + big + '"'}, ErrorCode::kPayloadTooLarge, "fallback_result");
  expect_refused({.type = "work", .prompt = big + "x"}, ErrorCode::kPayloadTooLarge, "prompt");
  expect_refused({.type = "work", .system_prompt = big + "x"}, ErrorCode::kPayloadTooLarge, "system_prompt");
}

TEST_P(BadInput, TextThatIsNoUtf8) {
  expect_refused({.type = "work", .prompt = "\xff"}, ErrorCode::kInvalidArgument, "prompt");
  expect_refused({.type = "work", .system_prompt = "\xc3("}, ErrorCode::kInvalidArgument, "system_prompt");
  expect_refused({.type = "work", .model = "\xed\xa0\x80"}, ErrorCode::kInvalidArgument, "model");
  expect_refused({.type = "work", .source = "\xff"}, ErrorCode::kInvalidArgument, "source");
}

TEST_P(BadInput, ABaseThatIsNoRefOrAnothersWork) {
  for (const char* base : {"--upload-pack=x", "main~1", "refs/drover/x", "drover/x", ""}) {
    expect_refused({.type = "work", .base = base}, ErrorCode::kInvalidArgument, "base");
  }
  expect_refused({.type = "work", .repo = "-x"}, ErrorCode::kInvalidArgument, "repo");
}

TEST_P(BadInput, TooManyTags) {
  expect_refused({.type = "work", .tags = std::vector<std::string>(10'000, "x")}, ErrorCode::kInvalidArgument, "tags");
}

TEST_P(BadInput, ABatchSaysWhichTaskIsBad) {
  const auto answer = queue().enqueue(std::vector<TaskSpec>{{.type = "work"}, {.type = "work", .priority = 10}});
  ASSERT_FALSE(answer.has_value());
  EXPECT_NE(answer.error().message.find('2'), std::string::npos) << answer.error().message;
}

}  // namespace
}  // namespace drover::test
