// The measurements. Each is one step of the run and gives one or more figures.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "figures.h"
#include "limit_sqlite.h"

namespace drover::bench {

struct Scale {
  int rounds = 3;          // of each; the median counts
  int awaited_full = 400;  // enqueues, one after the other
  int awaited_normal = 4'000;
  int bulk = 50'000;
  int drain = 20'000;
  int small_backlog = 10'000;
  int large_backlog = 200'000;
  int backlog_drain = 8'000;  // taken off each
  int latencies = 500;
};
inline constexpr Scale kQuick{.rounds = 1,
                              .awaited_full = 50,
                              .awaited_normal = 200,
                              .bulk = 2'000,
                              .drain = 1'000,
                              .small_backlog = 1'000,
                              .large_backlog = 5'000,
                              .backlog_drain = 500,
                              .latencies = 40};

struct Case {
  std::string name;
  std::function<std::vector<Figure>(const std::filesystem::path& folder, const Scale& scale)> measure;
};

[[nodiscard]] std::vector<Case> throughput_cases();
[[nodiscard]] std::vector<Case> latency_cases();

// The other process of the latency measurements: `drover_bench listen STORE`, `drover_bench serve STORE`.
[[nodiscard]] int listener_main(const std::string& store_path);
[[nodiscard]] int server_main(const std::string& store_path);

}  // namespace drover::bench
