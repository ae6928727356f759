// The store for fleets: Redis 7.0 and up, or Valkey. Every transition is one function that runs inside Redis.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "drover/error.h"
#include "store/redis/address.h"
#include "store/store.h"

namespace drover {

struct RedisOptions {
  redis::Address address;
  Millis connect_timeout{2'000};
  Millis call_timeout{5'000};
  std::int64_t log_bytes_max = 64LL << 10;  // kept of the output of one run
  // Where it is kept how far the store has been; no file if empty. See default_mark_path.
  std::string mark_path = {};
  // For tests: the time that counts, instead of the server's.
  Clock* test_clock = nullptr;
};

// In the user's state folder, by address and prefix; empty if the environment names no such folder.
[[nodiscard]] std::string default_mark_path(const redis::Address& address);

// Connects, checks the server and brings its functions up to date.
[[nodiscard]] Result<std::unique_ptr<Store>> open_redis(RedisOptions options);

}  // namespace drover
