// Which process of a fleet sweeps, what wakes it, and what a fleet at rest costs.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/sweeper_thread.h"
#include "store/redis/redis_store.h"
#include "support/locked_rng.h"
#include "support/must.h"
#include "support/printers.h"
#include "support/redis_server.h"
#include "support/wait.h"
#include "worker/worker_loop.h"

namespace drover {
namespace {

using std::chrono::steady_clock;
using test::must;
using test::RedisServer;

constexpr Millis kLong{20'000};
constexpr Millis kSweeperSleeps{4'000};  // at most
constexpr Millis kSweeperIsLate{200};

// One process of a fleet.
class Member {
 public:
  explicit Member(const RedisServer& server) : store_(open(server)), engine_(*store_, rng_) {}

  Store& store() { return *store_; }
  Engine& engine() { return engine_; }
  TaskId enqueue(Millis delay) { return must(engine_.enqueue_one({.type = "work", .delay = delay})).id; }
  // Listens for as long as it would sleep; returns whose turn it is then.
  bool wait_and_take_turn() {
    store_->wait_for_sweep(store_->changes(), kLong, {});
    return must(store_->take_sweep_turn()).is_ours;
  }

 private:
  static std::unique_ptr<Store> open(const RedisServer& server) {
    drover::RedisOptions options;
    options.address = server.address();
    return must(open_redis(std::move(options)));
  }

  test::LockedRng rng_{1};
  std::unique_ptr<Store> store_;
  Engine engine_;
};

TEST(RedisSweepTurn, OneProcessSweepsAndTheOthersWaitForItsEnd) {
  const RedisServer server;
  Member first(server);
  Member second(server);
  EXPECT_TRUE(must(first.store().take_sweep_turn()).is_ours);
  const SweepTurn others = must(second.store().take_sweep_turn());
  EXPECT_FALSE(others.is_ours);
  EXPECT_GT(others.rest, Millis{0});
  EXPECT_LE(others.rest, kSweeperSleeps + kSweeperIsLate);
  EXPECT_TRUE(must(first.store().take_sweep_turn()).is_ours);
  first.store().end_sweeping();
  EXPECT_TRUE(must(second.store().take_sweep_turn()).is_ours);
}

TEST(RedisSweepTurn, ItsRestEndsWithWhatIsDue) {
  const RedisServer server;
  Member process(server);
  EXPECT_EQ(must(process.store().take_sweep_turn()).rest, kSweeperSleeps);
  process.enqueue(Millis{60'000});
  EXPECT_EQ(must(process.store().take_sweep_turn()).rest, kSweeperSleeps);
  process.enqueue(Millis{1'000});
  EXPECT_LE(must(process.store().take_sweep_turn()).rest, Millis{1'000});
}

TEST(RedisSweepTurn, OneThatIsGoneIsMissedSoonAfterSomethingIsDue) {
  const RedisServer server;
  Member first(server);
  Member second(server);
  first.enqueue(Millis{1'000});
  EXPECT_TRUE(must(first.store().take_sweep_turn()).is_ours);
  EXPECT_LE(must(second.store().take_sweep_turn()).rest, Millis{1'000} + kSweeperIsLate);
}

TEST(RedisSweepTurn, WhatIsDueSoonerWakesWhoeverListens) {
  const RedisServer server;
  Member first(server);
  Member second(server);
  EXPECT_TRUE(must(first.store().take_sweep_turn()).is_ours);
  std::jthread later([&] {
    server.wait_for_blocked_clients(1);
    first.enqueue(Millis{500});
  });
  const auto begin = steady_clock::now();
  EXPECT_TRUE(second.wait_and_take_turn()) << "it was woken";
  EXPECT_LT(steady_clock::now() - begin, kLong / 2);
  EXPECT_FALSE(must(first.store().take_sweep_turn()).is_ours);
}

TEST(RedisSweepTurn, TheEndOfTheOneThatSweepsWakesAnother) {
  const RedisServer server;
  Member first(server);
  Member second(server);
  EXPECT_TRUE(must(first.store().take_sweep_turn()).is_ours);
  std::jthread later([&] {
    server.wait_for_blocked_clients(1);
    first.store().end_sweeping();
  });
  EXPECT_TRUE(second.wait_and_take_turn());
}

TEST(RedisSweepTurn, AListOfAnotherTypeIsMended) {
  const RedisServer server;
  Member process(server);
  server.run(redis::Command("SET", "{ade}:sweep_tokens", "x"));
  process.store().wait_for_sweep(process.store().changes(), Millis{200}, {});
  EXPECT_EQ(server.run(redis::Command("EXISTS", "{ade}:sweep_tokens")), redis::Reply::integer(0));
}

// ---- a worker at rest

// Each run has ended as soon as it has begun.
class InstantRuns final : public Runs {
 public:
  void start(ClaimedTask claimed, MonoTime /*expires_at*/) override { ended_.push_back({claimed.lease, Completion{}}); }
  void lease_renewed(const Lease& /*lease*/, MonoTime /*expires_at*/) override {}
  void stop(const Lease& /*lease*/, StopReason /*reason*/) override {}
  [[nodiscard]] std::vector<RunEnded> take_ended() override { return std::exchange(ended_, {}); }

 private:
  std::vector<RunEnded> ended_;
};

class RedisIdleWorker : public testing::Test {
 protected:
  RedisIdleWorker() {
    worker_ = std::jthread([this] {
      const WorkerInfo info{.id = "host:1:a", .version = "1", .serves = {{.queue = "work"}}, .capacity = 1};
      report_ = drive_worker(process_.engine(), runs_, wake_, stop_, {.worker = info});
    });
    server_.wait_for_blocked_clients(2);  // for work, and for what a sweeper has to do
  }
  ~RedisIdleWorker() override {
    stop_.request();
    worker_.join();
    EXPECT_TRUE(report_);
  }

  // Calls that have gone out so far.
  std::int64_t calls() {
    const redis::Reply reply = server_.run(redis::Command("INFO", "commandstats"));
    const std::string text(must(reply.as_text()));
    std::int64_t sum = 0;
    for (const char* name : {"fcall", "fcall_ro", "blpop"}) {
      const std::string mark = std::string("cmdstat_") + name + ":calls=";
      if (const std::size_t at = text.find(mark); at != std::string::npos)
        sum += std::stoll(text.substr(at + mark.size()));
    }
    return sum;
  }

  RedisServer server_;
  Member process_{server_};
  SweeperThread sweeper_{process_.engine()};
  InstantRuns runs_;
  Waker wake_;
  StopSignal stop_;
  Result<ClaimLoopCounts> report_ = ClaimLoopCounts{};
  std::jthread worker_;
};

TEST_F(RedisIdleWorker, MakesAtMostTwoCallsASecond) {
  constexpr int kSeconds = 4;
  const std::int64_t before = calls();
  server_.run(redis::Command("BLPOP", "nothing", kSeconds));  // that long by Redis' own clock
  EXPECT_LE(calls() - before - 1, 2 * kSeconds);
}

TEST_F(RedisIdleWorker, StartsWhatIsEnqueuedAndWhatIsDueAtOnce) {
  Member producer(server_);
  for (const Millis delay : {Millis{0}, Millis{300}}) {
    const auto begin = steady_clock::now();
    EXPECT_EQ(must(test::wait_for_end(producer.engine(), producer.enqueue(delay), kLong)), TaskState::kCompleted);
    // Far less than it sleeps; how much less is measured by the benchmark.
    EXPECT_LT(steady_clock::now() - begin, delay + kSweeperSleeps / 2);
  }
}

}  // namespace
}  // namespace drover
