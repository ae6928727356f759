// The fingerprint of a request: equal for an exact replay, different for any other body.
#include "engine/spec.h"

#include <gtest/gtest.h>

#include <set>

#include "support/must.h"

namespace drover::test {
namespace {

TaskSpec base() {
  return {.type = "t", .payload = "1", .request_id = "r"};
}

TEST(SpecTest, WhiteSpaceDoesNotChangeTheFingerprint) {
  TaskSpec spaced = base();
  spaced.payload = " 1 ";
  EXPECT_EQ(request_fingerprint(spaced), request_fingerprint(base()));
}

TEST(SpecTest, EveryFieldChangesTheFingerprint) {
  const TaskId id = TaskId::parse("0193300d-2b6b-7c4f-8a1e-00ff10ab5c9d").value();
  using std::chrono_literals::operator""s;
  const auto with = [](auto change) {
    TaskSpec spec = base();
    change(spec);
    return spec;
  };
  const std::vector<TaskSpec> variants{
      base(),
      with([&](TaskSpec& s) { s.id = id; }),
      with([](TaskSpec& s) { s.type = "u"; }),
      with([](TaskSpec& s) { s.queue = "t"; }),
      with([](TaskSpec& s) { s.owner = "t"; }),
      with([](TaskSpec& s) { s.priority = 1; }),
      with([](TaskSpec& s) { s.payload = "2"; }),
      with([](TaskSpec& s) { s.payload = "null"; }),
      with([](TaskSpec& s) { s.payload = R"("1")"; }),
      with([](TaskSpec& s) { s.payload.reset(); }),
      with([](TaskSpec& s) { s.prompt = "x"; }),
      with([](TaskSpec& s) { s.prompt = ""; }),
      with([](TaskSpec& s) { s.system_prompt = "x"; }),
      with([](TaskSpec& s) { s.model = "x"; }),
      with([](TaskSpec& s) { s.agent_id = "x"; }),
      with([](TaskSpec& s) { s.source = "x"; }),
      with([](TaskSpec& s) { s.traceparent = "x"; }),
      with([](TaskSpec& s) { s.tags = {"a", "b"}; }),
      with([](TaskSpec& s) { s.tags = {"a"}; }),
      with([&](TaskSpec& s) { s.parent_id = id; }),
      with([&](TaskSpec& s) { s.depends_on = {id}; }),
      with([](TaskSpec& s) { s.depends_on = {"ref"}; }),
      with([](TaskSpec& s) { s.delay = 1s; }),
      with([](TaskSpec& s) { s.run_at = Time{1s}; }),
      with([](TaskSpec& s) { s.deadline = 1s; }),
      with([](TaskSpec& s) { s.deadline_at = Time{1s}; }),
      with([](TaskSpec& s) { s.max_attempts = 1; }),
      with([](TaskSpec& s) { s.max_stalls = 1; }),
      with([](TaskSpec& s) { s.max_defers = 1; }),
      with([](TaskSpec& s) { s.retry = RetryPolicy{}; }),
      with([](TaskSpec& s) { s.timeout = 1s; }),
      with([](TaskSpec& s) { s.idle_timeout = 1s; }),
      with([](TaskSpec& s) { s.on_parent_failure = OnParentFailure::kCancel; }),
      with([](TaskSpec& s) { s.at_most_once = false; }),
      with([](TaskSpec& s) { s.fallback_result = "1"; }),
  };
  std::set<std::string> fingerprints;
  for (const TaskSpec& spec : variants) fingerprints.insert(request_fingerprint(spec));
  EXPECT_EQ(fingerprints.size(), variants.size());
}

TEST(SpecTest, TheSpecSpeaksBeforeItsTypeAndTheTypeBeforeTheDefault) {
  Policy policy;
  policy.types["t"].max_attempts = 7;
  policy.types["t"].max_stalls = 8;
  TaskSpec spec{.type = "t", .max_attempts = 2};
  const Task task = must(record_from_spec(spec, policy, TaskId{}, Time{})).task;
  EXPECT_EQ(task.max_attempts, 2);
  EXPECT_EQ(task.max_stalls, 8);
  EXPECT_EQ(task.max_defers, 100);
}

}  // namespace
}  // namespace drover::test
