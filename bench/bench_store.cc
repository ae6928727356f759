#include "bench_store.h"

#include <fmt/format.h>

#include <algorithm>

namespace drover::bench {
namespace {

constexpr int kBulkBatch = 1'000;
constexpr int kDrainBatch = 100;
constexpr int kOwners = 8;
constexpr std::size_t kPayloadBytes = 200;

}  // namespace

std::unique_ptr<Store> open_store(const std::string& path, Sync sync) {
  SqliteOptions options;
  options.path = path;
  options.synchronous = sync == Sync::kFull ? SqliteOptions::Synchronous::kFull : SqliteOptions::Synchronous::kNormal;
  return must(open_sqlite(std::move(options)));
}

std::string fresh_store_path(const std::filesystem::path& folder) {
  const std::filesystem::path store = folder / "store";
  std::filesystem::remove_all(store);
  return (store / "drover.db").string();
}

TaskSpec sample_task(int number) {
  static const std::string payload = fmt::format(R"({{"text":"{}"}})", std::string(kPayloadBytes - 11, 'x'));
  TaskSpec spec;
  spec.type = kQueue;
  spec.owner = fmt::format("owner{}", number % kOwners);
  spec.payload = payload;
  return spec;
}

void fill(Engine& engine, int count) {
  std::vector<TaskSpec> group;
  for (int done = 0; done < count; done += kBulkBatch) {
    group.clear();
    for (int i = done; i < std::min(count, done + kBulkBatch); ++i) group.push_back(sample_task(i));
    must(engine.enqueue(group));
  }
}

void drain(Engine& engine, int count) {
  ClaimRequest request;
  request.worker_id = kWorker;
  request.serves = {{std::string(kQueue), std::nullopt}};
  request.n = kDrainBatch;
  std::vector<Settlement> ends;
  for (int done = 0; done < count;) {
    const auto claimed = must(engine.claim(request));
    if (claimed.empty()) throw std::runtime_error("the queue is empty too early");
    ends.clear();
    for (const ClaimedTask& task : claimed) ends.push_back({task.lease, Completion{.result = "1", .exit_code = {}}});
    for (auto& answer : engine.settle(ends)) must(std::move(answer));
    done += static_cast<int>(claimed.size());
  }
}

}  // namespace drover::bench
