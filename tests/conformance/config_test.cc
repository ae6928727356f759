// The policy document: one for the whole fleet, versioned, compare-and-set.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

CONFORMANCE_SUITE(Configuration);

TEST_P(Configuration, StartsEmpty) {
  const Config config = must(queue().config());
  EXPECT_EQ(config.version, 0);
  EXPECT_EQ(config.document, "{}");
}

TEST_P(Configuration, ApplyingMakesANewVersion) {
  const Config applied = must(queue().apply_config(R"({"limits":{"max_waiting":7}})", 0));
  EXPECT_EQ(applied.version, 1);
  EXPECT_EQ(applied.document, R"({"limits":{"max_waiting":7}})");
  const Config read = must(queue().config());
  EXPECT_EQ(read.version, 1);
  EXPECT_EQ(read.document, applied.document);
}

TEST_P(Configuration, AChangeBasedOnAnOldVersionIsRefused) {
  must(queue().apply_config(R"({"limits":{"max_waiting":7}})", 0));
  EXPECT_EQ(code_of(queue().apply_config(R"({"limits":{"max_waiting":8}})", 0)), ErrorCode::kWrongState);
  EXPECT_EQ(code_of(queue().apply_config(R"({"limits":{"max_waiting":8}})", 2)), ErrorCode::kWrongState);
  EXPECT_EQ(must(queue().config()).document, R"({"limits":{"max_waiting":7}})");
  EXPECT_EQ(must(queue().apply_config("{}", 1)).version, 2);
}

TEST_P(Configuration, EveryVersionIsKept) {
  EXPECT_TRUE(must(queue().config_versions()).empty());
  EXPECT_EQ(code_of(queue().config_at(0)), ErrorCode::kNotFound);
  const Time began = now();
  must(queue().apply_config(R"({"limits":{"max_waiting":7}})", 0));
  advance(Millis(1'000));
  must(queue().apply_config("{}", 1));
  const std::vector<ConfigVersion> versions = must(queue().config_versions());
  ASSERT_EQ(versions.size(), 2U);
  EXPECT_EQ(versions[0].version, 2);
  EXPECT_EQ(versions[1].version, 1);
  EXPECT_GE(versions[1].applied_at, began);
  EXPECT_GE(versions[0].applied_at, versions[1].applied_at + Millis(1'000));
  EXPECT_EQ(must(queue().config_at(1)).document, R"({"limits":{"max_waiting":7}})");
  EXPECT_EQ(must(queue().config_at(1)).version, 1);
  EXPECT_EQ(must(queue().config_at(2)).document, "{}");
  EXPECT_EQ(code_of(queue().config_at(3)), ErrorCode::kNotFound);
}

TEST_P(Configuration, ABadDocumentIsRefused) {
  const char* bad[] = {
      "{",
      "[]",
      R"({"limits":{"max_waiting":-1}})",
      R"({"limits":{"max_wating":7}})",
      R"({"typs":{}})",
      R"({"types":{"t":{"retry":"sometimes"}}})",
      R"({"types":{"t":{"priority":12}}})",
      R"({"types":{"t":{"errors":{"nonsense":{"action":"fail"}}}}})",
      R"({"types":{"bad name":{}}})",
  };
  for (const char* document : bad) {
    EXPECT_EQ(code_of(queue().apply_config(document, 0)), ErrorCode::kInvalidConfig) << document;
  }
  EXPECT_EQ(must(queue().config()).version, 0);
}

TEST_P(Configuration, LocalSettingsAreNeverStored) {
  EXPECT_EQ(code_of(queue().apply_config(R"({"local":{"runners":{"t":{"argv":["true"]}}}})", 0)),
            ErrorCode::kInvalidConfig);
  EXPECT_EQ(must(queue().config()).version, 0);
}

TEST_P(Configuration, OutlivesARestart) {
  apply_config(R"({"types":{"work":{"max_attempts":9}}})");
  reopen();
  EXPECT_EQ(must(queue().config()).version, 1);
  EXPECT_EQ(get(enqueue_work()).max_attempts, 9);
}

TEST_P(Configuration, ATypeFillsInWhatTheTaskLeavesOpen) {
  apply_config(R"({"types":{"eng":{"queue":"work","priority":"high","max_attempts":5,"max_stalls":6,"max_defers":7,
                   "retry":"fixed:2s","timeout":"30m","idle_timeout":"2m","deadline":"1h","on_parent_failure":"run",
                   "at_most_once":true}}})");
  const Task task = get(enqueue({.type = "eng"}));
  EXPECT_EQ(task.queue, "work");
  EXPECT_EQ(task.priority, 2);
  EXPECT_EQ(task.max_attempts, 5);
  EXPECT_EQ(task.max_stalls, 6);
  EXPECT_EQ(task.max_defers, 7);
  EXPECT_EQ(to_string(task.retry), "fixed:2s");
  EXPECT_EQ(task.timeout, Millis(30min));
  EXPECT_EQ(task.idle_timeout, Millis(2min));
  EXPECT_EQ(task.deadline_at, now() + 1h);
  EXPECT_EQ(task.on_parent_failure, OnParentFailure::kRun);
  EXPECT_TRUE(task.at_most_once);
}

TEST_P(Configuration, TheTaskHasTheLastWord) {
  apply_config(
      R"({"types":{"eng":{"queue":"work","priority":2,"max_attempts":5,"at_most_once":true,"deadline":"1h"}}})");
  const Task task = get(enqueue(
      {.type = "eng", .queue = "mine", .priority = 7, .deadline = 2h, .max_attempts = 1, .at_most_once = false}));
  EXPECT_EQ(task.queue, "mine");
  EXPECT_EQ(task.priority, 7);
  EXPECT_EQ(task.max_attempts, 1);
  EXPECT_FALSE(task.at_most_once);
  EXPECT_EQ(task.deadline_at, now() + 2h);
}

TEST_P(Configuration, AStoredTaskKeepsTheRetryPolicyItWasGiven) {
  apply_config(R"({"types":{"work":{"retry":"fixed:2s"}}})");
  const TaskId id = enqueue_work();
  apply_config(R"({"types":{"work":{"retry":"fixed:9s"}}})");
  fail(start(id));
  EXPECT_EQ(get(id).run_at, now() + 2s);
}

// As a newer version would apply it.
TEST_P(Configuration, AStoredFieldThatIsUnknownHereStopsNothing) {
  const JsonText newer =
      R"({"queues":{"work":{"budget":9,"permits":1}},"routes":[],"types":{"work":{"max_attempts":9,"sandbox":{}}}})";
  const std::vector<GateStep> no_gates;
  ASSERT_TRUE(must(store().put_config(newer, 0, no_gates, {}, {})));
  const TaskId id = enqueue_work();
  EXPECT_EQ(get(id).max_attempts, 9) << "what is known beside it holds";
  enqueue_work();
  complete(start(id));
  EXPECT_EQ(must(queue().config()).document, newer);
  must(queue().set_gate({.gate = "queue:work", .what = GateOrder::Open{}}));
  EXPECT_EQ(claim({{.queue = "work"}}, 2).size(), 1U) << "its known limit is enforced";
  EXPECT_EQ(code_of(queue().apply_config(newer, 1)), ErrorCode::kInvalidConfig);
}

}  // namespace
}  // namespace drover::test
