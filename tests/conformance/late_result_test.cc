// Late results: the worker of a run that was lost reports its end all the same. It is refused, and the log tells of it.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

class LateResult : public ConformanceTest {
 protected:
  // What the log tells of late results of the task.
  std::vector<std::string> told(const TaskId& id) {
    std::vector<std::string> data;
    for (const Event& event : events_of(id)) {
      if (event.name == "task.result_refused") data.push_back(event.data);
    }
    return data;
  }
  void expect_refused(const Lease& lease, int times = 1) {
    for (int i = 0; i < times; ++i) EXPECT_EQ(code_of(queue().complete(lease, {})), ErrorCode::kStaleLease);
  }
};
ON_EVERY_STORE(LateResult);

TEST_P(LateResult, IsToldOnceWhileTheTaskWaits) {
  const Lease lease = start_work();
  lose(lease);
  const Task before = get(lease.task);
  expect_refused(lease, 3);
  EXPECT_EQ(told(lease.task), std::vector<std::string>{R"({"run":1,"end":"complete"})"});
  EXPECT_EQ(get(lease.task), before);
}

TEST_P(LateResult, IsToldWhileAnotherRunGoesOnUndisturbed) {
  const Lease lost = start_work();
  lose(lost);
  const Lease live = start(lost.task);
  must(queue().progress(live, {40, "nearly"}));
  EXPECT_EQ(code_of(queue().fail(lost, {.error_class = ErrorClass::kTimeout, .message = "slow"})),
            ErrorCode::kStaleLease);
  EXPECT_EQ(told(lost.task), std::vector<std::string>{R"({"run":1,"end":"fail","class":"timeout"})"});
  EXPECT_EQ(get(lost.task).progress, (Progress{40, "nearly"}));
  EXPECT_EQ(renew(live), LeaseState::kHeld);
  EXPECT_EQ(complete(live, "1"), TaskState::kCompleted);
  EXPECT_EQ(get(lost.task).result, "1");
}

TEST_P(LateResult, IsToldAfterTheTaskHasEnded) {
  const Lease lost = start_work();
  lose(lost);
  complete(start(lost.task), "1");
  reopen();
  expect_refused(lost, 2);
  EXPECT_EQ(told(lost.task).size(), 1U);
  EXPECT_EQ(get(lost.task).result, "1");
}

TEST_P(LateResult, IsToldAfterADeadline) {
  const Lease lease = start_new({.type = "work", .deadline = 10s});
  pass(10s);
  expect_refused(lease, 2);
  EXPECT_EQ(told(lease.task).size(), 1U);
  EXPECT_EQ(state(lease.task), TaskState::kFailed);
}

TEST_P(LateResult, IsToldOfEachLostRunOnce) {
  const Lease first = start_work();
  lose(first);
  expect_refused(first, 2);
  const Lease second = start(first.task);
  lose(second);
  expect_refused(first);
  expect_refused(second, 2);
  EXPECT_EQ(told(first.task),
            (std::vector<std::string>{R"({"run":1,"end":"complete"})", R"({"run":2,"end":"complete"})"}));
}

// Else anybody who may settle could fill the log.
TEST_P(LateResult, OfARunThatWasNotLostIsNotTold) {
  const Lease ended = start_work();
  complete(ended);
  EXPECT_EQ(code_of(queue().fail(ended, {})), ErrorCode::kStaleLease);
  const Lease live = start_work();
  expect_refused({live.task, LeaseId({7})});
  const Lease lost = start_work();
  lose(lost);
  EXPECT_EQ(code_of(queue().release(lost)), ErrorCode::kStaleLease);
  EXPECT_EQ(code_of(try_settle({lost, CancelConfirmed{}})), ErrorCode::kStaleLease);
  for (const TaskId& id : {ended.task, live.task, lost.task}) EXPECT_EQ(told(id), std::vector<std::string>());
}

}  // namespace
}  // namespace drover::test
