// The fingerprint of a request: equal for an exact replay, different for any other body.
#include "engine/spec.h"

#include <gtest/gtest.h>

#include <set>

#include "core/task_fields.h"
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
      with([](TaskSpec& s) { s.repo = "x"; }),
      with([](TaskSpec& s) { s.base = "x"; }),
      with([](TaskSpec& s) { s.agent_id = "x"; }),
      with([](TaskSpec& s) { s.source = "x"; }),
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
      with([](TaskSpec& s) { s.dedupe_key = "k"; }),
      with([](TaskSpec& s) { s.dedupe = DedupeMode::kMerge; }),
      with([](TaskSpec& s) { s.dedupe_window = 1s; }),
      with([](TaskSpec& s) { s.locks = {"a", "b"}; }),
      with([](TaskSpec& s) { s.locks = {"a"}; }),
      with([](TaskSpec& s) { s.cost = 1; }),
  };
  std::set<std::string> fingerprints;
  for (const TaskSpec& spec : variants) fingerprints.insert(request_fingerprint(spec));
  EXPECT_EQ(fingerprints.size(), variants.size());
}

TEST(SpecTest, EveryTextIsPartOfTheFingerprintUnlessTheListSaysOtherwise) {
  visit_task_fields([](auto field) {
    if constexpr (field.kIs.kind == FieldKind::kText || field.kIs.kind == FieldKind::kLabel) {
      TaskSpec other = base();
      field.asked(other) = "other";
      EXPECT_EQ(request_fingerprint(other) != request_fingerprint(base()), field.kIs.same) << field.name();
    }
  });
}

TEST(SpecTest, TheSameRequestWithinAnotherTraceIsTheSame) {
  TaskSpec traced = base();
  traced.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  EXPECT_EQ(request_fingerprint(traced), request_fingerprint(base()));
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

Task task_of(const TaskSpec& spec, const Policy& policy = {}) {
  return must(record_from_spec(spec, policy, TaskId{}, Time{})).task;
}

TEST(SpecTest, ItsProviderIsAskedBeforeItsLocks) {
  Policy policy;
  policy.types["t"].provider = "p";
  EXPECT_EQ(task_of({.type = "t", .locks = {"b", "a"}}, policy).gates,
            (std::vector<std::string>{"provider:p", "lock:a", "lock:b"}));
  EXPECT_EQ(task_of({.type = "u"}, policy).gates, std::vector<std::string>{});
}

TEST(SpecTest, ACostOverABurstIsRefusedAndNamesTheGate) {
  Policy policy;
  policy.other_owners.gate.rate = Rate{.units = 1, .per = Millis{1'000}, .burst = 5};
  EXPECT_EQ(task_of({.type = "t", .cost = 5}, policy).cost, 5);
  const auto refused = record_from_spec({.type = "t", .owner = "me", .cost = 6}, policy, TaskId{}, Time{});
  ASSERT_EQ(code_of(refused), ErrorCode::kLimitExceeded);
  EXPECT_EQ(refused.error().message, "cost: 6 is more than the rate limit of owner:me ever allows at once (5)");
}

TEST(SpecTest, AKeyOrAModeIsEnoughToDeduplicate) {
  EXPECT_EQ(task_of({.type = "t"}).dedupe, std::nullopt);
  EXPECT_EQ(task_of({.type = "t"}).dedupe_key, std::nullopt);
  EXPECT_EQ(task_of({.type = "t", .dedupe_key = "k"}).dedupe, DedupeMode::kSingleFlight);
  const Task hashed = task_of({.type = "t", .payload = R"({"b": 1, "a": 2})", .dedupe = DedupeMode::kDrop});
  EXPECT_EQ(hashed.dedupe, DedupeMode::kDrop);
  EXPECT_EQ(hashed.dedupe_key,
            task_of({.type = "t", .payload = R"({"a":2,"b":1})", .dedupe = DedupeMode::kMerge}).dedupe_key);
}

}  // namespace
}  // namespace drover::test
