// The fence: whoever does not hold the live lease may not speak for the task, whatever took the lease away.
#include <functional>

#include "conformance/conformance.h"

namespace drover::test {
namespace {

class LeaseFence : public ConformanceTest {
 protected:
  // Every verb that speaks for a running task, under a lease that has ended: refused, and nothing changes. But the one
  // that ended it is answered again. Whether the log tells of the late result, once.
  enum class Told : std::uint8_t { kNo, kOnce };
  void expect_stale(const Lease& lease, const std::string& why, Told told = Told::kNo,
                    const std::string& ended_by = "") {
    World before = world();
    const std::pair<const char*, std::function<std::optional<ErrorCode>()>> verbs[] = {
        {"progress", [&] { return code_of(queue().progress(lease, {50, "half"})); }},
        {"append_log",
         [&] { return code_of(queue().append_log(lease, std::vector<LogChunk>{{LogStream::kOut, "text"}})); }},
        {"checkpoint", [&] { return code_of(queue().checkpoint(lease, "1")); }},
        {"complete", [&] { return code_of(queue().complete(lease, {.result = "1"})); }},
        {"fail", [&] { return code_of(queue().fail(lease, {.message = "late"})); }},
        {"release", [&] { return code_of(queue().release(lease)); }},
        {"confirm cancel", [&] { return code_of(try_settle({lease, CancelConfirmed{}})); }},
        {"spawn", [&] { return code_of(queue().spawn(lease, std::vector<TaskSpec>{{.type = "child"}})); }},
    };
    for (const auto& [verb, call] : verbs) {
      const auto expected = verb == ended_by ? std::nullopt : std::optional(ErrorCode::kStaleLease);
      EXPECT_EQ(call(), expected) << verb << " after " << why;
    }
    EXPECT_EQ(renew(lease), LeaseState::kLost) << why;
    if (told == Told::kOnce) before.last_event_seq += 1;
    EXPECT_EQ(world(), before) << why;
  }
};
ON_EVERY_STORE(LeaseFence);

TEST_P(LeaseFence, TheLiveLeaseMaySpeak) {
  const Lease lease = start_work();
  EXPECT_EQ(code_of(queue().progress(lease, {50, "half"})), std::nullopt);
  EXPECT_EQ(code_of(queue().append_log(lease, std::vector<LogChunk>{{LogStream::kOut, "text"}})), std::nullopt);
  EXPECT_EQ(code_of(queue().checkpoint(lease, "1")), std::nullopt);
  EXPECT_EQ(code_of(queue().spawn(lease, std::vector<TaskSpec>{{.type = "child"}})), std::nullopt);
  EXPECT_EQ(renew(lease), LeaseState::kHeld);
  EXPECT_EQ(complete(lease), TaskState::kCompleted);
}

TEST_P(LeaseFence, StaleAfterEverySettlement) {
  const std::tuple<const char*, const char*, std::function<void(const Lease&)>> ends[] = {
      {"complete", "complete", [&](const Lease& lease) { complete(lease); }},
      {"fail, final", "fail", [&](const Lease& lease) { fail(lease, ErrorClass::kInvalid); }},
      {"fail, retried", "fail", [&](const Lease& lease) { fail(lease); }},
      {"defer", "fail", [&](const Lease& lease) { fail(lease, ErrorClass::kRateLimited); }},
      {"release", "release",
       [&](const Lease& lease) {
         release(lease);
         cancel(lease.task);
       }},
      {"confirmed cancel", "confirm cancel",
       [&](const Lease& lease) {
         cancel(lease.task);
         settle({lease, CancelConfirmed{}});
       }},
  };
  for (const auto& [how, ended_by, end] : ends) {
    const Lease lease = start_work();
    end(lease);
    expect_stale(lease, how, Told::kNo, ended_by);
  }
}

TEST_P(LeaseFence, StaleOnceTakenBack) {
  const Lease lease = start_work();
  lose(lease);
  expect_stale(lease, "stall", Told::kOnce);
  expect_stale(lease, "stall");
}

TEST_P(LeaseFence, StaleAlsoWhenTheTaskRunsAgain) {
  const Lease old = start_work();
  lose(old);
  const Lease live = start(old.task);
  expect_stale(old, "stall and reclaim", Told::kOnce);
  EXPECT_EQ(renew(live), LeaseState::kHeld);
  EXPECT_EQ(complete(live), TaskState::kCompleted);
  expect_stale(old, "the second run's end");
}

TEST_P(LeaseFence, StaleAfterReleaseAndReclaim) {
  const Lease old = start_work();
  release(old);
  const Lease live = start(old.task);
  expect_stale(old, "release and reclaim", Told::kNo, "release");
  EXPECT_EQ(complete(live), TaskState::kCompleted);
}

TEST_P(LeaseFence, StaleAfterTheDeadline) {
  const Lease lease = start_new({.type = "work", .deadline = 10s});
  pass(10s);
  ASSERT_EQ(state(lease.task), TaskState::kFailed);
  expect_stale(lease, "deadline", Told::kOnce);
}

TEST_P(LeaseFence, StaleAfterAnOperatorsRetry) {
  const Lease old = start_work();
  fail(old, ErrorClass::kInvalid);
  retry(old.task);
  expect_stale(old, "retry", Told::kNo, "fail");
  const Lease live = start(old.task);
  expect_stale(old, "retry and reclaim", Told::kNo, "fail");
  EXPECT_EQ(complete(live), TaskState::kCompleted);
}

TEST_P(LeaseFence, AnotherTasksLeaseDoesNotFit) {
  const Lease mine = start_work();
  const Lease yours = start_work();
  expect_stale({mine.task, yours.id}, "a mix-up");
}

TEST_P(LeaseFence, NoLeaseIsNoKey) {
  for (const TaskState state : kAllStates) {
    expect_stale({place_in(state).id, LeaseId{}},
                 std::string("an empty lease on a task that is ") + std::string(name_of(state)));
  }
}

TEST_P(LeaseFence, AnUnknownTaskHasNoLease) {
  const Lease lease{TaskId::parse("0193300d-2b6b-7c4f-8a1e-00ff10ab5c9d").value(), LeaseId({1})};
  EXPECT_EQ(renew(lease), LeaseState::kLost);
  EXPECT_EQ(code_of(queue().complete(lease, {})), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(queue().spawn(lease, std::vector<TaskSpec>{{.type = "child"}})), ErrorCode::kNotFound);
}

TEST_P(LeaseFence, ALeaseOutlivesARestart) {
  const Lease lease = start_work();
  reopen();
  EXPECT_EQ(renew(lease), LeaseState::kHeld);
  EXPECT_EQ(complete(lease), TaskState::kCompleted);
}

TEST_P(LeaseFence, AnOverdueLeaseIsLiveUntilItIsTakenBack) {
  const Lease lease = start_work();
  advance(kLease * 2);
  EXPECT_EQ(complete(lease), TaskState::kCompleted);
}

}  // namespace
}  // namespace drover::test
