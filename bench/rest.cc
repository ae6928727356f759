// A server: how many requests it answers, how soon a worker elsewhere gets its task, and what it takes at rest.
#include <fmt/format.h>
#include <poll.h>

#include <thread>

#include "cases.h"
#include "engine/open.h"
#include "pick_up.h"
#include "server_process.h"

namespace drover::bench {
namespace {

constexpr int kWorkers = 4;
constexpr int kClaimBatch = 10;
constexpr int kRestMs = 5'000;
constexpr std::string_view kBareHttp = "bare HTTP";

std::vector<Figure> enqueue(Ground& ground, const Scale& scale, Backend backend) {
  std::vector<double> ours;
  std::vector<double> bare;
  for (int round = 0; round < scale.rounds; ++round) {
    const ServerProcess server(ground, backend);
    const std::string health = bare_request(server);
    const std::string task = enqueue_request(server, "bench");
    bare.push_back(rate_of(server, scale.requests, [&](int) -> const std::string& { return health; }));
    ours.push_back(rate_of(server, scale.requests, [&](int) -> const std::string& { return task; }));
  }
  const std::string name(kRestAwaited);
  return {{name, name_of(backend), std::string(kDrover), Rate{median(ours)}},
          {name, name_of(backend), std::string(kBareHttp), Rate{median(bare)}}};
}

// Workers elsewhere that do nothing but claim and complete.
std::vector<Figure> work(Ground& ground, const Scale& scale, Backend backend) {
  const ServerProcess server(ground, backend);
  const auto filling = must(open_queue(server.url(), server.token()));
  std::vector<TaskSpec> group(kBulkBatch, sample_task(0));
  const int count = scale.requests / kBulkBatch * kBulkBatch;
  for (int i = 0; i < count; i += kBulkBatch) must(filling->queue().enqueue(group));
  std::vector<std::unique_ptr<OpenedQueue>> workers;
  for (int i = 0; i < kWorkers; ++i) workers.push_back(must(open_queue(server.url(), server.token())));
  const ClaimRequest sample = sample_claim(kClaimBatch);
  must(filling->queue().register_worker({.id = sample.worker_id, .version = "1", .serves = sample.serves}));
  const double seconds = seconds_of([&] {
    std::vector<std::jthread> threads;
    for (const auto& worker : workers) {
      threads.emplace_back([&queue = worker->queue()] {
        for (;;) {
          const auto claimed = must(queue.claim(sample_claim(kClaimBatch)));
          if (claimed.empty()) return;
          std::vector<Settlement> ends;
          for (const ClaimedTask& task : claimed) ends.push_back({task.lease, Completion{.result = "1"}});
          for (const auto& settled : queue.settle(ends)) must(settled);
        }
      });
    }
  });
  return {{"REST claim and complete, batches of 10", name_of(backend), std::string(kDrover), Rate{count / seconds}}};
}

std::vector<Figure> pick_up(Ground& ground, const Scale& scale, Backend backend) {
  const ServerProcess server(ground, backend);
  const auto producer = must(open_queue(server.url(), server.token()));
  return {pick_up_by_twin(kPickUpRemote, backend, server.url(), producer->queue(), scale.latencies)};
}

std::vector<Figure> at_rest(Ground& ground, const Scale& scale, Backend backend) {
  const ServerProcess server(ground, backend);
  ::poll(nullptr, 0, 500);
  const double before = server.cpu_seconds();
  const int rest_ms = scale.rounds > 1 ? kRestMs : kRestMs / 10;
  ::poll(nullptr, 0, rest_ms);
  const double share = (server.cpu_seconds() - before) / (rest_ms / 1e3) * 100;
  return {{std::string(kRestMemory), name_of(backend), std::string(kDrover), Amount{server.resident_mb(), "MB"}},
          {std::string(kRestCpu), name_of(backend), std::string(kDrover), Amount{share, "% of a core"}}};
}

}  // namespace

std::vector<Case> rest_cases() {
  using Measure = std::vector<Figure> (*)(Ground&, const Scale&, Backend);
  const std::pair<std::string_view, Measure> measures[] = {{"REST enqueue", enqueue},
                                                           {"REST claim and complete", work},
                                                           {kPickUpRemote, pick_up},
                                                           {"server at rest", at_rest}};
  std::vector<Case> cases;
  for (const Backend backend : {Backend::kSqliteFull, Backend::kRedis}) {
    for (const auto& [name, measure] : measures) {
      cases.push_back({fmt::format("{}, {}", name, name_of(backend)),
                       [=](Ground& ground, const Scale& scale) { return measure(ground, scale, backend); }});
    }
  }
  return cases;
}

}  // namespace drover::bench
