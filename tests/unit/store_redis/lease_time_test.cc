// Lease time (store/redis/lua/1_clock.lua): what several processes, each with a clock of its own, make of it.
#include "unit/store_redis/engine_on_redis.h"

namespace drover::test {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""h;

class LeaseTimeTest : public EngineOnRedis {
 protected:
  struct Process {
    ManualClock clock;
    std::unique_ptr<Store> store;
  };
  // Another one, so much later; its machine agrees with Redis on the time.
  std::unique_ptr<Process> open(Millis later) {
    auto process = std::make_unique<Process>();
    process->clock.advance(later);
    drover::RedisOptions options;
    options.address = server_.address();
    options.test_clock = &process->clock;
    process->store = must(open_redis(std::move(options)));
    return process;
  }
  void claim(Store& store, Millis lease) {
    const std::vector<LeaseId> ids{new_lease_id(rng_)};
    const ClaimRequest request{.worker_id = "host:1:a", .serves = {{.queue = "work"}}, .n = 1, .lease = lease};
    ASSERT_EQ(must(store.claim(request, ids, std::nullopt)).records.size(), 1U);
  }
  static std::size_t lapsed(Store& store) { return must(store.lapsed(std::nullopt, 10)).size(); }
};

TEST_F(LeaseTimeTest, AProcessThatWasFrozenEndsNoLeaseOfOthers) {
  enqueue(1);
  EXPECT_EQ(lapsed(*store_), 0U);
  // Nobody calls for a minute; then another one starts, which knows nothing of that minute.
  const auto other = open(60s);
  claim(*other->store, 30s);
  other->clock.advance(2s);
  EXPECT_EQ(lapsed(*other->store), 0U);
  // The first one wakes and knows.
  clock_.advance(62s);
  EXPECT_EQ(lapsed(*store_), 0U) << "it was granted two seconds ago";
  clock_.advance(27s);
  EXPECT_EQ(lapsed(*store_), 0U);
  clock_.advance(7s);  // longer than without the minute, by a few seconds
  EXPECT_EQ(lapsed(*store_), 1U);
}

TEST_F(LeaseTimeTest, OneThatStartsAgrees) {
  enqueue(1);
  EXPECT_EQ(lapsed(*store_), 0U);
  clock_.advance(900ms);  // not worth saving
  const auto other = open(900ms);
  claim(*other->store, 1s);
  clock_.advance(999ms);
  EXPECT_EQ(lapsed(*store_), 0U) << "a whole second";
  clock_.advance(1ms);
  EXPECT_EQ(lapsed(*store_), 1U);
}

TEST_F(LeaseTimeTest, GoesOnAfterTheClockWasSetBack) {
  enqueue(1);
  claim(*store_, 30s);
  clock_.jump_wall(-24h * 3650);
  EXPECT_EQ(lapsed(*store_), 0U);
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(lapsed(*store_), 0U);
    clock_.advance(1s);
  }
  EXPECT_EQ(lapsed(*store_), 1U);
}

TEST_F(LeaseTimeTest, AProcessThatRunsOnKeepsItForThoseWhoComeLater) {
  enqueue(1);
  claim(*store_, 30s);
  for (int i = 0; i < 10; ++i) {
    clock_.advance(3s);
    EXPECT_EQ(lapsed(*store_), i == 9 ? 1U : 0U);
  }
  const auto other = open(30s);
  EXPECT_EQ(lapsed(*other->store), 1U);
}

TEST_F(LeaseTimeTest, WhatIsUnreadableBeginsAnew) {
  enqueue(1);
  claim(*store_, 30s);
  server_.run(redis::Command("HSET", "{ade}:seq", "lease_now", "soon"));
  EXPECT_EQ(lapsed(*store_), 0U);
  clock_.advance(30s);
  EXPECT_EQ(lapsed(*store_), 1U);
}

}  // namespace
}  // namespace drover::test
