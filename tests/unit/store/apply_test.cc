// Groups of steps: compare-and-set, all or nothing, each answered by itself.
#include <gtest/gtest.h>

#include "support/printers.h"
#include "unit/store/store_fixture.h"

namespace drover::test {
namespace {

using Answers = std::vector<Applied>;

Step completion_of(StoreUnderTest& sut, const TaskId& id) {
  return must(decide(sut.read(id), trigger::Complete{{.result = "1"}}, sut.context()));
}

TEST(StoreApply, AStepBasedOnAnOldRevisionChangesNothing) {
  StoreUnderTest sut;
  sut.add(1);
  sut.claim(1);
  const Step first = completion_of(sut, id_of(1));
  const Step second = must(decide(sut.read(id_of(1)), trigger::Release{}, sut.context()));
  EXPECT_EQ(must(sut->apply(std::vector{group_of({first})})), Answers{Applied::kDone});
  const TaskRecord done = sut.read(id_of(1));
  EXPECT_EQ(must(sut->apply(std::vector{group_of({second})})), Answers{Applied::kConflict});
  EXPECT_EQ(must(sut->apply(std::vector{group_of({first})})), Answers{Applied::kConflict});
  EXPECT_EQ(sut.read(id_of(1)), done);
  EXPECT_EQ(must(sut->last_event_seq()), 3);
}

TEST(StoreApply, AGroupIsAllOrNothingAndHarmsNoOther) {
  StoreUnderTest sut;
  sut.add(1);
  sut.add(2);
  sut.add(3);
  sut.claim(3);
  const Step stale = completion_of(sut, id_of(2));
  sut.step(id_of(2), trigger::Release{});

  const std::vector<StepGroup> groups{group_of({completion_of(sut, id_of(1)), stale}),
                                      group_of({completion_of(sut, id_of(3))})};
  EXPECT_EQ(must(sut->apply(groups)), (Answers{Applied::kConflict, Applied::kDone}));
  EXPECT_EQ(sut.read(id_of(1)).task.state, TaskState::kRunning);
  EXPECT_EQ(sut.read(id_of(2)).task.state, TaskState::kPending);
  EXPECT_EQ(sut.read(id_of(3)).task.state, TaskState::kCompleted);
  EXPECT_EQ(codes_of(must(sut->fsck(FsckMode::kCheck))), std::vector<std::string>());
}

TEST(StoreApply, TheSecondOfTwoGroupsSeesTheFirst) {
  StoreUnderTest sut;
  sut.add(1);
  sut.claim(1);
  const std::vector<StepGroup> groups{group_of({completion_of(sut, id_of(1))}),
                                      group_of({completion_of(sut, id_of(1))})};
  EXPECT_EQ(must(sut->apply(groups)), (Answers{Applied::kDone, Applied::kConflict}));
}

TEST(StoreApply, AnUnknownTaskIsAConflict) {
  StoreUnderTest sut;
  Step step;
  step.next = new_record(1);
  step.expected_revision = 1;
  EXPECT_EQ(must(sut->apply(std::vector{group_of({step})})), Answers{Applied::kConflict});
}

TEST(StoreApply, BeatsGuardAgainstARenewalInBetween) {
  StoreUnderTest sut;
  sut.add(1);
  sut.claim(1);
  const Step stall = must(decide(sut.read(id_of(1)), trigger::LeaseLost{}, sut.context()));
  ASSERT_EQ(stall.guard, Step::Guard::kRevisionAndBeats);
  const Lease lease{id_of(1), lease_of(1000)};
  ASSERT_EQ(must(sut->renew("host:1:w", std::vector{lease}, Millis(1000))).leases.at(0), LeaseState::kHeld);
  EXPECT_EQ(must(sut->apply(std::vector{group_of({stall})})), Answers{Applied::kConflict});

  const Step again = must(decide(sut.read(id_of(1)), trigger::LeaseLost{}, sut.context()));
  EXPECT_EQ(must(sut->apply(std::vector{group_of({again})})), Answers{Applied::kDone});
  EXPECT_EQ(sut.read(id_of(1)).task.state, TaskState::kStalled);
}

TEST(StoreApply, AStepThatKeepsTheLeaseKeepsWhatTheWorkerSaidMeanwhile) {
  StoreUnderTest sut;
  sut.add(1);
  sut.claim(1);
  const Step request = must(decide(sut.read(id_of(1)), trigger::Cancel{"enough"}, sut.context()));
  const Lease lease{id_of(1), lease_of(1000)};
  static_cast<void>(must(sut->renew("host:1:w", std::vector{lease}, Millis(90'000))));
  ASSERT_EQ(must(sut->note(std::vector{Note{.lease = lease, .progress = Progress{40, "on it"}}})), std::vector{true});
  ASSERT_EQ(must(sut->apply(std::vector{group_of({request})})), Answers{Applied::kDone});

  const TaskRecord record = sut.read(id_of(1));
  EXPECT_EQ(record.lease_beats, 1);
  EXPECT_EQ(record.task.progress, (Progress{40, "on it"}));
  sut.clock().advance(Millis(60'000));
  EXPECT_TRUE(must(sut->lapsed(std::nullopt, 10)).empty());
}

TEST(StoreApply, IdsAndRequestIdsAreTakenOnce) {
  StoreUnderTest sut;
  TaskRecord first = new_record(1);
  first.task.request_id = "r";
  sut.add(first);

  EXPECT_EQ(must(sut.try_add({new_record(1)})), Answers{Applied::kIdTaken});
  TaskRecord replay = new_record(2);
  replay.task.request_id = "r";
  EXPECT_EQ(must(sut.try_add({new_record(3), replay})), Answers{Applied::kRequestTaken});
  // Nothing of that group is there.
  EXPECT_EQ(must(sut->read(std::vector{id_of(3)}, Parts::kHead)).at(0), std::nullopt);
  EXPECT_EQ(must(sut->find_request("ann", "r")), id_of(1));
  EXPECT_EQ(must(sut->find_request("bob", "r")), std::nullopt);

  TaskRecord of_another = new_record(4);
  of_another.task.owner = "bob";
  of_another.task.request_id = "r";
  EXPECT_EQ(must(sut.try_add({of_another})), Answers{Applied::kDone});
  TaskRecord twice_a = new_record(5);
  TaskRecord twice_b = new_record(6);
  twice_a.task.request_id = twice_b.task.request_id = "both";
  EXPECT_EQ(must(sut.try_add({twice_a, twice_b})), Answers{Applied::kRequestTaken});
}

TEST(StoreApply, IdsAreFreeBesideThoseThatAreTaken) {
  StoreUnderTest sut;
  sut.add(5);
  EXPECT_EQ(must(sut.try_add({new_record(9), new_record(1)})), Answers{Applied::kDone}) << "on both sides";
  EXPECT_EQ(must(sut.try_add({new_record(6), new_record(8)})), Answers{Applied::kDone}) << "between two";
  EXPECT_EQ(must(sut.try_add({new_record(2), new_record(5), new_record(3)})), Answers{Applied::kIdTaken});
  EXPECT_EQ(must(sut.try_add({new_record(10), new_record(9)})), Answers{Applied::kIdTaken});
  EXPECT_EQ(must(sut.try_add({new_record(2), new_record(3), new_record(10)})), Answers{Applied::kDone});
  EXPECT_EQ(must(sut->list({}, 100, std::nullopt, Parts::kHead)).records.size(), 8U);
}

// What tasks of an owner share is kept for the next one of the same kind, and for no other.
TEST(StoreApply, TasksOfOneGroupStandInTheirOwnLanes) {
  StoreUnderTest sut;
  std::vector<TaskRecord> records;
  for (int i = 0; i < 24; ++i) {
    TaskRecord record = new_record(100 + i);
    record.task.owner = i % 2 == 0 ? "ann" : "bob";
    record.task.type = i % 3 == 0 ? "build" : "test";
    record.task.priority = i % 4 == 0 ? 2 : 5;
    record.task.cost = i % 5 == 0 ? 3 : 1;
    if (i % 6 == 0) record.task.run_at = sut.clock().wall() + Millis(1'000);
    records.push_back(record);
  }
  ASSERT_EQ(must(sut.try_add(records)), Answers{Applied::kDone});
  EXPECT_EQ(codes_of(must(sut->fsck(FsckMode::kCheck))), std::vector<std::string>());
}

TEST(StoreApply, CapacityCountsWhatWaitsOfAllAndOfAnOwner) {
  StoreUnderTest sut;
  sut.add(1);
  sut.add(2);
  sut.claim(1);  // one runs: it does not wait any more
  EXPECT_EQ(must(sut.try_add({new_record(3)}, {.waiting_max = 1})), Answers{Applied::kAllFull});
  EXPECT_EQ(must(sut.try_add({new_record(3)}, {.waiting_max = 2})), Answers{Applied::kDone});
  EXPECT_EQ(must(sut.try_add({new_record(4)}, {.waiting_per_owner_max = 2})), Answers{Applied::kOwnerFull});
  TaskRecord other = new_record(4);
  other.task.owner = "bob";
  EXPECT_EQ(must(sut.try_add({other}, {.waiting_per_owner_max = 2})), Answers{Applied::kDone});
  // A group that fits in parts but not whole is refused whole.
  EXPECT_EQ(must(sut.try_add({new_record(5), new_record(6)}, {.waiting_max = 4})), Answers{Applied::kAllFull});
  EXPECT_EQ(must(sut->read(std::vector{id_of(5)}, Parts::kHead)).at(0), std::nullopt);
}

TEST(StoreApply, CapacityCountsTheGroupsBeforeItInTheSameCall) {
  StoreUnderTest sut;
  std::vector<StepGroup> groups;
  for (int i = 1; i <= 3; ++i) {
    StepGroup group = group_of({first_step(new_record(i), sut.context())});
    group.capacity = Capacity{.waiting_max = 2};
    groups.push_back(std::move(group));
  }
  EXPECT_EQ(must(sut->apply(groups)), (Answers{Applied::kDone, Applied::kDone, Applied::kAllFull}));
}

// A lane lives as long as it holds a task, also one that the same group has only just put there.
TEST(StoreApply, ANewTaskHoldsTheLaneThatTheNextStepEmpties) {
  StoreUnderTest sut;
  sut.add(1);
  const std::vector<Step> steps{first_step(new_record(2), sut.context()),
                                must(decide(sut.read(id_of(1)), trigger::Cancel{"no"}, sut.context()))};
  ASSERT_EQ(must(sut->apply(std::vector{group_of(steps)})), Answers{Applied::kDone});
  EXPECT_EQ(codes_of(must(sut->fsck(FsckMode::kCheck))), std::vector<std::string>());
  ASSERT_EQ(sut.claim(2).size(), 1U);
  EXPECT_EQ(sut.read(id_of(2)).task.state, TaskState::kRunning);
}

TEST(StoreApply, DependentsAreFoundAlsoWithinOneGroup) {
  StoreUnderTest sut;
  sut.add(1);
  TaskRecord child = new_record(3);
  child.task.depends_on = {id_of(1), id_of(2)};
  child.unmet_parents = 2;
  ASSERT_EQ(must(sut.try_add({child, new_record(2)})), Answers{Applied::kDone});
  EXPECT_EQ(sut.read(id_of(3)).task.state, TaskState::kBlocked);
  EXPECT_EQ(sut.read(id_of(3)).task.depends_on, (std::vector{id_of(1), id_of(2)}));
  for (const int parent : {1, 2}) {
    const auto dependents = must(sut->dependents(id_of(parent)));
    ASSERT_EQ(dependents.size(), 1U);
    EXPECT_EQ(dependents[0].task.id, id_of(3));
  }
  EXPECT_TRUE(must(sut->dependents(id_of(3))).empty());
}

TEST(StoreApply, AParentThatIsGoneIsAConflict) {
  StoreUnderTest sut;
  TaskRecord child = new_record(1);
  child.task.depends_on = {id_of(9)};
  EXPECT_EQ(must(sut.try_add({child})), Answers{Applied::kConflict});
  EXPECT_EQ(must(sut->read(std::vector{id_of(1)}, Parts::kHead)).at(0), std::nullopt);
}

TEST(StoreApply, ChildrenAreFoundByTheirSpawner) {
  StoreUnderTest sut;
  sut.add(1);
  TaskRecord child = new_record(2);
  child.task.parent_id = id_of(1);
  sut.add(child);
  ASSERT_EQ(must(sut->children(id_of(1))).size(), 1U);
  EXPECT_EQ(must(sut->children(id_of(1)))[0].task.id, id_of(2));
}

TEST(StoreApplyDeathTest, TwoStepsForOneTaskAreABug) {
  StoreUnderTest sut;
  sut.add(1);
  sut.claim(1);
  const Step step = completion_of(sut, id_of(1));
  EXPECT_DEATH(static_cast<void>(sut->apply(std::vector{group_of({step, step})})), "two steps for one task");
}

}  // namespace
}  // namespace drover::test
