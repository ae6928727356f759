// How many tasks go in and through, beside what the bare stores do in the same minute.
#include <fmt/format.h>

#include <memory>

#include "bench_store.h"
#include "cases.h"
#include "limit_redis.h"

namespace drover::bench {
namespace {

// Who else does the same on the same store.
struct Rival {
  std::string name;
  std::function<std::unique_ptr<Limit>(Ground&)> open;
};

std::vector<Rival> rivals_on(Backend backend) {
  const auto sqlite = [](Sync sync) {
    return
        [=](Ground& ground) -> std::unique_ptr<Limit> { return std::make_unique<SqliteLimit>(ground.folder(), sync); };
  };
  const auto redis = [](RedisLimitKind kind) {
    return [=](Ground& ground) -> std::unique_ptr<Limit> {
      return std::make_unique<RedisLimit>(ground.empty_redis().link(), kind);
    };
  };
  switch (backend) {
    case Backend::kSqliteFull:
      return {{"bare SQLite", sqlite(Sync::kFull)}};
    case Backend::kSqliteNormal:
      return {{"bare SQLite", sqlite(Sync::kNormal)}};
    case Backend::kRedis:
      return {{"bare streams", redis(RedisLimitKind::kThin)}, {"bare Lua", redis(RedisLimitKind::kLua)}};
  }
  std::abort();
}

// Prepares, then measures `count` operations of Drover and of its rivals, in turns.
struct Contest {
  std::string_view name;
  int count = 0;
  int rounds = 1;
  std::function<void(Engine&)> prepare;
  std::function<void(Engine&)> run;
  std::function<void(Limit&)> prepare_limit;
  std::function<void(Limit&)> run_limit;
};

double drover_rate(const Contest& contest, Ground& ground, Backend backend) {
  Bench bench(ground, backend);
  contest.prepare(bench.engine);
  return contest.count / seconds_of([&] { contest.run(bench.engine); });
}

double rival_rate(const Contest& contest, Ground& ground, const Rival& rival) {
  const auto limit = rival.open(ground);
  contest.prepare_limit(*limit);
  return contest.count / seconds_of([&] { contest.run_limit(*limit); });
}

std::vector<Figure> hold(const Contest& contest, Ground& ground, Backend backend) {
  const std::vector<Rival> rivals = rivals_on(backend);
  std::vector<double> ours;
  std::vector<std::vector<double>> theirs(rivals.size());
  for (int round = 0; round < contest.rounds; ++round) {
    ours.push_back(drover_rate(contest, ground, backend));
    for (std::size_t i = 0; i < rivals.size(); ++i) theirs[i].push_back(rival_rate(contest, ground, rivals[i]));
  }
  const auto figure = [&](std::string_view by, const std::vector<double>& rates) {
    return Figure{std::string(contest.name), name_of(backend), std::string(by), Rate{median(rates)}};
  };
  std::vector<Figure> figures{figure(kDrover, ours)};
  for (std::size_t i = 0; i < rivals.size(); ++i) figures.push_back(figure(rivals[i].name, theirs[i]));
  return figures;
}

Contest one_by_one(const Scale& scale, Backend backend) {
  const int count = backend == Backend::kSqliteFull ? scale.awaited_full : scale.awaited;
  return {.name = kAwaited,
          .count = count,
          .rounds = scale.rounds,
          .prepare = [](Engine&) {},
          .run =
              [=](Engine& engine) {
                for (int i = 0; i < count; ++i) must(engine.enqueue_one(sample_task(0)));
              },
          .prepare_limit = [](Limit&) {},
          .run_limit = [=](Limit& limit) { limit.insert(count, 1); }};
}

Contest in_bulk(const Scale& scale, Backend) {
  const int count = scale.bulk;
  return {.name = kBulk,
          .count = count,
          .rounds = scale.rounds,
          .prepare = [](Engine&) {},
          .run = [=](Engine& engine) { fill(engine, count); },
          .prepare_limit = [](Limit&) {},
          .run_limit = [=](Limit& limit) { limit.insert(count, kBulkBatch); }};
}

Contest draining(std::string_view name, const Scale& scale, int batch) {
  const int count = scale.drain;
  return {.name = name,
          .count = count,
          .rounds = scale.rounds,
          .prepare = [=](Engine& engine) { fill(engine, count); },
          .run = [=](Engine& engine) { drain(engine, count, batch); },
          .prepare_limit = [=](Limit& limit) { limit.insert(count, kBulkBatch); },
          .run_limit = [=](Limit& limit) { limit.drain(count, batch); }};
}

Contest drain_of_100(const Scale& scale, Backend) {
  return draining(kDrainOf100, scale, 100);
}

Contest drain_of_10(const Scale& scale, Backend) {
  return draining("drain, batches of 10", scale, 10);
}

std::vector<Figure> drain_by_worker(Ground& ground, const Scale& scale, Backend backend, int handlers) {
  std::vector<double> rates;
  for (int round = 0; round < scale.rounds; ++round) {
    Bench bench(ground, backend);
    fill(bench.engine, scale.drain);
    rates.push_back(worker_rate(bench, scale.drain, handlers));
  }
  return {{fmt::format("drain by a worker, {} handlers", handlers), name_of(backend), std::string(kDrover),
           Rate{median(rates)}}};
}

}  // namespace

std::vector<Case> throughput_cases() {
  using Make = Contest (*)(const Scale&, Backend);
  const std::pair<std::string_view, Make> contests[] = {
      {kAwaited, one_by_one}, {kBulk, in_bulk}, {kDrainOf100, drain_of_100}, {"drain, batches of 10", drain_of_10}};
  std::vector<Case> cases;
  for (const Backend backend : {Backend::kSqliteFull, Backend::kSqliteNormal, Backend::kRedis}) {
    for (const auto& [name, make] : contests) {
      cases.push_back({fmt::format("{}, {}", name, name_of(backend)), [=](Ground& ground, const Scale& scale) {
                         return hold(make(scale, backend), ground, backend);
                       }});
    }
    for (const int handlers : {16, 100}) {
      cases.push_back(
          {fmt::format("drain by a worker, {} handlers, {}", handlers, name_of(backend)),
           [=](Ground& ground, const Scale& scale) { return drain_by_worker(ground, scale, backend, handlers); }});
    }
  }
  return cases;
}

}  // namespace drover::bench
