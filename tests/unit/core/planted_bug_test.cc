// Each planted bug of the rules does its harm, so that the simulator has something to find.
#include "core/retry.h"
#include "records.h"

namespace drover {
namespace {

using namespace drover::testing;
using enum TaskState;

TEST(PlantedBugs, StallCountsAttempt) {
  const Planted bug(PlantedBug::kStallCountsAttempt);
  EXPECT_EQ(must(record_in(kRunning), trigger::LeaseLost{}).next.task.attempts, 1);
}

TEST(PlantedBugs, RetryKeepsWorker) {
  const Planted bug(PlantedBug::kRetryKeepsWorker);
  const Step retrying = must(record_in(kRunning), failure(ErrorClass::kAgentError));
  EXPECT_EQ(retrying.next.lease, lease_id(5));
  EXPECT_EQ(retrying.next.task.worker_id, "host:1:w");
  EXPECT_TRUE(must(record_in(kRunning), trigger::Release{}).next.lease.is_none());
}

TEST(PlantedBugs, DependentsReleasedEarly) {
  const Planted bug(PlantedBug::kDependentsReleasedEarly);
  TaskRecord record = record_in(kBlocked);
  record.unmet_parents = 2;
  EXPECT_EQ(must(record, trigger::ParentDone{}).next.task.state, kPending);
}

TEST(PlantedBugs, CancelForgetsRequest) {
  const Planted bug(PlantedBug::kCancelForgetsRequest);
  EXPECT_EQ(must(cancel_requested_record(), trigger::Complete{}).next.task.state, kCompleted);
}

TEST(PlantedBugs, StallNeverEnds) {
  const Planted bug(PlantedBug::kStallNeverEnds);
  TaskRecord record = record_in(kRunning);
  record.task.stalls = 50;
  EXPECT_EQ(must(record, trigger::LeaseLost{}).next.task.state, kStalled);
}

TEST(PlantedBugs, BackoffCompounds) {
  const Planted bug(PlantedBug::kBackoffCompounds);
  const RetryPolicy policy{.base = Millis{60}, .jitter = 0};
  EXPECT_EQ(retry_delay(policy, 1, 0), Millis{60});
  EXPECT_EQ(retry_delay(policy, 2, 0), Millis{120});
  EXPECT_EQ(retry_delay(policy, 3, 0), Millis{480});
}

TEST(PlantedBugs, AtMostOnceRerun) {
  const Planted bug(PlantedBug::kAtMostOnceRerun);
  TaskRecord record = record_in(kRunning);
  record.task.at_most_once = true;
  EXPECT_EQ(must(record, trigger::LeaseLost{}).next.task.state, kStalled);
}

TEST(PlantedBugs, ReleaseLosesPlace) {
  const Planted bug(PlantedBug::kReleaseLosesPlace);
  EXPECT_EQ(must(record_in(kRunning), trigger::Release{}).next.place, 0);
}

}  // namespace
}  // namespace drover
