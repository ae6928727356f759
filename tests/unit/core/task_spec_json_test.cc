#include "records.h"

#include <fmt/format.h>

#include "core/spec_check.h"
#include "core/task_json.h"

namespace drover {
namespace {

using namespace drover::testing;

TaskSpec must_parse(std::string_view text) {
  auto spec = parse_task_spec(text);
  if (!spec) {
    ADD_FAILURE() << to_string(spec.error());
    return {};
  }
  return *spec;
}

std::string refusal(std::string_view text) {
  const auto spec = parse_task_spec(text);
  if (spec) {
    ADD_FAILURE() << "accepted: " << text;
    return {};
  }
  EXPECT_EQ(spec.error().code, ErrorCode::kInvalidArgument) << text;
  return spec.error().message;
}

TEST(TaskSpecJson, ReadsEveryField) {
  const TaskSpec spec = must_parse(R"({
    "id": "01926F3E-7C00-7000-8000-000000000001", "ref": "a", "type": "eng", "queue": "q", "owner": "o",
    "priority": 2, "payload": {"k": [1, 2]}, "prompt": "p", "system_prompt": "s", "model": "m", "repo": "site", "base": "main",
    "agent_id": "x",
    "source": "src", "traceparent": "tp", "tags": ["t1", "t2"],
    "parent_id": "00000000-0000-0000-0000-000000000002",
    "depends_on": ["@b", "00000000-0000-0000-0000-000000000003"], "request_id": "r", "dedupe_key": "k",
    "dedupe": "drop", "dedupe_window": "10m", "locks": ["a", "b"], "cost": 3, "delay": "1m",
    "deadline": "2h", "max_attempts": 5, "max_stalls": 0, "max_defers": 7, "retry": "fixed:2s", "timeout": "30m",
    "idle_timeout": "90s", "on_parent_failure": "run", "at_most_once": true, "fallback_result": [null]})");
  TaskSpec expected;
  expected.id = TaskId::parse("01926f3e-7c00-7000-8000-000000000001");
  expected.ref = "a";
  expected.type = "eng";
  expected.queue = "q";
  expected.owner = "o";
  expected.priority = 2;
  expected.payload = R"({"k":[1,2]})";
  expected.prompt = "p";
  expected.system_prompt = "s";
  expected.model = "m";
  expected.repo = "site";
  expected.base = "main";
  expected.agent_id = "x";
  expected.source = "src";
  expected.traceparent = "tp";
  expected.tags = {"t1", "t2"};
  expected.parent_id = task_id(2);
  expected.depends_on = {std::string("b"), task_id(3)};
  expected.request_id = "r";
  expected.dedupe_key = "k";
  expected.dedupe = DedupeMode::kDrop;
  expected.dedupe_window = Millis{600'000};
  expected.locks = {"a", "b"};
  expected.cost = 3;
  expected.delay = Millis{60'000};
  expected.deadline = Millis{7'200'000};
  expected.max_attempts = 5;
  expected.max_stalls = 0;
  expected.max_defers = 7;
  expected.retry = RetryPolicy{.kind = RetryPolicy::Kind::kFixed, .base = Millis{2'000}};
  expected.timeout = Millis{1'800'000};
  expected.idle_timeout = Millis{90'000};
  expected.on_parent_failure = OnParentFailure::kRun;
  expected.at_most_once = true;
  expected.fallback_result = "[null]";
  EXPECT_EQ(spec, expected);
  EXPECT_EQ(must_parse(to_json(spec)), expected);
}

TEST(TaskSpecJson, WritesWhatIsSetAndNothingElse) {
  EXPECT_EQ(to_json(TaskSpec{.type = "t"}), R"({"type":"t"})");
  const TaskSpec nulls{.type = "t", .payload = "null", .run_at = Time(Millis{1}), .fallback_result = "null"};
  EXPECT_EQ(must_parse(to_json(nulls)), nulls);
  EXPECT_FALSE(json::parse(to_json(TaskSpec{.type = "t", .payload = ""})).has_value());
}

TEST(TaskSpecJson, ReadsTheNamesOfTheTasksOwnShape) {
  const TaskSpec spec = must_parse(R"({"type":"eng","priority":"high","run_at":"2027-01-15T08:00:00.001Z",
    "deadline_at":"2027-01-15T08:00:00.002Z","timeout_ms":5,"idle_timeout_ms":6,"dedupe":"drop",
    "dedupe_window_ms":7})");
  EXPECT_EQ(spec.priority, 2);
  EXPECT_EQ(spec.run_at, kCreated + Millis{1});
  EXPECT_EQ(spec.deadline_at, kCreated + Millis{2});
  EXPECT_EQ(spec.timeout, Millis{5});
  EXPECT_EQ(spec.idle_timeout, Millis{6});
  EXPECT_EQ(spec.dedupe_window, Millis{7});
}

TEST(TaskSpecJson, NullIsUnset) {
  TaskSpec expected;
  expected.type = "eng";
  EXPECT_EQ(must_parse(R"({"type":"eng","queue":null,"payload":null,"tags":null,"max_attempts":null,
    "depends_on":null,"fallback_result":null,"retry":null})"),
            expected);
}

TEST(TaskSpecJson, FromAValue) {
  const auto value = json::parse(R"({"type":"eng","payload":{"b":1e400,"a":0.10}})");
  ASSERT_TRUE(value);
  const auto spec = parse_task_spec(*value);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->payload, R"({"b":1e400,"a":0.10})");
}

TEST(TaskSpecJson, RefusalsNameTheField) {
  EXPECT_EQ(refusal(R"({"type":"eng","payloda":1})"), R"(unknown field "payloda" (did you mean "payload"?))");
  EXPECT_EQ(refusal(R"({"type":"eng","zzzzzzzz":1})"), R"(unknown field "zzzzzzzz")");
  EXPECT_EQ(refusal(R"({"type":"eng","state":"pending"})").find("unknown field"), 0u);
  EXPECT_EQ(refusal(R"([1])"), "a task must be an object, not an array");
  EXPECT_EQ(refusal(R"({})").find("type: "), 0u);
  EXPECT_EQ(refusal(R"({"type":5})"), "type: expected a string, not number");
  EXPECT_EQ(refusal(R"({"type":"a b"})"), R"(type: expected 1 to 128 letters, digits or any of _ . : @ -, not "a b")");
  EXPECT_EQ(refusal(R"({"type":"t","max_attempts":0})"),
            "max_attempts: expected a whole number from 1 to 1000000, not 0");
  EXPECT_EQ(refusal(R"({"type":"t","max_attempts":4294967297})"),
            "max_attempts: expected a whole number from 1 to 1000000, not 4294967297");
  EXPECT_EQ(refusal(R"({"type":"t","max_attempts":1.0})"), "max_attempts: expected a whole number, not 1.0");
  EXPECT_EQ(refusal(R"({"type":"t","max_attempts":"3"})"), "max_attempts: expected a whole number, not string");
  EXPECT_EQ(refusal(R"({"type":"t","priority":10})"), "priority: expected a whole number from 0 to 9, not 10");
  EXPECT_EQ(refusal(R"({"type":"t","at_most_once":1})"), "at_most_once: expected true or false, not number");
  EXPECT_EQ(refusal(R"({"type":"t","tags":"x"})"), "tags: expected an array, not string");
  EXPECT_EQ(refusal(R"({"type":"t","tags":["x",1]})"), "tags: expected a string, not number");
  EXPECT_EQ(refusal(R"({"type":"t","timeout_ms":-1})").find("timeout_ms: "), 0u);
  EXPECT_EQ(refusal(R"({"type":"t","timeout_ms":"5s"})").find("timeout_ms: "), 0u);
  EXPECT_EQ(refusal(R"({"type":"t","timeout":"5s","timeout_ms":5000})"),
            "timeout_ms: given both as a duration and in milliseconds");
  EXPECT_EQ(refusal(R"({"type":"t","timeout":"0s"})").find("timeout: "), 0u);
  EXPECT_EQ(refusal(R"({"type":"t","id":"nope"})"), R"(id: expected a UUID, not "nope")");
  EXPECT_EQ(refusal(R"({"type":"t","parent_id":7})"), "parent_id: expected a string, not number");
  EXPECT_EQ(refusal(R"({"type":"t","depends_on":["nope"]})"),
            R"(depends_on: expected a task id, or @ and a ref of this batch, not "nope")");
  EXPECT_EQ(refusal(R"({"type":"t","on_parent_failure":"x"})"),
            R"(on_parent_failure: expected cancel, fail or run, not "x")");
  EXPECT_EQ(refusal(R"({"type":"t","dedupe":"x"})"),
            R"(dedupe: expected single_flight, drop, merge, replace or keep_latest, not "x")");
  EXPECT_EQ(refusal(R"({"type":"t","cost":0})"), "cost: expected a whole number from 1 to 1000000, not 0");
  EXPECT_EQ(refusal(R"({"type":"t","locks":["a","a"]})"), "locks: a is named twice");
  EXPECT_EQ(refusal(R"({"type":"t","dedupe":"merge","dedupe_window":"1m"})"),
            "dedupe_window: only the dedupe mode drop has a window");
  for (const std::string_view text :
       {R"({"type":"t","retry":"x"})", R"({"type":"t","run_at":"x"})", R"({"type":"t","delay":"x"})",
        R"({"type":"t","deadline":5})", R"({"type":"t","priority":"x"})"}) {
    refusal(text);
  }
}

TEST(TaskSpecJson, RefusesWhatIsNoJson) {
  for (const std::string_view text : {"", "{", R"({"type":"t"} x)", R"({"type":"t","type":"u"})"}) {
    const auto spec = parse_task_spec(text);
    ASSERT_FALSE(spec) << text;
    EXPECT_EQ(spec.error().code, ErrorCode::kInvalidJson);
  }
}

// What stands in the text stays, byte for byte, but for white space outside strings.
TEST(TaskSpecJson, PayloadKeepsItsText) {
  std::string megabyte = "\"";
  while (megabyte.size() < (1 << 20)) megabyte += "0123456789 äöü € 𝄞 ";
  megabyte += '"';
  std::string nested(50, '[');
  nested += "1" + std::string(50, ']');
  for (const std::string& payload :
       {std::string(R"({"z":1,"a":2,"m":{"z":1,"a":2}})"), std::string("123456789012345678901234567890"),
        std::string("-0"), std::string("1e400"), std::string("0.10"), std::string("[1.0,1.00,1E+2,1e-400]"),
        std::string(R"("\u00e9 é \/ / \ud834\udd1e \" \\ \n")"), std::string(R"({"payload":{"payload":[1]},"":{}})"),
        std::string("\"  spaces  kept  \""), std::string("true"), std::string("\"\""), std::string("[]"),
        std::string("{}"), nested, megabyte}) {
    const TaskSpec spec = must_parse(R"({"fallback_result":)" + payload + R"(,"type":"t","payload":)" + payload + "}");
    EXPECT_EQ(spec.payload, payload);
    EXPECT_EQ(spec.fallback_result, payload);
    Task task;
    task.payload = spec.payload;
    EXPECT_NE(to_json(task).find("\"payload\":" + payload + ",\"prompt\""), std::string::npos);
  }
  const TaskSpec spaced =
      must_parse("\n{ \"p\\u0061yload\" : { \"a\" : [ 1 , 2 ] , \"b\" : \" x \" } , \"type\" : \"t\" }\t");
  EXPECT_EQ(spaced.payload, R"({"a":[1,2],"b":" x "})");
}

TEST(CheckSpec, BoundsEveryValueOfCallersInCode) {
  const auto complaint = [](auto change) {
    TaskSpec spec;
    spec.type = "t";
    change(spec);
    const Status status = check_spec(spec);
    EXPECT_FALSE(status);
    if (status) return std::string();
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
    return status.error().message.substr(0, status.error().message.find(':'));
  };
  const std::string bad_utf8 = "\xff";
  const std::string long_text(kLabelBytesMax + 1, 'x');
  EXPECT_EQ(complaint([](TaskSpec& s) { s.type = ""; }), "type");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.type = std::string(129, 'x'); }), "type");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.ref = "a/b"; }), "ref");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.queue = ""; }), "queue");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.owner = "ä"; }), "owner");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.request_id = "\n"; }), "request_id");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.dedupe_key = "a b"; }), "dedupe_key");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.dedupe_window = Millis{1}; }), "dedupe_window");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.dedupe = DedupeMode::kDrop, s.dedupe_window = Millis{0}; }), "dedupe_window");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.locks = {"a b"}; }), "locks");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.locks.assign(kLocksMax + 1, "x"); }), "locks");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.cost = 1'000'001; }), "cost");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.tags = {"ok", "not ok"}; }), "tags");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.tags.assign(kTagsMax + 1, "x"); }), "tags");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.depends_on.assign(kParentsMax + 1, task_id(1)); }), "depends_on");
  EXPECT_EQ(complaint([&](TaskSpec& s) { s.prompt = bad_utf8; }), "prompt");
  EXPECT_EQ(complaint([&](TaskSpec& s) { s.system_prompt = bad_utf8; }), "system_prompt");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.model = std::string(kWordBytesMax + 1, 'x'); }), "model");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.model = ""; }), "model");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.model = "-p"; }), "model");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.repo = "-x"; }), "repo");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.repo = "../x"; }), "repo");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.base = "--upload-pack=x"; }), "base");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.base = "refs/drover/x"; }), "base");
  EXPECT_EQ(complaint([&](TaskSpec& s) { s.agent_id = bad_utf8; }), "agent_id");
  EXPECT_EQ(complaint([&](TaskSpec& s) { s.source = long_text; }), "source");
  EXPECT_EQ(complaint([&](TaskSpec& s) { s.traceparent = long_text; }), "traceparent");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.priority = -1; }), "priority");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.priority = 10; }), "priority");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.max_attempts = 0; }), "max_attempts");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.max_stalls = -1; }), "max_stalls");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.max_defers = 1'000'001; }), "max_defers");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.retry = RetryPolicy{.base = Millis{-1}}; }), "retry");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.retry = RetryPolicy{.kind = RetryPolicy::Kind::kList}; }), "retry");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.delay = Millis{-1}; }), "delay");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.delay = kDurationMax + Millis{1}; }), "delay");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.delay = Millis{1}, s.run_at = kNow; }), "delay");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.deadline = Millis{0}; }), "deadline");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.deadline = Millis{1}, s.deadline_at = kNow; }), "deadline");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.timeout = Millis{0}; }), "timeout");
  EXPECT_EQ(complaint([](TaskSpec& s) { s.idle_timeout = kDurationMax + Millis{1}; }), "idle_timeout");
  // The first of several.
  EXPECT_EQ(complaint([](TaskSpec& s) { s.type = "", s.priority = 10, s.timeout = Millis{0}; }), "type");
}

