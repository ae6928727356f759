// The bugs that can be planted in the store do what their names say; without them the same story goes well.
#include <gtest/gtest.h>

#include "hooks/test_hooks.h"
#include "support/printers.h"
#include "unit/store/store_fixture.h"

namespace drover::test {
namespace {

struct Crash {};

// Both end with the test.
class Planted : public ::testing::TestWithParam<bool> {
 protected:
  ~Planted() override {
    plant(PlantedBug::kNone);
    set_failpoint_handler(nullptr);
  }
  void plant_if(PlantedBug bug) { plant(GetParam() ? bug : PlantedBug::kNone); }
  [[nodiscard]] bool bug() const { return GetParam(); }
  static void crash_at(std::string_view step) {
    set_failpoint_handler([step](std::string_view name) {
      if (name == step) throw Crash();
    });
  }

  StoreUnderTest sut_;
};

TEST_P(Planted, ClaimIgnoresRunAt) {
  TaskRecord later = new_record(1);
  later.task.run_at = sut_.clock().wall() + Millis(1'000);
  sut_.add(later);
  plant_if(PlantedBug::kClaimIgnoresRunAt);
  EXPECT_EQ(sut_.claim(1).size(), bug() ? 1U : 0U);
}

TEST_P(Planted, ReclaimIgnoresRevision) {
  sut_.add(1);
  sut_.claim(1);
  const Step stall = must(decide(sut_.read(id_of(1)), trigger::LeaseLost{}, sut_.context()));
  static_cast<void>(must(sut_->renew("w", std::vector{Lease{id_of(1), lease_of(1000)}}, Millis(1'000))));
  plant_if(PlantedBug::kReclaimIgnoresRevision);
  EXPECT_EQ(must(sut_->apply(std::vector{group_of({stall})})).at(0), bug() ? Applied::kDone : Applied::kConflict);
}

TEST_P(Planted, RetryMeetsOldAgent) {
  sut_.add(1);
  sut_.claim(1);
  sut_.step(id_of(1), trigger::Deadline{});
  const Step retry = must(decide(sut_.read(id_of(1)), trigger::Retry{}, sut_.context()));
  plant_if(PlantedBug::kRetryMeetsOldAgent);
  EXPECT_EQ(must(sut_->apply(std::vector{group_of({retry})})).at(0), bug() ? Applied::kDone : Applied::kStillLeased);
}

TEST_P(Planted, DependentsReleasedApart) {
  sut_.add(1);
  TaskRecord child = new_record(2);
  child.task.depends_on = {id_of(1)};
  child.unmet_parents = 1;
  sut_.add(child);
  sut_.claim(1);
  const Step parent = must(decide(sut_.read(id_of(1)), trigger::Complete{}, sut_.context()));
  const Step released = must(decide(sut_.read(id_of(2)), trigger::ParentDone{}, sut_.context()));
  plant_if(PlantedBug::kDependentsReleasedApart);
  crash_at(bug() ? "settle.after_commit" : "settle.before_commit");
  EXPECT_THROW(static_cast<void>(sut_->apply(std::vector{group_of({parent, released})})), Crash);
  EXPECT_EQ(sut_.read(id_of(1)).task.state, bug() ? TaskState::kCompleted : TaskState::kRunning);
  EXPECT_EQ(sut_.read(id_of(2)).task.state, TaskState::kBlocked);
}

TEST_P(Planted, RequestIdApart) {
  TaskRecord record = new_record(1);
  record.task.request_id = "r";
  plant_if(PlantedBug::kRequestIdApart);
  crash_at("enqueue.after_commit");
  EXPECT_THROW(static_cast<void>(sut_.try_add({record})), Crash);
  EXPECT_EQ(must(sut_->find_request("ann", "r")).has_value(), !bug());
  EXPECT_EQ(sut_.read(id_of(1)).task.state, TaskState::kPending);
}

// What is lost by it only a power cut shows: the simulator has one. Here only that nothing else changes.
TEST_P(Planted, AckBeforeCommit) {
  plant_if(PlantedBug::kAckBeforeCommit);
  sut_.add(1);
  sut_.claim(1);
  EXPECT_EQ(sut_.step(id_of(1), trigger::Complete{}).task.state, TaskState::kCompleted);
}

INSTANTIATE_TEST_SUITE_P(Bugs, Planted, ::testing::Bool(),
                         [](const auto& with) { return with.param ? "With" : "Without"; });

}  // namespace
}  // namespace drover::test
