// fsck: a store that was only ever used through its verbs has nothing to find and nothing to repair.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

CONFORMANCE_SUITE(Fsck);

TEST_P(Fsck, AnEmptyStoreIsClean) {
  EXPECT_TRUE(must(queue().fsck(FsckMode::kCheck)).empty());
}

TEST_P(Fsck, EveryStateIsClean) {
  for (const TaskState state : kAllStates) {
    place_in(state);
    EXPECT_TRUE(must(queue().fsck(FsckMode::kCheck)).empty()) << name_of(state);
  }
}

TEST_P(Fsck, RepairingACleanStoreChangesNothing) {
  for (const TaskState state :
       {TaskState::kBlocked, TaskState::kScheduled, TaskState::kRunning, TaskState::kCompleted}) {
    place_in(state);
  }
  enqueue({.type = "work", .tags = {"x"}, .request_id = "r"});
  const World before = world();
  EXPECT_TRUE(must(queue().fsck(FsckMode::kRepair)).empty());
  EXPECT_EQ(world(), before);
}

}  // namespace
}  // namespace drover::test