TEST(CheckSpec, TakesTheEdges) {
  TaskSpec spec;
  spec.type = std::string(128, 'x');
  spec.priority = 9;
  spec.max_attempts = 1;
  spec.max_stalls = 0;
  spec.max_defers = 0;
  spec.delay = Millis{0};
  spec.deadline = Millis{1};
  spec.timeout = kDurationMax;
  spec.retry = RetryPolicy{};
  spec.tags.assign(kTagsMax, "x");
  spec.locks = {"1", "2", "3", "4", "5", "6", "7", "8"};
  spec.cost = 1'000'000;
  spec.dedupe = DedupeMode::kDrop;
  spec.dedupe_window = Millis{1};
  spec.depends_on.assign(kParentsMax, std::string("a"));
  spec.model = std::string(kWordBytesMax, 'x');
  spec.prompt = "ü";
  EXPECT_TRUE(check_spec(spec));
}

TEST(TaskSpecJson, NullValuesAreThereAndNull) {
  const auto spec = parse_task_spec(std::string_view(R"({"type":"t","null_values":["payload","fallback_result"]})"));
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  EXPECT_EQ(spec->payload, "null");
  EXPECT_EQ(spec->fallback_result, "null");
  for (const char* wrong : {R"(["result"])", R"("payload")"}) {
    const std::string text = fmt::format(R"({{"type":"t","null_values":{}}})", wrong);
    const auto refused = parse_task_spec(std::string_view(text));
    ASSERT_FALSE(refused.has_value()) << wrong;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument) << wrong;
  }
}

}  // namespace
}  // namespace drover
