// What the library keeps between calls (store/redis/lua/1_kept.lua) is what stands in the store, whoever wrote there.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

#include "engine/engine.h"
#include "store/redis/redis_store.h"
#include "support/locked_rng.h"
#include "support/manual_clock.h"
#include "support/must.h"
#include "support/printers.h"
#include "support/redis_server.h"

namespace drover {
namespace {

using test::must;
using test::RedisServer;
using Prompts = std::vector<std::string>;

class Queue {
 public:
  explicit Queue(redis::Address address, std::uint64_t seed = 1)
      : rng_(seed), store_(open(std::move(address))), engine_(*store_, rng_) {}

  void enqueue(const std::string& owner, const Prompts& prompts) {
    for (const std::string& prompt : prompts) {
      must(engine_.enqueue_one({.type = "work", .owner = owner, .prompt = prompt}));
    }
  }
  // Claims and completes so many; answers their prompts.
  Prompts work(int n) {
    Prompts prompts;
    const auto claimed = must(engine_.claim({.worker_id = "host:1:a", .serves = {{.queue = "work"}}, .n = n}));
    for (const ClaimedTask& one : claimed) {
      prompts.push_back(one.task.prompt.value_or(""));
      const Settlement done{one.lease, Completion{}};
      for (const auto& state : engine_.settle(std::span(&done, 1))) EXPECT_EQ(must(state), TaskState::kCompleted);
    }
    return prompts;
  }
  void cancel_waiting(const std::string& prompt) {
    for (const TaskRecord& record :
         must(store_->list({.states = {TaskState::kPending}}, 100, {}, Parts::kAll)).records) {
      if (record.task.prompt == prompt) must(engine_.cancel(record.task.id, ""));
    }
  }
  Prompts fsck() {
    Prompts details;
    for (const Finding& finding : must(engine_.fsck(FsckMode::kCheck))) details.push_back(finding.detail);
    return details;
  }

 private:
  std::unique_ptr<Store> open(redis::Address address) {
    RedisOptions options;
    options.address = std::move(address);
    options.test_clock = &clock_;
    return must(open_redis(std::move(options)));
  }

