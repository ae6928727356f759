#include "bench_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>

#include "drover/worker.h"
#include "store/redis/redis_store.h"
#include "store/sqlite/sqlite_store.h"

namespace drover::bench {
namespace {

constexpr std::string_view kRedisScheme = "redis+unix://";
constexpr std::size_t kPayloadBytes = 200;

std::unique_ptr<Store> open_sqlite_at(const std::string& path, Sync sync, sqlite::Meter* meter) {
  SqliteOptions options;
  options.path = path;
  options.synchronous = sync == Sync::kFull ? SqliteOptions::Synchronous::kFull : SqliteOptions::Synchronous::kNormal;
  options.meter = meter;
  return must(open_sqlite(std::move(options)));
}

}  // namespace

std::string name_of(Backend backend) {
  switch (backend) {
    case Backend::kSqliteFull:
      return "SQLite FULL";
    case Backend::kSqliteNormal:
      return "SQLite NORMAL";
    case Backend::kRedis:
      return "Redis";
  }
  std::abort();
}

std::string fresh_address(Ground& ground, Backend backend) {
  if (backend == Backend::kRedis) return std::string(kRedisScheme) + ground.empty_redis().socket_path();
  const std::filesystem::path store = ground.folder() / "store";
  std::filesystem::remove_all(store);
  return (store / "drover.db").string();
}

std::unique_ptr<Store> open_store(const std::string& address, Sync sync, sqlite::Meter* meter) {
  if (!address.starts_with(kRedisScheme)) return open_sqlite_at(address, sync, meter);
  RedisOptions options;
  options.address = must(redis::parse_address(address));
  return must(open_redis(std::move(options)));
}

Bench::Bench(Ground& ground, Backend backend, sqlite::Meter* meter)
    : store(open_store(fresh_address(ground, backend), backend == Backend::kSqliteNormal ? Sync::kNormal : Sync::kFull,
                       meter)),
      engine(*store, system_rng()) {}

TaskSpec sample_task(int owner) {
  static const std::string payload = fmt::format(R"({{"text":"{}"}})", std::string(kPayloadBytes - 11, 'x'));
  TaskSpec spec;
  spec.type = kQueue;
  spec.owner = fmt::format("owner{}", owner);
  spec.payload = payload;
  return spec;
}

ClaimRequest sample_claim(int n) {
  ClaimRequest request;
  request.worker_id = "bench";
  request.serves = {{std::string(kQueue), std::nullopt}};
  request.n = n;
  return request;
}

void fill(Engine& engine, int count, int owners) {
  std::vector<TaskSpec> group;
  for (int done = 0; done < count; done += kBulkBatch) {
    group.clear();
    for (int i = done; i < std::min(count, done + kBulkBatch); ++i) group.push_back(sample_task(i % owners));
    must(engine.enqueue(group));
  }
}

void settle(Engine& engine, std::span<const ClaimedTask> claimed) {
  std::vector<Settlement> ends;
  for (const ClaimedTask& task : claimed) ends.push_back({task.lease, Completion{.result = "1", .exit_code = {}}});
  for (auto& answer : engine.settle(ends)) must(std::move(answer));
}

void drain(Engine& engine, int count, int batch) {
  constexpr int kCallers = 3;  // one claims, one settles, one reads what it was answered
  const ClaimRequest request = sample_claim(batch);
  std::atomic<int> done = 0;
  const auto drain_share = [&] {
    for (auto claimed = must(engine.claim(request)); !claimed.empty(); claimed = must(engine.claim(request))) {
      settle(engine, claimed);
      done += static_cast<int>(claimed.size());
    }
  };
  std::vector<std::future<void>> callers;
  for (int i = 0; i < kCallers; ++i) callers.push_back(std::async(std::launch::async, drain_share));
  for (std::future<void>& caller : callers) caller.get();
  if (done != count) throw std::runtime_error("the queue is empty too early");
}

double worker_rate(Bench& bench, int count, int handlers) {
  Worker worker(bench.engine, {.concurrency = handlers, .prefetch = handlers, .until = RunUntil::kEmpty});
  worker.handle(std::string(kQueue), [](TaskContext&) -> HandlerResult { return "1"; });
  return count / seconds_of([&] { must(worker.run()); });
}

double seconds_of(const std::function<void()>& work) {
  const auto started = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
}

}  // namespace drover::bench
