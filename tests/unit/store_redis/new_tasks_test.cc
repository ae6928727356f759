// New tasks in their short form (store/redis/new_tasks.h).
#include "store/redis/new_tasks.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "support/printers.h"
#include "unit/store_redis/engine_on_redis.h"

namespace drover {
namespace {

using test::must;

class NewTasksTest : public test::EngineOnRedis {
 protected:
  Step addition(const std::string& owner, const std::string& prompt) {
    Step step;
    Task& task = step.next.task;
    task.id = new_task_id(rng_, clock_.wall());
    task.type = task.queue = "work";
    task.owner = owner;
    task.prompt = prompt;
    task.state = TaskState::kPending;
    task.created_at = clock_.wall();
    step.events = {{.name = "task.enqueued", .data = "{}"}};
    return step;
  }
  static StepGroup group_of(std::vector<Step> steps) {
    return {.steps = std::move(steps), .capacity = Capacity{.waiting_max = 4, .waiting_per_owner_max = 3}};
  }
  std::vector<Applied> apply(const std::vector<StepGroup>& groups) {
    EXPECT_TRUE(redis::as_new_tasks(groups));
    return must(store_->apply(groups));
  }
  std::vector<std::string> claimed_prompts(int n) {
    std::vector<std::string> prompts;
    for (const auto& one : must(engine_->claim({.worker_id = "a", .serves = {{.queue = "work"}}, .n = n}))) {
      prompts.push_back(one.task.owner + " " + one.task.prompt.value_or(""));
    }
    return prompts;
  }
};

TEST_F(NewTasksTest, KeepTheirOrderAndTheirBodies) {
  EXPECT_EQ(apply({group_of({addition("alice", "1"), addition("alice", std::string(2'000, 'x')), addition("bob", "3")}),
                   group_of({addition("alice", "4")})}),
            std::vector(2, Applied::kDone));
  EXPECT_TRUE(must(engine_->fsck(FsckMode::kCheck)).empty());
  std::vector<std::int64_t> seqs;
  std::vector<std::string> owners;
  for (const Event& event : must(store_->events(0, 10))) {
    seqs.push_back(event.seq);
    owners.push_back(must(store_->read(std::span(&event.task, 1), Parts::kAll)).at(0)->task.owner);
  }
  EXPECT_EQ(seqs, (std::vector<std::int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(owners, (std::vector<std::string>{"alice", "alice", "bob", "alice"}));
  EXPECT_EQ(claimed_prompts(5),
            (std::vector<std::string>{"alice 1", "alice " + std::string(2'000, 'x'), "alice 4", "bob 3"}));
}

TEST_F(NewTasksTest, AGroupIsAddedAsAWholeOrNotAtAll) {
  const Step one = addition("alice", "1");
  EXPECT_EQ(apply({group_of({one, addition("bob", "2")}), group_of({addition("bob", "3"), one}),
                   group_of({addition("alice", "4"), addition("alice", "5"), addition("alice", "6")}),
                   group_of({addition("carol", "7"), addition("carol", "8"), addition("bob", "9")}),
                   group_of({addition("bob", "10")})}),
            (std::vector{Applied::kDone, Applied::kIdTaken, Applied::kAllFull, Applied::kAllFull, Applied::kDone}));
  EXPECT_EQ(apply({group_of({addition("dave", "11"), one})}), std::vector{Applied::kIdTaken});
  EXPECT_TRUE(must(engine_->fsck(FsckMode::kCheck)).empty());
  EXPECT_EQ(claimed_prompts(9), (std::vector<std::string>{"alice 1", "bob 2", "bob 10"}));
}

TEST_F(NewTasksTest, WhatHasMoreToItGoesInTheWholeForm) {
  Step tagged = addition("alice", "1");
  tagged.next.task.tags = {"red"};
  EXPECT_FALSE(redis::as_new_tasks(std::vector{group_of({addition("alice", "2"), tagged})}));
  EXPECT_EQ(must(store_->apply(std::vector{group_of({addition("alice", "2"), tagged})})), std::vector{Applied::kDone});
  EXPECT_TRUE(must(engine_->fsck(FsckMode::kCheck)).empty());
}

}  // namespace
}  // namespace drover
