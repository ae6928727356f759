// A lost answer is "unknown", not "failed": the verb says so, and asking again tells the truth.
#include "unit/engine/engine_fixture.h"

namespace drover::test {
namespace {

using UnknownOutcomeTest = EngineTest;

TEST_F(UnknownOutcomeTest, AnEnqueueIsRepeatedSafelyByItsRequestId) {
  const TaskSpec spec{.type = "work", .payload = "1", .request_id = "r"};
  lose_answer(StoreCall::kApply);
  EXPECT_EQ(code_of(engine_.enqueue_one(spec)), ErrorCode::kStoreUnavailable);
  const Enqueued again = must(engine_.enqueue_one(spec));
  EXPECT_TRUE(again.deduplicated);
  EXPECT_EQ(count({}), 1U);
}

TEST_F(UnknownOutcomeTest, AnEnqueueIsFoundByItsChosenId) {
  const TaskId id = TaskId::parse("0193300d-2b6b-7c4f-8a1e-00ff10ab5c9d").value();
  lose_answer(StoreCall::kApply);
  EXPECT_EQ(code_of(engine_.enqueue_one({.id = id, .type = "work"})), ErrorCode::kStoreUnavailable);
  EXPECT_EQ(state(id), TaskState::kPending);
  EXPECT_EQ(code_of(engine_.enqueue_one({.id = id, .type = "work"})), ErrorCode::kRequestConflict);
}

TEST_F(UnknownOutcomeTest, ASettlementIsSeenOnTheTask) {
  const Lease lease = start_work();
  lose_answer(StoreCall::kApply);
  EXPECT_EQ(code_of(engine_.complete(lease, {.result = "1"})), ErrorCode::kStoreUnavailable);
  EXPECT_EQ(get(lease.task).result, "1");
  EXPECT_EQ(must(engine_.complete(lease, {.result = "2"})).replayed, "completed");
  EXPECT_EQ(get(lease.task).result, "1");
}

TEST_F(UnknownOutcomeTest, ASettlementThatWasNotMadeMayBeRepeated) {
  const Lease lease = start_work();
  faults_.script(StoreCall::kApply, {.kind = StoreFault::Kind::kFailBefore});
  EXPECT_EQ(code_of(engine_.complete(lease, {.result = "1"})), ErrorCode::kStoreUnavailable);
  EXPECT_EQ(state(lease.task), TaskState::kRunning);
  EXPECT_EQ(must(engine_.complete(lease, {.result = "1"})), TaskState::kCompleted);
}

TEST_F(UnknownOutcomeTest, ALostClaimWithAKeyIsAskedForAgain) {
  const TaskId id = enqueue({.type = "work"});
  must(engine_.register_worker({.id = "host:1:a", .version = "1", .serves = {{.queue = "work"}}}));
  const ClaimRequest request{.worker_id = "host:1:a", .serves = {{.queue = "work"}}, .n = 1, .claim_key = "k1"};
  lose_answer(StoreCall::kClaim);
  EXPECT_EQ(code_of(engine_.claim(request)), ErrorCode::kStoreUnavailable);
  EXPECT_EQ(state(id), TaskState::kRunning);
  const auto claimed = must(engine_.claim(request));
  ASSERT_EQ(claimed.size(), 1U);
  EXPECT_EQ(claimed[0].task.id, id);
  EXPECT_EQ(must(engine_.complete(claimed[0].lease, {})), TaskState::kCompleted);
}

TEST_F(UnknownOutcomeTest, ALostClaimComesBackWhenItsLeaseRunsOut) {
  const TaskId id = enqueue({.type = "work"});
  lose_answer(StoreCall::kClaim);
  EXPECT_EQ(code_of(engine_.claim({.worker_id = "host:1:a", .serves = {{.queue = "work"}}, .n = 1})),
            ErrorCode::kStoreUnavailable);
  EXPECT_EQ(state(id), TaskState::kRunning);
  clock_.advance(30s);
  must(Sweepers(engine_).run_once());
  const ClaimedTask again = claim(1).at(0);
  EXPECT_EQ(again.task.id, id);
  EXPECT_EQ(again.task.attempts, 1);
}

TEST_F(UnknownOutcomeTest, ALostCancelIsSeenOnTheTask) {
  const TaskId id = enqueue({.type = "work"});
  lose_answer(StoreCall::kApply);
  EXPECT_EQ(code_of(engine_.cancel(id, "")), ErrorCode::kStoreUnavailable);
  EXPECT_EQ(state(id), TaskState::kCancelled);
  EXPECT_EQ(code_of(engine_.cancel(id, "")), ErrorCode::kWrongState);
}

TEST_F(UnknownOutcomeTest, ASweepThatLostItsAnswerIsNotDoneTwice) {
  const TaskId id = enqueue({.type = "work", .delay = 1s});
  clock_.advance(1s);
  lose_answer(StoreCall::kApply);
  Sweepers sweepers(engine_);
  EXPECT_EQ(code_of(sweepers.promote(10)), ErrorCode::kStoreUnavailable);
  EXPECT_EQ(must(sweepers.promote(10)), 0);
  EXPECT_EQ(state(id), TaskState::kPending);
  EXPECT_EQ(must(engine_.last_event_seq()), 2);
}

TEST_F(UnknownOutcomeTest, AClaimIsGivenAlsoWhenItsHistoryCannotBeRead) {
  enqueue({.type = "work"});
  must(engine_.release(claim(1).at(0).lease));
  faults_.script(StoreCall::kRuns, {.kind = StoreFault::Kind::kFailBefore});
  const ClaimedTask again = claim(1).at(0);
  EXPECT_EQ(again.task.run, 2);
  EXPECT_TRUE(again.earlier_runs.empty());
  EXPECT_EQ(must(engine_.complete(again.lease, {})), TaskState::kCompleted);
}

TEST_F(UnknownOutcomeTest, EveryVerbSaysWhenTheStoreIsAway) {
  const Lease lease = start_work();
  const std::vector<TaskSpec> group{{.type = "work"}};
  const auto unavailable = ErrorCode::kStoreUnavailable;
  faults_.randomise(1, {.fail_before = 1});
  EXPECT_EQ(code_of(engine_.enqueue(group)), unavailable);
  EXPECT_EQ(code_of(engine_.spawn(lease, group)), unavailable);
  EXPECT_EQ(code_of(engine_.get(lease.task)), unavailable);
  EXPECT_EQ(code_of(engine_.runs(lease.task)), unavailable);
  EXPECT_EQ(code_of(engine_.list({}, 10, std::nullopt)), unavailable);
  EXPECT_EQ(code_of(engine_.cancel(lease.task, "")), unavailable);
  EXPECT_EQ(code_of(engine_.retry(lease.task)), unavailable);
  EXPECT_EQ(code_of(engine_.events(0, 10)), unavailable);
  EXPECT_EQ(code_of(engine_.last_event_seq()), unavailable);
  EXPECT_EQ(code_of(engine_.log(lease.task, 0, 10)), unavailable);
  EXPECT_EQ(code_of(engine_.register_worker({.id = "w"})), unavailable);
  EXPECT_EQ(code_of(engine_.unregister_worker("w", "")), unavailable);
  EXPECT_EQ(code_of(engine_.workers()), unavailable);
  EXPECT_EQ(code_of(engine_.claim({.worker_id = "w", .serves = {{.queue = "work"}}})), unavailable);
  EXPECT_EQ(code_of(engine_.renew("w", {}, 30s)), unavailable);
  EXPECT_EQ(code_of(engine_.progress(lease, {})), unavailable);
  EXPECT_EQ(code_of(engine_.append_log(lease, std::vector<LogChunk>{{}})), unavailable);
  EXPECT_EQ(code_of(engine_.checkpoint(lease, "1")), unavailable);
  EXPECT_EQ(code_of(engine_.complete(lease, {})), unavailable);
  EXPECT_EQ(code_of(engine_.backlog({})), unavailable);
  EXPECT_EQ(code_of(engine_.requeue_stalled(1s)), unavailable);
  EXPECT_EQ(code_of(engine_.config()), unavailable);
  EXPECT_EQ(code_of(engine_.apply_config("{}", 0)), unavailable);
  EXPECT_EQ(code_of(engine_.fsck(FsckMode::kCheck)), unavailable);
  EXPECT_EQ(code_of(Sweepers(engine_).run_once()), unavailable);
  faults_.heal();
  EXPECT_EQ(must(engine_.last_event_seq()), 2);
}

}  // namespace
}  // namespace drover::test
