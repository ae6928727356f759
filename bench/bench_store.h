// The stores that are measured, and the tasks that measurements put into them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "ground.h"
#include "limit_sqlite.h"
#include "store/sqlite/meter.h"

namespace drover::bench {

inline constexpr std::string_view kQueue = "bench";
inline constexpr int kBulkBatch = 1'000;

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(to_string(result.error()));
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

enum class Backend : std::uint8_t { kSqliteFull, kSqliteNormal, kRedis };
[[nodiscard]] std::string name_of(Backend backend);

// Where a new, empty store is to be: a path or the URL of a Redis, for open_store.
[[nodiscard]] std::string fresh_address(Ground& ground, Backend backend);
// Opens the store there, which may exist. Only SQLite counts with a meter.
[[nodiscard]] std::unique_ptr<Store> open_store(const std::string& address, Sync sync = Sync::kFull,
                                                sqlite::Meter* meter = nullptr);

// A new store and its engine.
struct Bench {
  Bench(Ground& ground, Backend backend, sqlite::Meter* meter = nullptr);

  std::unique_ptr<Store> store;
  Engine engine;
};

// A task with a 200-byte payload.
[[nodiscard]] TaskSpec sample_task(int owner);
[[nodiscard]] ClaimRequest sample_claim(int n);

// Enqueues in batches of 1,000, whose tasks belong to so many owners in turns.
void fill(Engine& engine, int count, int owners = 8);
void settle(Engine& engine, std::span<const ClaimedTask> claimed);
// Claims and completes `count` tasks, so many at a time.
void drain(Engine& engine, int count, int batch);
// The whole of the C++ API: a worker claims, calls a handler that does nothing on so many threads, and settles; as many
// tasks may wait in it. Tasks a second.
[[nodiscard]] double worker_rate(Bench& bench, int count, int handlers);

// Seconds that it took.
[[nodiscard]] double seconds_of(const std::function<void()>& work);

}  // namespace drover::bench
