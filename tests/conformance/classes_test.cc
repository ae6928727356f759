// Error classes: one table says what follows from each, and a type may say otherwise.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

CONFORMANCE_SUITE(Classes);

TEST_P(Classes, TheDefaultTable) {
  struct Row {
    ErrorClass error_class;
    TaskState state;
    const char* outcome;
    int attempts;
  };
  const Row rows[] = {
      {ErrorClass::kAgentError, TaskState::kScheduled, "retrying", 1},
      {ErrorClass::kSyntax, TaskState::kFailed, "failed", 1},
      {ErrorClass::kInvalid, TaskState::kFailed, "failed", 1},
      {ErrorClass::kAuth, TaskState::kFailed, "failed", 1},
      {ErrorClass::kBilling, TaskState::kFailed, "failed", 1},
      {ErrorClass::kTimeout, TaskState::kScheduled, "retrying", 1},
      {ErrorClass::kRateLimited, TaskState::kScheduled, "deferred", 0},
      {ErrorClass::kQuotaExhausted, TaskState::kScheduled, "deferred", 0},
      {ErrorClass::kOverloaded, TaskState::kScheduled, "deferred", 0},
      {ErrorClass::kOom, TaskState::kFailed, "failed", 1},
      {ErrorClass::kContextTooLong, TaskState::kFailed, "failed", 1},
      {ErrorClass::kKilled, TaskState::kScheduled, "retrying", 1},
      {ErrorClass::kSpawnFailed, TaskState::kScheduled, "retrying", 1},
      {ErrorClass::kResultTooLarge, TaskState::kFailed, "failed", 1},
  };
  for (const Row& row : rows) {
    const Lease lease = start_work();
    EXPECT_EQ(fail(lease, row.error_class), row.state) << name_of(row.error_class);
    const Task task = get(lease.task);
    EXPECT_EQ(task.attempts, row.attempts) << name_of(row.error_class);
    EXPECT_EQ(class_of(task.error), row.error_class);
    EXPECT_EQ(story(lease.task), std::string("enqueued claimed ") + row.outcome) << name_of(row.error_class);
    EXPECT_EQ(last_run_of(lease.task).outcome, row.outcome);
  }
}

TEST_P(Classes, ATimeoutIsRetriedWithMoreTime) {
  const TaskId id = enqueue({.type = "work", .max_attempts = 10, .timeout = 10s});
  fail(start(id), ErrorClass::kTimeout);
  EXPECT_EQ(get(id).timeout, Millis(15s));
  pass(2s);
  fail(start(id), ErrorClass::kTimeout);
  EXPECT_EQ(get(id).timeout, Millis(22'500ms));
}

TEST_P(Classes, ALongerTimeoutIsCappedAtADay) {
  const TaskId id = enqueue({.type = "work", .timeout = 20h});
  fail(start(id), ErrorClass::kTimeout);
  EXPECT_EQ(get(id).timeout, Millis(24h));
}

TEST_P(Classes, OtherFailuresLeaveTheTimeoutAlone) {
  const TaskId id = enqueue({.type = "work", .timeout = 10s});
  fail(start(id));
  EXPECT_EQ(get(id).timeout, Millis(10s));
}

TEST_P(Classes, ATypeMaySayOtherwise) {
  apply_config(R"({"types":{"work":{"errors":{"oom":{"action":"retry"},"agent_error":{"action":"fail"},
                   "killed":{"action":"defer"},"timeout":{"action":"retry","timeout_factor":3}}}}})");
  EXPECT_EQ(fail(start_work(), ErrorClass::kOom), TaskState::kScheduled);
  EXPECT_EQ(fail(start_work(), ErrorClass::kAgentError), TaskState::kFailed);
  const Lease killed = start_work();
  fail(killed, ErrorClass::kKilled);
  EXPECT_EQ(story(killed.task), "enqueued claimed deferred");
  const Lease slow = start_new({.type = "work", .timeout = 10s});
  fail(slow, ErrorClass::kTimeout);
  EXPECT_EQ(get(slow.task).timeout, Millis(30s));
}

TEST_P(Classes, OneTypesTableIsNotAnothers) {
  apply_config(R"({"types":{"other":{"queue":"work","errors":{"agent_error":{"action":"fail"}}}}})");
  EXPECT_EQ(fail(start_new({.type = "other"})), TaskState::kFailed);
  EXPECT_EQ(fail(start_work()), TaskState::kScheduled);
}

TEST_P(Classes, AlertsAreToldByTheEvent) {
  const Lease lease = start_work();
  fail(lease, ErrorClass::kOom);
  EXPECT_NE(last_event_of(lease.task).data.find(R"("alert":true)"), std::string::npos);
}

}  // namespace
}  // namespace drover::test
