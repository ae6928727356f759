#include "core/dedupe.h"

#include "records.h"

namespace drover {
namespace {

using namespace drover::testing;

TEST(CanonicalJson, SortsKeysAtEveryLevelAndKeepsNumbers) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {R"({"b":1,"a":2})", R"({"a":2,"b":1})"},
      {R"([{"b":{"d":1,"c":2}},1])", R"([{"b":{"c":2,"d":1}},1])"},
      {R"({"a":0.10,"b":1e400,"c":100000000000000000000})", R"({"a":0.10,"b":1e400,"c":100000000000000000000})"},
      {R"( [ 1 , "x" , null , true ] )", R"([1,"x",null,true])"},
      {R"({"A":1})", R"({"A":1})"},
      {"7", "7"},
  };
  for (const auto& [given, canonical] : cases) EXPECT_EQ(canonical_json(given), canonical) << given;
}

TEST(DedupeKey, IsOfTypeAndPayloadWhateverTheirForm) {
  const std::string key = default_dedupe_key("eng", R"({"a":1,"b":2})");
  EXPECT_EQ(key, "7e18a5dfae417b9a1b091166607849684760e2d3e4913ffd0639ada0e20d523d")
      << "sha256 of [\"eng\",{\"a\":1,\"b\":2}]";
  EXPECT_EQ(default_dedupe_key("eng", R"({ "b": 2, "a": 1 })"), key);
  EXPECT_NE(default_dedupe_key("eng", R"({"a":1.0,"b":2})"), key);
  EXPECT_NE(default_dedupe_key("ops", R"({"a":1,"b":2})"), key);
  EXPECT_EQ(default_dedupe_key("eng", std::nullopt), default_dedupe_key("eng", "null"));
}

// The examples of RFC 7396, and ours of order and numbers.
TEST(MergePatch, Examples) {
  struct Case {
    std::string_view target;
    std::string_view patch;
    std::string_view result;
  };
  constexpr Case kCases[] = {
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", R"({})"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
      {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
      {R"({"a":"foo"})", "null", "null"},
      {R"({"a":"foo"})", R"("bar")", R"("bar")"},
      {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      {"[1,2]", R"({"a":"b","c":null})", R"({"a":"b"})"},
      {"{}", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
      {R"({"z":0.10,"a":1e400})", R"({"z":2.00,"new":3})", R"({"z":2.00,"a":1e400,"new":3})"},
  };
  for (const Case& c : kCases) EXPECT_EQ(merge_patch(std::string(c.target), c.patch), c.result) << c.target << c.patch;
  EXPECT_EQ(merge_patch(std::nullopt, R"({"a":{"b":null,"c":1}})"), R"({"a":{"c":1}})");
}

// ---- the decision

std::string said(const DedupeDecision& decision) {
  if (const auto* answer = std::get_if<dedupe::Answer>(&decision)) return "answer " + answer->id.to_string().substr(35);
  if (const auto* write = std::get_if<dedupe::Write>(&decision)) return "write " + write->id.to_string().substr(35);
  return "new";
}

TaskRecord numbered(std::uint8_t n, TaskState state, int run = 0) {
  TaskRecord record = record_in(state);
  record.task.id = task_id(n);
  record.task.run = state == TaskState::kRunning ? run + 1 : run;
  return record;
}

std::string decide(DedupeMode mode, const std::vector<TaskRecord>& unfinished) {
  return said(
      decide_dedupe({.mode = mode, .now = kNow}, unfinished.empty() ? nullptr : &unfinished.front(), unfinished));
}

TEST(Dedupe, WithoutAMatchATaskIsMade) {
  for (const DedupeMode mode : {DedupeMode::kSingleFlight, DedupeMode::kDrop, DedupeMode::kMerge, DedupeMode::kReplace,
                                DedupeMode::kKeepLatest}) {
    EXPECT_EQ(decide(mode, {}), "new") << name_of(mode);
  }
}

TEST(Dedupe, SingleFlightAnswersWithTheNewestUnfinished) {
  for (const TaskState state :
       {TaskState::kBlocked, TaskState::kScheduled, TaskState::kPending, TaskState::kRunning, TaskState::kStalled}) {
    EXPECT_EQ(decide(DedupeMode::kSingleFlight, {numbered(2, state), numbered(1, TaskState::kPending)}), "answer 2");
  }
  const TaskRecord ended = numbered(3, TaskState::kCompleted);
  EXPECT_EQ(said(decide_dedupe({.mode = DedupeMode::kSingleFlight, .now = kNow}, &ended, {})), "new");
}

TEST(Dedupe, DropAnswersWithAnyOfTheWindow) {
  TaskRecord ended = numbered(3, TaskState::kFailed);
  const DedupeRequest request{.mode = DedupeMode::kDrop, .window = Millis{1'000}, .now = kNow};
  ended.task.created_at = kNow - Millis{999};
  EXPECT_EQ(said(decide_dedupe(request, &ended, {})), "answer 3");
  ended.task.created_at = kNow - Millis{1'000};
  EXPECT_EQ(said(decide_dedupe(request, &ended, {})), "new");
  ended.task.created_at = kNow + std::chrono::hours(1);
  EXPECT_EQ(said(decide_dedupe(request, &ended, {})), "new") << "the clock was set back";
}

TEST(Dedupe, MergeAndReplaceWriteOntoOneThatHasNotStarted) {
  for (const DedupeMode mode : {DedupeMode::kMerge, DedupeMode::kReplace}) {
    EXPECT_EQ(decide(mode, {numbered(2, TaskState::kPending)}), "write 2");
    EXPECT_EQ(decide(mode, {numbered(2, TaskState::kBlocked)}), "write 2");
    EXPECT_EQ(decide(mode, {numbered(2, TaskState::kRunning)}), "new");
    EXPECT_EQ(decide(mode, {numbered(2, TaskState::kScheduled, 1)}), "new") << "it waits for its second run";
    EXPECT_EQ(decide(mode, {numbered(3, TaskState::kRunning), numbered(2, TaskState::kPending)}), "write 2");
  }
}

TEST(Dedupe, KeepLatestHasOneRunningAndOneWaiting) {
  EXPECT_EQ(decide(DedupeMode::kKeepLatest, {numbered(2, TaskState::kRunning)}), "new");
  EXPECT_EQ(decide(DedupeMode::kKeepLatest, {numbered(3, TaskState::kPending), numbered(2, TaskState::kRunning)}),
            "write 3");
  EXPECT_EQ(decide(DedupeMode::kKeepLatest, {numbered(3, TaskState::kRunning), numbered(2, TaskState::kPending)}),
            "write 2");
  EXPECT_EQ(decide(DedupeMode::kKeepLatest, {numbered(2, TaskState::kScheduled, 1)}), "write 2");
}

TEST(DedupeMode, Names) {
  for (const std::string_view name : {"single_flight", "drop", "merge", "replace", "keep_latest"}) {
    EXPECT_EQ(name_of(parse_dedupe_mode(name).value_or(DedupeMode::kDrop)), name);
  }
  EXPECT_EQ(parse_dedupe_mode("none"), std::nullopt);
}

}  // namespace
}  // namespace drover
