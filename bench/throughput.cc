// How many tasks go in and through, beside what bare SQLite does in the same minute.
#include <fmt/format.h>

#include <chrono>

#include "bench_store.h"
#include "cases.h"

namespace drover::bench {
namespace {

constexpr int kBulkBatch = 1'000;
constexpr int kDrainBatch = 100;

double seconds_of(const std::function<void()>& work) {
  const auto started = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
}

// Prepares, then measures `count` operations of Drover and of the limit, in turns.
struct Contest {
  int count = 0;
  std::function<void(Engine&)> prepare;
  std::function<void(Engine&)> run;
  std::function<void(SqliteLimit&)> prepare_limit;
  std::function<void(SqliteLimit&)> run_limit;
};

Rate hold(const Contest& contest, const std::filesystem::path& folder, Sync sync, int rounds) {
  std::vector<double> ours;
  std::vector<double> limits;
  for (int round = 0; round < rounds; ++round) {
    {
      const auto store = open_store(fresh_store_path(folder), sync);
      Engine engine(*store, system_rng());
      contest.prepare(engine);
      ours.push_back(contest.count / seconds_of([&] { contest.run(engine); }));
    }
    SqliteLimit limit(folder, sync);
    contest.prepare_limit(limit);
    limits.push_back(contest.count / seconds_of([&] { contest.run_limit(limit); }));
  }
  return {.per_s = median(ours), .limit_per_s = median(limits)};
}

Contest one_by_one(int count) {
  return {.count = count,
          .prepare = [](Engine&) {},
          .run =
              [=](Engine& engine) {
                for (int i = 0; i < count; ++i) must(engine.enqueue_one(sample_task(i)));
              },
          .prepare_limit = [](SqliteLimit&) {},
          .run_limit = [=](SqliteLimit& limit) { limit.insert(count, 1); }};
}

Contest in_bulk(int count) {
  return {.count = count,
          .prepare = [](Engine&) {},
          .run = [=](Engine& engine) { fill(engine, count); },
          .prepare_limit = [](SqliteLimit&) {},
          .run_limit = [=](SqliteLimit& limit) { limit.insert(count, kBulkBatch); }};
}

Contest draining(int backlog, int count) {
  return {.count = count,
          .prepare = [=](Engine& engine) { fill(engine, backlog); },
          .run = [=](Engine& engine) { drain(engine, count); },
          .prepare_limit = [=](SqliteLimit& limit) { limit.insert(backlog, kBulkBatch); },
          .run_limit = [=](SqliteLimit& limit) { limit.drain(count, kDrainBatch); }};
}

struct Named {
  std::string name;
  Contest contest;
  int rounds = 1;
};

Case contest_case(const std::string& name, Sync sync, const std::function<Named(const Scale&)>& make) {
  const std::string setting = sync == Sync::kFull ? "FULL" : "NORMAL";
  return {fmt::format("{} ({})", name, setting), [=](const std::filesystem::path& folder, const Scale& scale) {
            const Named named = make(scale);
            return std::vector<Figure>{{named.name, setting, hold(named.contest, folder, sync, named.rounds)}};
          }};
}

// Once each: filling takes longer than the measurement.
Case backlog_case(int Scale::* backlog) {
  return contest_case("drain behind a backlog", Sync::kFull, [=](const Scale& scale) {
    return Named{fmt::format("drain, {} waiting", scale.*backlog), draining(scale.*backlog, scale.backlog_drain)};
  });
}

}  // namespace

std::vector<Case> throughput_cases() {
  std::vector<Case> cases;
  for (const Sync sync : {Sync::kFull, Sync::kNormal}) {
    cases.push_back(contest_case("enqueue, each awaited", sync, [=](const Scale& scale) {
      const int count = sync == Sync::kFull ? scale.awaited_full : scale.awaited_normal;
      return Named{"enqueue, each awaited", one_by_one(count), scale.rounds};
    }));
    cases.push_back(contest_case("enqueue, batches of 1000", sync, [](const Scale& scale) {
      return Named{"enqueue, batches of 1000", in_bulk(scale.bulk), scale.rounds};
    }));
    cases.push_back(contest_case("drain, batches of 100", sync, [](const Scale& scale) {
      return Named{"drain, batches of 100", draining(scale.drain, scale.drain), scale.rounds};
    }));
  }
  cases.push_back(backlog_case(&Scale::small_backlog));
  cases.push_back(backlog_case(&Scale::large_backlog));
  return cases;
}

}  // namespace drover::bench
