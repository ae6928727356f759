// fsck: a store that was only ever used through its verbs has nothing to find and nothing to repair; what a task's end
// has left undone is found, and done.
#include <algorithm>

#include "conformance/conformance.h"
#include "core/transition.h"

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

TEST_P(Fsck, DocumentsThatCannotBeReadBeginAnew) {
  for (const DocumentKind kind : {DocumentKind::kHealth, DocumentKind::kBulk, DocumentKind::kHistory,
                                  DocumentKind::kPastAlerts, DocumentKind::kViews}) {
    const auto version = must(store().document(kind)).version;
    ASSERT_TRUE(must(store().put_document(kind, "[7]", version, {}))) << name_of(kind);
    EXPECT_EQ(must(queue().fsck(FsckMode::kCheck)).size(), 1U) << name_of(kind);
    EXPECT_EQ(must(store().document(kind)).text, "[7]") << "looking changes nothing";
    EXPECT_TRUE(must(queue().fsck(FsckMode::kRepair)).at(0).repaired) << name_of(kind);
    EXPECT_TRUE(must(queue().fsck(FsckMode::kCheck)).empty()) << name_of(kind);
  }
}

TEST_P(Fsck, UnreadableTokensAreKept) {
  ASSERT_TRUE(must(store().put_document(DocumentKind::kAccessTokens, "[7]", 0, {})));
  EXPECT_FALSE(must(queue().fsck(FsckMode::kRepair)).at(0).repaired);
  EXPECT_EQ(must(queue().fsck(FsckMode::kCheck)).at(0).code, "document_unreadable");
  const StoredDocument kept = must(store().document(DocumentKind::kAccessTokens));
  EXPECT_EQ(kept.text, "[7]");
  ASSERT_TRUE(must(store().put_document(DocumentKind::kAccessTokens, "{}", kept.version, {})));
}

class FsckOfRelations : public ConformanceTest {
 protected:
  // The task moves as the rules say, but nobody tells those that depend on it.
  void move_alone(const TaskId& id, const Trigger& trigger) {
    const auto records = must(store().read(std::span(&id, 1), Parts::kAll));
    const StepGroup group{.steps = {must(decide(records.at(0).value(), trigger, {.now = now()}))},
                          .capacity = std::nullopt};
    ASSERT_EQ(must(store().apply(std::span(&group, 1))), std::vector{Applied::kDone});
  }
  bool finds(const std::string& code) {
    return std::ranges::count(must(queue().fsck(FsckMode::kCheck)), code, &Finding::code) > 0;
  }
  void repair() {
    for (const Finding& finding : must(queue().fsck(FsckMode::kRepair))) {
      EXPECT_TRUE(finding.repaired) << finding.code << ": " << finding.detail;
    }
    for (const Finding& finding : must(queue().fsck(FsckMode::kCheck))) {
      ADD_FAILURE() << finding.code << ": " << finding.detail;
    }
  }
};
ON_EVERY_STORE(FsckOfRelations);

TEST_P(FsckOfRelations, WhatIsBlockedForNothingGoesWhereTheRulesSay) {
  const TaskId parent = enqueue_work();
  const TaskId child = enqueue_after(parent);
  const TaskId later = enqueue({.type = "work", .depends_on = {parent}, .delay = 1h});
  const TaskId other = enqueue({.type = "work", .depends_on = {parent, enqueue({.type = "other"})}});
  start(parent);
  move_alone(parent, trigger::Complete{});
  EXPECT_TRUE(finds("blocked_for_nothing"));
  repair();
  EXPECT_EQ(state(child), TaskState::kPending);
  EXPECT_EQ(story(child), "enqueued unblocked");
  EXPECT_EQ(state(later), TaskState::kScheduled);
  EXPECT_EQ(state(other), TaskState::kBlocked) << "its other parent is not done";
  EXPECT_EQ(drain(), std::vector{child});
}

TEST_P(FsckOfRelations, ManyThatAreBlockedForNothingAllGo) {
  constexpr int kMany = 130;  // more than are told one by one
  const TaskId parent = enqueue_work();
  enqueue_all(std::vector<TaskSpec>(kMany, TaskSpec{.type = "work", .depends_on = {parent}}));
  start(parent);
  move_alone(parent, trigger::Complete{});
  repair();
  EXPECT_EQ(all_tasks({.states = {TaskState::kPending}}).size(), kMany);
}

TEST_P(FsckOfRelations, AForgottenEndOfAParentIsToldByTheSweeper) {
  const TaskId parent = enqueue({.type = "work", .max_attempts = 1});
  const TaskId child = enqueue_after(parent);
  const TaskId anyway = enqueue({.type = "work", .depends_on = {parent}, .on_parent_failure = OnParentFailure::kRun});
  start(parent);
  move_alone(parent, trigger::Fail{{.message = "it broke"}});
  EXPECT_TRUE(finds("parent_end_forgotten"));
  repair();
  sweep();
  EXPECT_EQ(state(child), TaskState::kCancelled);
  EXPECT_EQ(state(anyway), TaskState::kPending);
}

}  // namespace
}  // namespace drover::test
