// Fairness: owners of one rank share by weight, and nothing starves.
#include <map>

#include "conformance/conformance.h"

namespace drover::test {
namespace {

class Fairness : public ConformanceTest {
 protected:
  void enqueue_many(const std::string& owner, int count, int priority = 5) {
    enqueue_all(std::vector<TaskSpec>(static_cast<std::size_t>(count),
                                      TaskSpec{.type = "work", .owner = owner, .priority = priority}));
  }
  // Claims that many, one by one, and completes them. Who had how many.
  std::map<std::string, int> serve(int count) {
    std::map<std::string, int> served;
    for (int i = 0; i < count; ++i) {
      const ClaimedTask next = claim_one();
      ++served[next.task.owner];
      complete(next.lease);
    }
    return served;
  }
};
ON_EVERY_STORE(Fairness);

TEST_P(Fairness, AnotherOwnersBacklogIsNotInTheWay) {
  enqueue_many("big", 200);
  EXPECT_EQ(serve(50), (std::map<std::string, int>{{"big", 50}}));
  const TaskId small = enqueue({.type = "work", .owner = "small"});
  EXPECT_EQ(claim_one().task.id, small) << "whoever was idle has no credit, but no debt either";
}

TEST_P(Fairness, OwnersOfEqualWeightShareEqually) {
  enqueue_many("a", 100);
  enqueue_many("b", 100);
  EXPECT_NEAR(serve(64).at("a"), 32, 1);
}

TEST_P(Fairness, WeightsGiveShares) {
  apply_config(R"({"owners":{"a":{"weight":3}}})");
  enqueue_many("a", 400);
  enqueue_many("b", 400);
  const auto served = serve(400);
  EXPECT_NEAR(served.at("a"), 300, 15);
}

TEST_P(Fairness, TheDefaultWeightIsEverybodyElses) {
  apply_config(R"({"owners":{"default":{"weight":4},"b":{"weight":1}}})");
  enqueue_many("a", 200);
  enqueue_many("b", 200);
  EXPECT_NEAR(serve(200).at("a"), 160, 8);
}

TEST_P(Fairness, ALargeClaimTakesAFewOfEach) {
  enqueue_many("a", 100);
  enqueue_many("b", 100);
  std::map<std::string, int> served;
  for (const ClaimedTask& task : claim(64)) ++served[task.task.owner];
  EXPECT_EQ(served["a"] + served["b"], 64);
  EXPECT_NEAR(served["a"], 32, 8);
}

TEST_P(Fairness, IdlingGivesNoCredit) {
  enqueue_many("a", 100);
  serve(60);
  enqueue_many("b", 100);
  EXPECT_NEAR(serve(40).at("b"), 20, 2);
}

TEST_P(Fairness, AWeightThatChangesHoldsForWhatComes) {
  enqueue_many("a", 400);
  enqueue_many("b", 400);
  serve(50);
  apply_config(R"({"owners":{"b":{"weight":9}}})");
  EXPECT_NEAR(serve(200).at("b"), 180, 10);
}

TEST_P(Fairness, EveryEighthIsTheOneThatWaitedLongest) {
  const TaskId background = enqueue({.type = "work", .priority = 9});
  enqueue_many("busy", 20, 0);
  std::vector<TaskId> order;
  for (int i = 0; i < 8; ++i) order.push_back(claim_one().task.id);
  for (std::size_t i = 0; i < 7; ++i) EXPECT_NE(order[i], background);
  EXPECT_EQ(order[7], background);
}

// Such a turn costs its owner what any other does, also if it had nothing before.
TEST_P(Fairness, WhoWasServedForWaitingLongestPaysOnceForIt) {
  enqueue_many("early", 3, 6);
  enqueue_many("late", 2, 6);
  enqueue_many("early", 1, 6);
  enqueue_many("urgent", 30, 5);
  EXPECT_EQ(serve(34), (std::map<std::string, int>{{"urgent", 30}, {"early", 3}, {"late", 1}}));
  EXPECT_EQ(claim_one().task.owner, "late") << "it had one, the other three";
}

TEST_P(Fairness, AnEndlessStreamOfUrgentTasksStarvesNobody) {
  std::vector<TaskId> background;
  for (int priority = 5; priority <= 9; ++priority)
    background.push_back(enqueue({.type = "work", .priority = priority}));
  int rounds = 0;
  std::size_t ended = 0;
  for (; ended < background.size() && rounds < 100; ++rounds) {
    enqueue_many("busy", 1, 0);
    complete(claim_one().lease);
    ended = 0;
    for (const TaskId& id : background) ended += state(id) == TaskState::kCompleted ? 1U : 0U;
  }
  EXPECT_EQ(rounds, 40) << "one in eight";
}

TEST_P(Fairness, NoQueueStarvesAnother) {
  for (int i = 0; i < 40; ++i) enqueue({.type = "work", .queue = "urgent", .priority = 0});
  const TaskId other = enqueue({.type = "work", .queue = "calm", .priority = 9});
  for (int i = 0; i < 16; ++i) complete(claim({{.queue = "urgent"}, {.queue = "calm"}}, 1).at(0).lease);
  EXPECT_EQ(state(other), TaskState::kCompleted);
}

TEST_P(Fairness, WhatWaitedOutlivesARestart) {
  enqueue_many("a", 20);
  serve(10);
  enqueue_many("b", 20);
  reopen();
  const auto served = serve(20);
  EXPECT_NEAR(served.at("a"), 10, 1);
}

}  // namespace
}  // namespace drover::test
