// Batches: tasks that name each other, and the promise that a bad item stores nothing.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

CONFORMANCE_SUITE(BatchRefs);

TEST_P(BatchRefs, AChainNamesItself) {
  const auto ids = enqueue_all({{.ref = "a", .type = "work"},
                                {.ref = "b", .type = "work", .depends_on = {"a"}},
                                {.ref = "c", .type = "work", .depends_on = {"b"}}});
  EXPECT_EQ(state(ids[0]), TaskState::kPending);
  EXPECT_EQ(state(ids[1]), TaskState::kBlocked);
  EXPECT_EQ(state(ids[2]), TaskState::kBlocked);
  EXPECT_EQ(get(ids[1]).depends_on, std::vector{ids[0]});
  EXPECT_EQ(drain(), ids);
}

TEST_P(BatchRefs, ARefMayPointForward) {
  const auto ids = enqueue_all({{.type = "work", .depends_on = {"later"}}, {.ref = "later", .type = "work"}});
  EXPECT_EQ(drain(), (std::vector{ids[1], ids[0]}));
}

TEST_P(BatchRefs, MixWithStoredParents) {
  const TaskId stored = enqueue_work();
  const auto ids = enqueue_all({{.ref = "a", .type = "work"}, {.type = "work", .depends_on = {stored, "a"}}});
  EXPECT_EQ(drain(), (std::vector{stored, ids[0], ids[1]}));
}

TEST_P(BatchRefs, PointAtAnIdThatTheBatchChose) {
  const TaskId id = TaskId::parse("0193300d-2b6b-7c4f-8a1e-00ff10ab5c9d").value();
  const auto ids = enqueue_all({{.id = id, .type = "work"}, {.type = "work", .depends_on = {id}}});
  EXPECT_EQ(drain(), (std::vector{id, ids[1]}));
}

TEST_P(BatchRefs, BelongToTheirBatchAlone) {
  enqueue_all({{.ref = "a", .type = "work"}});
  const auto again = enqueue_all({{.ref = "a", .type = "work"}, {.type = "work", .depends_on = {"a"}}});
  EXPECT_EQ(get(again[1]).depends_on, std::vector{again[0]});
}

TEST_P(BatchRefs, TheSameParentTwiceCountsOnce) {
  const auto ids = enqueue_all({{.ref = "a", .type = "work"}, {.type = "work", .depends_on = {"a", "a"}}});
  complete(start(ids[0]));
  EXPECT_EQ(state(ids[1]), TaskState::kPending);
}

class BatchRefused : public ConformanceTest {
 protected:
  void expect_refused(const std::vector<TaskSpec>& group, ErrorCode code) {
    const World before = world();
    EXPECT_EQ(code_of(queue().enqueue(group)), code);
    EXPECT_EQ(world(), before);
  }
};
ON_EVERY_STORE(BatchRefused);

TEST_P(BatchRefused, ACycle) {
  expect_refused({{.ref = "a", .type = "work", .depends_on = {"b"}}, {.ref = "b", .type = "work", .depends_on = {"a"}}},
                 ErrorCode::kCycle);
}

TEST_P(BatchRefused, ATaskThatWaitsForItself) {
  expect_refused({{.ref = "a", .type = "work", .depends_on = {"a"}}}, ErrorCode::kCycle);
}

TEST_P(BatchRefused, ALongCycleAmongInnocents) {
  std::vector<TaskSpec> group{{.ref = "t0", .type = "work", .depends_on = {"t99"}}};
  for (int i = 1; i < 100; ++i) {
    group.push_back({.ref = "t" + std::to_string(i), .type = "work", .depends_on = {"t" + std::to_string(i - 1)}});
  }
  group.push_back({.type = "work"});
  expect_refused(group, ErrorCode::kCycle);
}

TEST_P(BatchRefused, ACycleThroughChosenIds) {
  const TaskId a = TaskId::parse("0193300d-2b6b-7c4f-8a1e-00ff10ab5c9a").value();
  const TaskId b = TaskId::parse("0193300d-2b6b-7c4f-8a1e-00ff10ab5c9b").value();
  expect_refused({{.id = a, .type = "work", .depends_on = {b}}, {.id = b, .type = "work", .depends_on = {a}}},
                 ErrorCode::kCycle);
}

TEST_P(BatchRefused, AnUnknownRef) {
  expect_refused({{.type = "work"}, {.type = "work", .depends_on = {"nobody"}}}, ErrorCode::kUnknownParent);
}

TEST_P(BatchRefused, AnUnknownParent) {
  const TaskId nobody = TaskId::parse("0193300d-2b6b-7c4f-8a1e-00ff10ab5c9d").value();
  expect_refused({{.type = "work"}, {.type = "work", .depends_on = {nobody}}}, ErrorCode::kUnknownParent);
}

TEST_P(BatchRefused, TwoOfOneRef) {
  expect_refused({{.ref = "a", .type = "work"}, {.ref = "a", .type = "work"}}, ErrorCode::kInvalidArgument);
}

TEST_P(BatchRefused, TwoOfOneId) {
  const TaskId id = TaskId::parse("0193300d-2b6b-7c4f-8a1e-00ff10ab5c9d").value();
  expect_refused({{.id = id, .type = "work"}, {.id = id, .type = "work"}}, ErrorCode::kInvalidArgument);
}

TEST_P(BatchRefused, AnIdThatExists) {
  const TaskId id = enqueue_work();
  expect_refused({{.type = "work"}, {.id = id, .type = "work"}}, ErrorCode::kRequestConflict);
}

TEST_P(BatchRefused, OneBadItemAmongGoodOnes) {
  expect_refused({{.type = "work"}, {.type = "work", .priority = 10}, {.type = "work"}}, ErrorCode::kInvalidArgument);
}

TEST_P(BatchRefused, APayloadThatIsNoJson) {
  expect_refused({{.type = "work"}, {.type = "work", .payload = "{"}}, ErrorCode::kInvalidJson);
}

TEST_P(BatchRefused, AnOversizePayload) {
  const std::string text(1 << 20, 'x');
  expect_refused({{.type = "work"}, {.type = "work", .payload = '"' + text + '"'}}, ErrorCode::kPayloadTooLarge);
}

TEST_P(BatchRefused, TooMany) {
  set_limits(R"({"batch_tasks":5})");
  expect_refused(std::vector<TaskSpec>(6, TaskSpec{.type = "work"}), ErrorCode::kLimitExceeded);
  EXPECT_EQ(enqueue_all(std::vector<TaskSpec>(5, TaskSpec{.type = "work"})).size(), 5U);
}

TEST_P(BatchRefused, AnEmptyGroup) {
  expect_refused({}, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace drover::test
