// Request ids: a repeated request answers with the first task, another body under the same id is a conflict.
#include "conformance/conformance.h"

namespace drover::test {
namespace {

CONFORMANCE_SUITE(RequestId);

TEST_P(RequestId, AReplayAnswersWithTheFirstTask) {
  const TaskSpec spec{.type = "work", .payload = R"({"n":1})", .request_id = "r"};
  const TaskId first = enqueue(spec);
  const World before = world();
  const Enqueued replay = must(queue().enqueue_one(spec));
  EXPECT_EQ(replay.id, first);
  EXPECT_EQ(replay.state, TaskState::kPending);
  EXPECT_TRUE(replay.deduplicated);
  EXPECT_EQ(world(), before);
}

TEST_P(RequestId, AReplayMayComeLater) {
  const TaskSpec spec{.type = "work", .request_id = "r", .delay = 1min, .deadline = 1h};
  const TaskId first = enqueue(spec);
  advance(10s);
  EXPECT_EQ(enqueue(spec), first);
  EXPECT_EQ(get(first).run_at, now() + 50s);
}

TEST_P(RequestId, AReplayMayComeAfterARestart) {
  const TaskSpec spec{.type = "work", .request_id = "r"};
  const TaskId first = enqueue(spec);
  reopen();
  EXPECT_EQ(enqueue(spec), first);
}

TEST_P(RequestId, AReplayAfterTheEndTellsTheEnd) {
  const TaskSpec spec{.type = "work", .request_id = "r"};
  const TaskId first = enqueue(spec);
  complete(start(first));
  const Enqueued replay = must(queue().enqueue_one(spec));
  EXPECT_EQ(replay.id, first);
  EXPECT_EQ(replay.state, TaskState::kCompleted);
  EXPECT_TRUE(replay.deduplicated);
  EXPECT_TRUE(claim(1).empty());
}

TEST_P(RequestId, WhiteSpaceOutsideStringsIsNoOtherBody) {
  const TaskId first = enqueue({.type = "work", .payload = R"({"a": 1})", .request_id = "r"});
  EXPECT_EQ(enqueue({.type = "work", .payload = R"( {"a":1} )", .request_id = "r"}), first);
}

TEST_P(RequestId, WhatWasAskedForTogetherIsPartOfTheRequest) {
  // Not through a server: it makes the digest itself.
  if (std::string_view(GetParam().name).starts_with("served_")) return;
  std::vector<TaskSpec> group{{.type = "work", .request_id = "r", .request_digest = "two"},
                              {.type = "work", .request_id = "r@1", .request_digest = "two"}};
  const std::vector<TaskId> first = enqueue_all(group);
  EXPECT_EQ(enqueue_all(group), first);
  const World before = world();
  group.push_back({.type = "work", .request_id = "r@2"});
  for (TaskSpec& spec : group) spec.request_digest = "three";
  EXPECT_EQ(code_of(queue().enqueue(group)), ErrorCode::kRequestConflict);
  EXPECT_EQ(world(), before);
}

TEST_P(RequestId, AnotherBodyIsAConflict) {
  const TaskSpec spec{.type = "work", .payload = R"({"n":1})", .request_id = "r"};
  enqueue(spec);
  const World before = world();
  std::vector<TaskSpec> others(7, spec);
  others[0].payload = R"({"n":2})";
  others[1].type = "other";
  others[2].priority = 1;
  others[3].prompt = "x";
  others[4].delay = 1s;
  others[5].tags = {"x"};
  others[6].depends_on = {before.tasks.front().id};
  for (const TaskSpec& other : others) {
    EXPECT_EQ(code_of(queue().enqueue_one(other)), ErrorCode::kRequestConflict);
  }
  EXPECT_EQ(world(), before);
}

TEST_P(RequestId, IsScopedToTheOwner) {
  const TaskId mine = enqueue({.type = "work", .owner = "me", .request_id = "r"});
  const TaskId yours = enqueue({.type = "work", .owner = "you", .payload = "1", .request_id = "r"});
  EXPECT_NE(mine, yours);
  EXPECT_EQ(enqueue({.type = "work", .owner = "me", .request_id = "r"}), mine);
  EXPECT_EQ(enqueue({.type = "work", .owner = "you", .payload = "1", .request_id = "r"}), yours);
}

TEST_P(RequestId, AWholeBatchMayBeReplayed) {
  const std::vector<TaskSpec> group{{.ref = "a", .type = "work", .request_id = "r1"},
                                    {.type = "work", .depends_on = {"a"}, .request_id = "r2"}};
  const auto ids = enqueue_all(group);
  const World before = world();
  const auto replay = must(queue().enqueue(group));
  EXPECT_EQ(replay[0], (Enqueued{ids[0], TaskState::kPending, true}));
  EXPECT_EQ(replay[1], (Enqueued{ids[1], TaskState::kBlocked, true}));
  EXPECT_EQ(world(), before);
}

TEST_P(RequestId, AReplayInsideABatchStandsBesideNewTasks) {
  const TaskId first = enqueue({.type = "work", .request_id = "r"});
  const auto answers = must(queue().enqueue(
      std::vector<TaskSpec>{{.ref = "a", .type = "work", .request_id = "r"}, {.type = "work", .depends_on = {"a"}}}));
  EXPECT_EQ(answers[0].id, first);
  EXPECT_TRUE(answers[0].deduplicated);
  EXPECT_FALSE(answers[1].deduplicated);
  EXPECT_EQ(get(answers[1].id).depends_on, std::vector{first});
  EXPECT_EQ(drain(), (std::vector{first, answers[1].id}));
}

TEST_P(RequestId, AConflictInsideABatchStoresNothing) {
  enqueue({.type = "work", .request_id = "r"});
  const World before = world();
  EXPECT_EQ(code_of(queue().enqueue(
                std::vector<TaskSpec>{{.type = "work"}, {.type = "work", .payload = "2", .request_id = "r"}})),
            ErrorCode::kRequestConflict);
  EXPECT_EQ(world(), before);
}

TEST_P(RequestId, TwiceInOneBatchIsOneTask) {
  const std::vector<TaskSpec> group(2, TaskSpec{.type = "work", .request_id = "r"});
  const auto answers = must(queue().enqueue(group));
  EXPECT_FALSE(answers[0].deduplicated);
  EXPECT_EQ(answers[1].id, answers[0].id);
  EXPECT_TRUE(answers[1].deduplicated);
  EXPECT_EQ(drain(), std::vector{answers[0].id});
}

TEST_P(RequestId, TwoBodiesInOneBatchAreAConflict) {
  const World before = world();
  EXPECT_EQ(code_of(queue().enqueue(std::vector<TaskSpec>{{.type = "work", .request_id = "r"},
                                                          {.type = "work", .payload = "2", .request_id = "r"}})),
            ErrorCode::kRequestConflict);
  EXPECT_EQ(world(), before);
}

TEST_P(RequestId, AReplayIsAnsweredAlsoWhenTheQueueIsFull) {
  set_limits(R"({"max_waiting":1})");
  const TaskSpec spec{.type = "work", .request_id = "r"};
  const TaskId first = enqueue(spec);
  EXPECT_EQ(code_of(queue().enqueue_one({.type = "work"})), ErrorCode::kQueueFull);
  EXPECT_EQ(enqueue(spec), first);
}

TEST_P(RequestId, LivesAsLongAsItsTask) {
  const TaskSpec spec{.type = "work", .request_id = "r"};
  const TaskId first = enqueue(spec);
  complete(start(first));
  pass(24h * 8);
  ASSERT_EQ(code_of(queue().get(first)), ErrorCode::kNotFound);
  EXPECT_NE(enqueue(spec), first);
}

}  // namespace
}  // namespace drover::test
