// A provider that refuses more than a few runs at once: each cut costs at most as many refusals as runs were live, and
// everything completes with its first attempt.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "e2e/e2e_test.h"

namespace drover::e2e {
namespace {

constexpr int kTasks = 50;
constexpr int kWorkers = 8;
constexpr int kAtOnce = 3;  // that the provider allows

// Takes one of the provider's places for as long as it works. Without one it is refused, and says so at its door.
constexpr std::string_view kRun = R"(#!/bin/sh
folder=$1
for place in $(seq 1 $2); do
  exec 9> "$folder/place.$place"
  if flock -n 9; then sleep 0.15; exit 0; fi
done
echo refused >> "$folder/refusals"
drover fail --class rate_limited --retry-after 1s '429 too many requests'
exit 1
)";

class ProviderTrialTest : public E2eTest {
 protected:
  // All that happened, oldest first.
  [[nodiscard]] std::vector<json::Value> all_events() const {
    std::vector<json::Value> events;
    std::istringstream lines(sandbox.must({"events", "--after", "0", "--json"}));
    for (std::string line; std::getline(lines, line);) {
      if (auto event = json::parse(line)) events.push_back(*std::move(event));
    }
    return events;
  }
};

TEST_F(ProviderTrialTest, EachCutCostsAtMostWhatWasLive) {
  sandbox.write_file("run.sh", kRun);
  sandbox.write_file("drover.yaml", "types:\n  ask: {provider: acme}\n");
  sandbox.must({"config", "apply", "drover.yaml"});
  sandbox.set("PATH", fmt::format("{}:/usr/bin:/bin", std::filesystem::path(DROVER_BIN).parent_path().string()));
  std::string batch;
  for (int i = 0; i < kTasks; ++i) batch += "{\"type\":\"ask\"}\n";
  sandbox.write_file("batch.ndjson", batch);
  sandbox.must({"enqueue", "--batch", sandbox.file("batch.ndjson")});
  std::vector<std::unique_ptr<Process>> workers;
  for (int i = 0; i < kWorkers; ++i) {
    workers.push_back(sandbox.start(work(
        "ask", {"sh", sandbox.file("run.sh"), sandbox.folder().string(), std::to_string(kAtOnce)}, {"--until-empty"})));
  }
  for (const auto& worker : workers) {
    const auto outcome = worker->wait(Millis{120'000});
    ASSERT_TRUE(outcome);
  }
  const json::Value tasks = sandbox.must_json({"list", "--type", "ask", "--limit", "100", "--json"});
  int completed = 0;
  for (const json::Value& task : *tasks.as_array()) {
    if (at(task, "state") == "completed" && at(task, "attempts") == "1") ++completed;
  }
  EXPECT_EQ(completed, kTasks);

  // Refusals since the last cut, each of a run that was live then.
  std::set<std::string> live;
  int cuts = 0;
  int refusals = 0;
  std::size_t allowed = 0;
  int in_this_cut = 0;
  for (const json::Value& event : all_events()) {
    const std::string name = at(event, "name");
    const std::string task = at(event, "task_id");
    if (name == "task.claimed") live.insert(task);
    if (name == "provider.slowdown") {
      ++cuts;
      allowed = live.size();
      in_this_cut = 0;
    }
    if (name == "task.deferred") {
      ++refusals;
      ++in_this_cut;
      if (cuts > 0) {
        EXPECT_LE(in_this_cut, static_cast<int>(std::max<std::size_t>(allowed, 1)));
      }
    }
    if (name.starts_with("task.") && name != "task.claimed" && name != "task.progress") live.erase(task);
  }
  EXPECT_GE(cuts, 1) << "the provider allows fewer than there are workers";
  EXPECT_LE(refusals, cuts * kWorkers);
}

}  // namespace
}  // namespace drover::e2e
