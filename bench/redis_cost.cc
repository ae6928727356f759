// What a task costs the Redis server: CPU over its whole life, and memory while it waits.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "bench_store.h"
#include "cases.h"
#include "limit_redis.h"

namespace drover::bench {
namespace {

constexpr int kRound = 2'000;
constexpr int kCallers = 8;  // whose calls are under way at the same time

Figure redis_figure(std::string_view name, double value, std::string unit, std::string note = {}) {
  return {std::string(name), "Redis", std::string(kDrover), Amount{value, std::move(unit)}, std::move(note)};
}

// What Redis used while all callers did their part.
RedisUsage usage_during(RedisLink& link, const std::function<void(int caller)>& part) {
  const RedisUsage before = usage_of(link);
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < kCallers; ++i) callers.emplace_back([&, i] { part(i); });
  }
  return usage_of(link) - before;
}

void enqueue_of(Engine& engine, int owner, int count, int batch) {
  for (int done = 0; done < count; done += batch) {
    must(engine.enqueue(std::vector<TaskSpec>(static_cast<std::size_t>(batch), sample_task(owner))));
  }
}

using Batches = std::vector<std::vector<ClaimedTask>>;

// Claims until `tasks` are claimed, by whomever.
Batches claim_share(Engine& engine, std::atomic<int>& left, int batch) {
  Batches batches;
  while (left.fetch_sub(batch) > 0) batches.push_back(must(engine.claim(sample_claim(batch))));
  return batches;
}

// "fcall 0.10 x 22.1 us, hset 1.00 x 0.9 us": calls per task, and what one takes.
std::string breakdown(const RedisUsage& usage, int tasks) {
  std::vector<std::pair<double, std::string>> parts;
  for (const auto& [name, calls] : usage.calls) {
    const double us = usage.command_us.at(name);
    parts.emplace_back(us, fmt::format("{} {:.2f} x {:.1f} us", name, static_cast<double>(calls) / tasks,
                                       us / static_cast<double>(calls)));
  }
  std::ranges::sort(parts, std::greater<>());
  std::string text;
  for (const auto& [us, part] : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

// The yardstick: a stream, a state and a result, in the fewest lines of Lua.
Figure bare_life(Ground& ground, int tasks, int batch) {
  RedisLink& link = ground.empty_redis().link();
  RedisLimit limit(link, RedisLimitKind::kLua);
  const RedisUsage before = usage_of(link);
  limit.insert(tasks, batch);
  limit.drain(tasks, batch);
  const double cpu_us = (usage_of(link) - before).cpu_us;
  return {fmt::format("server CPU, whole life, batches of {}", batch),
          "Redis",
          "bare Lua",
          Amount{cpu_us / tasks, "us per task"},
          {}};
}

// Of one owner, as other queues have it, or each caller's tasks of another.
enum class Owners : std::uint8_t { kOne, kEach };

std::string whose(Owners owners) {
  return owners == Owners::kOne ? "" : ", eight owners";
}

std::vector<Figure> whole_life(Ground& ground, const Scale& scale, int batch, Owners owners) {
  Bench bench(ground, Backend::kRedis);
  RedisLink& link = ground.redis().link();
  const int share = scale.life / kCallers / batch * batch;
  const int tasks = std::max(share, batch) * kCallers;
  const RedisUsage enqueued = usage_during(link, [&](int caller) {
    enqueue_of(bench.engine, owners == Owners::kOne ? 0 : caller, tasks / kCallers, batch);
  });
  // In rounds: nobody holds all of a large backlog at once.
  RedisUsage claims;
  RedisUsage settled;
  for (int done = 0; done < tasks; done += kRound) {
    std::vector<Batches> claimed(kCallers);
    std::atomic<int> left = std::min(kRound, tasks - done);
    claims += usage_during(
        link, [&](int caller) { claimed[static_cast<std::size_t>(caller)] = claim_share(bench.engine, left, batch); });
    settled += usage_during(link, [&](int caller) {
      for (const auto& one : claimed[static_cast<std::size_t>(caller)]) settle(bench.engine, one);
    });
  }
  std::vector<Figure> figures;
  double total_us = 0;
  const std::pair<std::string_view, const RedisUsage*> parts[] = {
      {"enqueue", &enqueued}, {"claim", &claims}, {"settle", &settled}};
  for (const auto& [verb, usage] : parts) {
    total_us += usage->cpu_us / tasks;
    figures.push_back(redis_figure(fmt::format("server CPU, {}, batches of {}{}", verb, batch, whose(owners)),
                                   usage->cpu_us / tasks, "us per task", batch == 10 ? breakdown(*usage, tasks) : ""));
  }
  figures.push_back(redis_figure(fmt::format("server CPU, whole life, batches of {}{}", batch, whose(owners)), total_us,
                                 "us per task"));
  if (owners == Owners::kOne) figures.push_back(bare_life(ground, tasks, batch));
  return figures;
}

double bytes_per_task(Ground& ground, int count, int owners) {
  Bench bench(ground, Backend::kRedis);
  RedisLink& link = ground.redis().link();
  const RedisUsage before = usage_of(link);
  fill(bench.engine, count, owners);
  return (usage_of(link) - before).memory_bytes / count;
}

std::vector<Figure> memory(Ground& ground, const Scale& scale) {
  constexpr int kFewOwners = 8;
  const double shared = bytes_per_task(ground, scale.pending, kFewOwners);
  const double alone = bytes_per_task(ground, scale.pending, scale.pending);
  return {redis_figure(kPendingBytes, shared, "bytes"),
          redis_figure("memory of a lane with one task, beyond the task", alone - shared, "bytes")};
}

}  // namespace

std::vector<Case> redis_cost_cases() {
  std::vector<Case> cases;
  for (const int batch : {1, 10, 100}) {
    for (const Owners owners : {Owners::kOne, Owners::kEach}) {
      cases.push_back({fmt::format("server CPU, batches of {}{}, Redis", batch, whose(owners)),
                       [=](Ground& ground, const Scale& scale) { return whole_life(ground, scale, batch, owners); }});
    }
  }
  cases.push_back({"memory, Redis", memory});
  return cases;
}

}  // namespace drover::bench
