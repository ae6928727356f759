// A follow-up is part of the step that ends its task: under conflicts and lost answers there is one, and only one.
#include "unit/engine/engine_fixture.h"

namespace drover::test {
namespace {

class FollowUpTest : public EngineTest {
 protected:
  void SetUp() override {
    must(engine_.apply_config(
        R"({"types":{"work":{"max_stalls":0,"on_success":{"type":"next"},"on_failure":{"type":"mend"}}}})", 0));
  }
};

TEST_F(FollowUpTest, IsMadeOnceWhenOthersInterfere) {
  const Lease lease = start_work();
  conflict(5);
  EXPECT_EQ(must(engine_.complete(lease, {})), TaskState::kCompleted);
  EXPECT_EQ(count({.type = "next"}), 1U);
}

TEST_F(FollowUpTest, IsThereWhenTheAnswerWasLost) {
  const Lease lease = start_work();
  lose_answer(StoreCall::kApply);
  EXPECT_EQ(code_of(engine_.complete(lease, {})), ErrorCode::kStoreUnavailable);
  EXPECT_EQ(must(engine_.complete(lease, {})).replayed, "completed");
  EXPECT_EQ(count({.type = "next"}), 1U);
}

TEST_F(FollowUpTest, IsNotThereWhenTheEndWasNotMade) {
  const Lease lease = start_work();
  faults_.script(StoreCall::kApply, {.kind = StoreFault::Kind::kFailBefore});
  EXPECT_EQ(code_of(engine_.complete(lease, {})), ErrorCode::kStoreUnavailable);
  EXPECT_EQ(count({.type = "next"}), 0U);
  must(engine_.complete(lease, {}));
  EXPECT_EQ(count({.type = "next"}), 1U);
}

TEST_F(FollowUpTest, ASweepThatLostItsAnswerMakesNoSecondOne) {
  start_work();
  clock_.advance(30s);
  lose_answer(StoreCall::kApply);
  Sweepers sweepers(engine_);
  EXPECT_FALSE(sweepers.run_once().has_value());
  must(sweepers.run_once());
  EXPECT_EQ(count({.states = {TaskState::kFailed}}), 1U);
  EXPECT_EQ(count({.type = "mend"}), 1U);
}

// A task that its claim must fail, while the store answers badly: it is left for the next claim after its lease.
TEST_F(FollowUpTest, AnInvalidTaskIsFailedInTheEnd) {
  const TaskId id = enqueue({.type = "work"});
  must(engine_.apply_config(R"({"types":{"work":{"payload_schema":{"type":"object"},"on_failure":{"type":"mend"}}}})",
                            1));
  faults_.script(StoreCall::kApply, {.kind = StoreFault::Kind::kFailBefore});
  EXPECT_EQ(claim(1).size(), 0U);
  EXPECT_EQ(state(id), TaskState::kRunning);
  clock_.advance(30s);
  must(Sweepers(engine_).run_once());
  EXPECT_EQ(claim(1).size(), 0U);
  EXPECT_EQ(state(id), TaskState::kFailed);
  EXPECT_EQ(count({.type = "mend"}), 1U);
}

}  // namespace
}  // namespace drover::test
