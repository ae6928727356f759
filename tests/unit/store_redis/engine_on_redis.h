// An engine over a Redis of its own, with an injected clock: what tests of the library begin from.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "engine/engine.h"
#include "store/redis/redis_store.h"
#include "support/locked_rng.h"
#include "support/manual_clock.h"
#include "support/must.h"
#include "support/redis_server.h"

namespace drover::test {

class EngineOnRedis : public ::testing::Test {
 protected:
  EngineOnRedis() {
    drover::RedisOptions options;
    options.address = server_.address();
    options.test_clock = &clock_;
    store_ = must(open_redis(std::move(options)));
    engine_ = std::make_unique<Engine>(*store_, rng_);
  }

  void enqueue(int count) {
    must(engine_->enqueue(std::vector<TaskSpec>(static_cast<std::size_t>(count), TaskSpec{.type = "work"})));
  }

  RedisServer server_;
  ManualClock clock_;
  LockedRng rng_{1};
  std::unique_ptr<Store> store_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace drover::test
