// When others change the same tasks, a verb decides anew; not for ever.
#include <functional>

#include "unit/engine/engine_fixture.h"

namespace drover::test {
namespace {

class ContentionTest : public EngineTest {
 protected:
  // The call succeeds after some conflicts; after too many it gives up, having changed nothing.
  void expect_bounded_retries(const std::string& verb, const std::function<std::optional<ErrorCode>()>& call) {
    const std::int64_t before = must(engine_.last_event_seq());
    conflict(1'000);
    const int calls = faults_.calls(StoreCall::kApply);
    EXPECT_EQ(call(), ErrorCode::kStoreUnavailable) << verb;
    EXPECT_EQ(faults_.calls(StoreCall::kApply) - calls, kDecideTriesMax) << verb;
    EXPECT_EQ(must(engine_.last_event_seq()), before) << verb;
    faults_.heal();
    conflict(kDecideTriesMax - 1);
    EXPECT_EQ(call(), std::nullopt) << verb;
    EXPECT_GT(must(engine_.last_event_seq()), before) << verb;
  }
};

TEST_F(ContentionTest, Enqueue) {
  const TaskId parent = enqueue({.type = "work"});
  expect_bounded_retries("enqueue",
                         [&] { return code_of(engine_.enqueue_one({.type = "work", .depends_on = {parent}})); });
}

TEST_F(ContentionTest, Spawn) {
  const Lease lease = start_work();
  const std::vector<TaskSpec> children{{.type = "child"}};
  expect_bounded_retries("spawn", [&] { return code_of(engine_.spawn(lease, children)); });
}

TEST_F(ContentionTest, Cancel) {
  const TaskId id = enqueue({.type = "work"});
  expect_bounded_retries("cancel", [&] { return code_of(engine_.cancel(id, "")); });
}

TEST_F(ContentionTest, Retry) {
  const TaskId id = enqueue({.type = "work"});
  must(engine_.cancel(id, ""));
  expect_bounded_retries("retry", [&] { return code_of(engine_.retry(id)); });
}

TEST_F(ContentionTest, Settle) {
  const Lease lease = start_work();
  expect_bounded_retries("settle", [&] { return code_of(engine_.complete(lease, {})); });
}

TEST_F(ContentionTest, ARequestThatLosesTheRaceIsAReplay) {
  // The first attempt finds no such request and is refused; by the second the other one is stored.
  const TaskSpec spec{.type = "work", .request_id = "r"};
  Engine other(*store_, rng_);
  faults_.script(StoreCall::kFindRequest, {.kind = StoreFault::Kind::kFailBefore}, 1, 1);
  conflict(1);
  EXPECT_EQ(code_of(engine_.enqueue_one(spec)), ErrorCode::kStoreUnavailable);
  const TaskId first = must(other.enqueue_one(spec)).id;
  const Enqueued replay = must(engine_.enqueue_one(spec));
  EXPECT_EQ(replay.id, first);
  EXPECT_TRUE(replay.deduplicated);
}

TEST_F(ContentionTest, OneItemInTroubleIsNotEveryItemsTrouble) {
  const Lease a = start_work();
  const Lease b = start_work();
  conflict(1);
  const std::vector<Settlement> items{{a, Completion{}}, {b, Completion{}}};
  for (const auto& answer : engine_.settle(items)) EXPECT_EQ(must(answer), TaskState::kCompleted);
}

TEST_F(ContentionTest, ASweeperLeavesWhatMovedToTheNextPass) {
  const TaskId id = enqueue({.type = "work", .delay = 1s});
  clock_.advance(1s);
  conflict(1);
  Sweepers sweepers(engine_);
  EXPECT_EQ(must(sweepers.promote(10)), 0);
  EXPECT_EQ(state(id), TaskState::kScheduled);
  EXPECT_EQ(must(sweepers.promote(10)), 1);
  EXPECT_EQ(state(id), TaskState::kPending);
}

}  // namespace
}  // namespace drover::test