  test::ManualClock clock_;
  test::LockedRng rng_;
  std::unique_ptr<Store> store_;
  Engine engine_;
};

redis::Address in_database(const RedisServer& server, int database) {
  redis::Address address = server.address();
  address.db = database;
  return address;
}

TEST(KeptTest, StoresOfOneNameInTwoDatabasesAreTwo) {
  const RedisServer server;
  Queue first(in_database(server, 0));
  Queue second(in_database(server, 1));
  first.enqueue("alice", {"a1", "a2", "a3"});
  second.enqueue("alice", {"x1"});
  EXPECT_EQ(first.work(1), (Prompts{"a1"}));
  EXPECT_EQ(second.work(5), (Prompts{"x1"}));
  first.enqueue("bob", {"b1"});
  EXPECT_EQ(second.work(5), Prompts{});
  EXPECT_EQ(first.work(1), (Prompts{"b1"}));
  second.enqueue("bob", {"y1"});
  EXPECT_EQ(first.work(5), (Prompts{"a2", "a3"}));
  EXPECT_EQ(second.work(5), (Prompts{"y1"}));
  EXPECT_EQ(first.fsck(), Prompts{});
  EXPECT_EQ(second.fsck(), Prompts{});
}

// Until it has all that the other has.
void follow(const RedisServer& replica, const RedisServer& primary) {
  ASSERT_FALSE(replica.run(redis::Command("REPLICAOF", "127.0.0.1", std::to_string(primary.port()))).is_error());
  ASSERT_FALSE(primary.run(redis::Command("SET", "mark", std::to_string(replica.port()))).is_error());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  while (replica.run(redis::Command("GET", "mark")) != redis::Reply::bulk(std::to_string(replica.port()))) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "the replica does not follow";
    std::this_thread::yield();
  }
}

void promote(const RedisServer& server) {
  ASSERT_FALSE(server.run(redis::Command("REPLICAOF", "NO", "ONE")).is_error());
}

// What a server remembers from the time when it was the primary has passed meanwhile.
TEST(KeptTest, APrimaryThatComesBackKnowsWhatAnotherDid) {
  const RedisServer first_server({.more = {"--repl-diskless-sync-delay", "0"}});
  const RedisServer second_server({.more = {"--repl-diskless-sync-delay", "0"}});
  Queue first(first_server.address());
  first.enqueue("alice", {"a1", "a2", "a3"});
  first.enqueue("bob", {"b1", "b2"});
  EXPECT_EQ(first.work(2), (Prompts{"a1", "a2"}));

  follow(second_server, first_server);
  promote(second_server);
  {
    Queue second(second_server.address(), 2);
    EXPECT_EQ(second.work(2), (Prompts{"b1", "b2"}));
    second.enqueue("carol", {"c1"});
    EXPECT_EQ(second.fsck(), Prompts{});
  }

  follow(first_server, second_server);
  promote(first_server);
  first.enqueue("bob", {"b3"});
  EXPECT_EQ(first.work(5).size(), 3U) << "of alice, bob and carol one each";
  EXPECT_EQ(first.work(5), Prompts{});
  EXPECT_EQ(first.fsck(), Prompts{});
}

// What is ahead in a lane (1_ahead.lua): other owners' tasks stand between, some of it is taken out, and more comes.
TEST(KeptTest, TheNextOfALaneIsKnown) {
  const RedisServer server;
  Queue queue(server.address());
  queue.enqueue("alice", {"a1", "a2"});
  queue.enqueue("bob", {"b1"});
  queue.enqueue("alice", {"a3", "a4"});
  queue.enqueue("bob", {"b2", "b3"});
  EXPECT_EQ(queue.work(3), (Prompts{"a1", "a2", "a3"}));
  EXPECT_EQ(queue.fsck(), Prompts{});
  queue.enqueue("alice", {"a5", "a6"});
  EXPECT_EQ(queue.work(3), (Prompts{"b1", "b2", "b3"}));
  queue.cancel_waiting("a5");
  EXPECT_EQ(queue.work(1), (Prompts{"a4"}));
  EXPECT_EQ(queue.fsck(), Prompts{});
  EXPECT_EQ(queue.work(5), (Prompts{"a6"}));
  EXPECT_EQ(queue.fsck(), Prompts{});
}

// More pieces of lanes than are kept.
TEST(KeptTest, TheNextOfALaneIsLookedUp) {
  constexpr int kPieces = 2'100;  // of each lane
  const RedisServer server;
  Queue queue(server.address());
  for (int i = 0; i < kPieces; ++i) {
    queue.enqueue("alice", {std::to_string(i)});
    queue.enqueue("bob", {std::to_string(i)});
  }
  int worked = 0;
  for (Prompts some = queue.work(100); !some.empty(); some = queue.work(100)) {
    worked += static_cast<int>(some.size());
    if (worked % 1'000 == 0) {
      EXPECT_EQ(queue.fsck(), Prompts{});
    }
  }
  EXPECT_EQ(worked, 2 * kPieces);
}

// More lanes than are kept: what was forgotten is read again.
TEST(KeptTest, MoreLanesThanAreKept) {
  constexpr int kOwners = 1'500;
  const RedisServer server;
  Queue queue(server.address());
  for (int i = 0; i < kOwners; ++i) queue.enqueue("owner" + std::to_string(i), {std::to_string(i)});
  int worked = 0;
  for (Prompts some = queue.work(64); !some.empty(); some = queue.work(64)) worked += static_cast<int>(some.size());
  EXPECT_EQ(worked, kOwners);
  EXPECT_EQ(queue.fsck(), Prompts{});
}

}  // namespace
}  // namespace drover
