// The measurements. Each is one step of the run and gives one or more figures.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "figures.h"
#include "ground.h"

namespace drover::bench {

// Figures that bars speak of, or that several measure.
inline constexpr std::string_view kAwaited = "enqueue, each awaited";
inline constexpr std::string_view kBulk = "enqueue, batches of 1000";
inline constexpr std::string_view kDrainOf100 = "drain, batches of 100";
inline constexpr std::string_view kDrainByCalls = "drain by one process, one owner, its own calls";
inline constexpr std::string_view kDrainByHandlers = "drain by one process, one owner, 100 handlers";
inline constexpr std::string_view kPickUpHere = "pick-up in this process";
inline constexpr std::string_view kPickUpElsewhere = "pick-up by another process";
inline constexpr std::string_view kPickUpRemote = "pick-up by a worker over REST";
inline constexpr std::string_view kRestAwaited = "REST enqueue, each awaited, 64 connections";
inline constexpr std::string_view kRestWatched = "REST enqueue beside watchers";
inline constexpr std::string_view kWatchersClosed = "watchers that were sent away";
inline constexpr std::string_view kRestMemory = "server at rest, memory";
inline constexpr std::string_view kRestCpu = "server at rest, CPU";
inline constexpr std::string_view kLifeOf10 = "server CPU, whole life, batches of 10";
inline constexpr std::string_view kLifeOf10OfEight = "server CPU, whole life, batches of 10, eight owners";
inline constexpr std::string_view kPendingBytes = "memory of a pending task";
inline constexpr std::string_view kClaimSmallBacklog = "work of a claim, small backlog";
inline constexpr std::string_view kClaimLargeBacklog = "work of a claim, large backlog";
inline constexpr std::string_view kClaimFewLanes = "work of a claim, few lanes";
inline constexpr std::string_view kClaimManyLanes = "work of a claim, many lanes";

struct Scale {
  int rounds = 3;          // of each; the median counts
  int awaited_full = 400;  // enqueues, one after the other
  int awaited = 4'000;     // where no disk is waited for
  int bulk = 50'000;
  int drain = 20'000;
  int requests = 60'000;  // to a server
  int watchers = 2'000;   // of it
  int latencies = 500;
  int life = 40'000;     // tasks whose whole life is counted in the server's CPU
  int pending = 50'000;  // tasks whose memory is measured
  int small_backlog = 10'000;
  int large_backlog = 1'000'000;
  int few_lanes = 1'000;
  int many_lanes = 100'000;
};
inline constexpr Scale kQuick{.rounds = 1,
                              .awaited_full = 50,
                              .awaited = 200,
                              .bulk = 2'000,
                              .drain = 1'000,
                              .requests = 1'000,
                              .watchers = 50,
                              .latencies = 40,
                              .life = 1'600,
                              .pending = 2'000,
                              .small_backlog = 1'000,
                              .large_backlog = 20'000,
                              .few_lanes = 200,
                              .many_lanes = 2'000};

struct Case {
  std::string name;
  std::function<std::vector<Figure>(Ground& ground, const Scale& scale)> measure;
};

[[nodiscard]] std::vector<Case> latency_cases();
[[nodiscard]] std::vector<Case> throughput_cases();
[[nodiscard]] std::vector<Case> redis_cost_cases();
[[nodiscard]] std::vector<Case> claim_work_cases();
[[nodiscard]] std::vector<Case> rest_cases();
[[nodiscard]] std::vector<Case> watcher_cases();
[[nodiscard]] std::vector<Case> peer_cases();

// The other process of the latency measurements: `drover_bench listen STORE`, `drover_bench serve STORE`.
[[nodiscard]] int listener_main(const std::string& store_address);
[[nodiscard]] int server_main(const std::string& store_address);

}  // namespace drover::bench
