// Other queues, each in a process of its own, in the same run.
#include <fmt/format.h>

#include <cstdlib>
#include <map>

#include "base/json.h"
#include "beanstalkd.h"
#include "bench_store.h"
#include "cases.h"

namespace drover::bench {
namespace {

namespace fs = std::filesystem;

// A peer from npm: bench/peers/peer.mjs says how its script is called and what it prints.
struct NodePeer {
  std::string name;
  std::string script;
  std::string store;
  std::string needs;  // a file without which it was not installed
};
const NodePeer kBeeQueue{"bee-queue", "bee_queue.mjs", "Redis", "node_modules/bee-queue/package.json"};
const NodePeer kBullMq{"BullMQ", "bullmq.mjs", "Redis", "node_modules/bullmq/package.json"};
const NodePeer kPlainjob{"plainjob", "plainjob.mjs", "SQLite NORMAL",
                         "node_modules/better-sqlite3/build/Release/better_sqlite3.node"};

// One phase of a peer on what the phases before have left.
class Phases {
 public:
  Phases(const Ground& ground, const NodePeer& peer, std::string address)
      : script_(ground.peers() / peer.script), address_(std::move(address)) {}

  [[nodiscard]] Rate rate(std::string_view phase, int count) const { return {number(run(phase, count), "per_s")}; }
  [[nodiscard]] Latency latency(int count) const {
    const json::Value answer = run("latency", count);
    return {.p50_ms = number(answer, "p50_ms"), .p99_ms = number(answer, "p99_ms")};
  }

 private:
  [[nodiscard]] json::Value run(std::string_view phase, int count) const {
    return must(
        json::parse(output_of({"node", script_.string(), std::string(phase), address_, std::to_string(count)})));
  }
  [[nodiscard]] static double number(const json::Value& answer, std::string_view key) {
    const json::Value* value = answer.find(key);
    if (value == nullptr || value->as_number() == nullptr) throw std::runtime_error(fmt::format("no {}", key));
    return std::strtod(value->as_number()->text.c_str(), nullptr);
  }

  fs::path script_;
  std::string address_;
};

std::vector<Figure> skip(std::string_view name, std::string_view why) {
  fmt::print(stderr, "bench: {} is left out: {}\n", name, why);
  return {};
}

std::string why_not(const Ground& ground, const NodePeer& peer) {
  if (ground.peers().empty()) return "run with ./dev bench --peers";
  if (!is_installed("node")) return "node is not installed";
  if (!fs::exists(ground.peers() / peer.needs)) return "npm could not install it here";
  return "";
}

std::vector<Figure> on_redis(Ground& ground, const Scale& scale, const NodePeer& peer) {
  if (const std::string why = why_not(ground, peer); !why.empty()) return skip(peer.name, why);
  const auto figure = [&](std::string_view name, auto value) {
    return Figure{std::string(name), peer.store, peer.name, value};
  };
  RedisLink& link = ground.empty_redis().link();
  const Phases phases(ground, peer, ground.redis().socket_path());
  std::vector<Figure> figures;
  figures.push_back(figure(kAwaited, phases.rate("enqueue", scale.awaited)));
  link.call({"FLUSHALL"});
  const RedisUsage empty = usage_of(link);
  figures.push_back(figure(kBulk, phases.rate("bulk", scale.drain)));
  const double pending_bytes = (usage_of(link) - empty).memory_bytes / scale.drain;
  static_cast<void>(phases.rate("drain", scale.drain));  // drain_beside_peers() says how fast
  const double life_us = (usage_of(link) - empty).cpu_us / scale.drain;
  link.call({"FLUSHALL"});
  figures.push_back(figure(kPickUpHere, phases.latency(scale.latencies)));
  figures.push_back(figure("server CPU, whole life", Amount{life_us, "us per task"}));
  figures.push_back(figure(kPendingBytes, Amount{pending_bytes, "bytes"}));
  return figures;
}

// One process each, in turns: what a neighbour takes from one, it takes from all. Theirs have only handlers; ours is
// measured with as many, and with nothing but the calls of three threads.
std::vector<Figure> drain_beside_peers(Ground& ground, const Scale& scale) {
  std::map<std::pair<std::string_view, std::string>, std::vector<double>> rates;
  for (int round = 0; round < scale.rounds; ++round) {
    {
      Bench bench(ground, Backend::kRedis);
      fill(bench.engine, scale.drain, 1);
      const double seconds = seconds_of([&] { drain(bench.engine, scale.drain, 100); });
      rates[{kDrainByCalls, std::string(kDrover)}].push_back(scale.drain / seconds);
    }
    {
      Bench bench(ground, Backend::kRedis);
      fill(bench.engine, scale.drain, 1);
      rates[{kDrainByHandlers, std::string(kDrover)}].push_back(worker_rate(bench, scale.drain, 100));
    }
    for (const NodePeer* peer : {&kBeeQueue, &kBullMq}) {
      if (!why_not(ground, *peer).empty()) continue;
      const Phases phases(ground, *peer, ground.empty_redis().socket_path());
      static_cast<void>(phases.rate("bulk", scale.drain));
      const double rate = phases.rate("drain", scale.drain).per_s;
      for (const std::string_view how : {kDrainByCalls, kDrainByHandlers}) rates[{how, peer->name}].push_back(rate);
    }
  }
  std::vector<Figure> figures;
  for (auto& [of, all] : rates) figures.push_back({std::string(of.first), "Redis", of.second, Rate{median(all)}});
  return figures;
}

std::vector<Figure> on_sqlite(Ground& ground, const Scale& scale, const NodePeer& peer) {
  if (const std::string why = why_not(ground, peer); !why.empty()) return skip(peer.name, why);
  const fs::path folder = ground.folder() / peer.name;
  fs::create_directories(folder);
  const Phases phases(ground, peer, (folder / "queue.db").string());
  const Rate bulk = phases.rate("bulk", scale.drain);
  const Rate drain = phases.rate("drain", scale.drain);
  const Rate awaited = phases.rate("enqueue", scale.awaited);
  fs::remove_all(folder);
  return {{std::string(kAwaited), peer.store, peer.name, awaited},
          {std::string(kBulk), peer.store, peer.name, bulk},
          {std::string(kDrainOf100), peer.store, peer.name, drain}};
}

std::vector<Figure> on_beanstalkd(Ground& ground, const Scale& scale) {
  if (ground.peers().empty()) return skip("beanstalkd", "run with ./dev bench --peers");
  if (!is_installed("beanstalkd")) return skip("beanstalkd", "it is not installed");
  const fs::path folder = ground.folder() / "beanstalkd";
  fs::remove_all(folder);
  fs::create_directories(folder);
  Beanstalkd queue(folder);
  const auto rate = [](std::string_view name, int count, const std::function<void()>& work) {
    return Figure{std::string(name), "its log, synced", "beanstalkd", Rate{count / seconds_of(work)}};
  };
  return {rate(kBulk, scale.drain, [&] { queue.insert(scale.drain, kBulkBatch); }),
          rate(kDrainOf100, scale.drain, [&] { queue.drain(scale.drain, 100); }),
          rate(kAwaited, scale.awaited_full, [&] { queue.insert(scale.awaited_full, 1); })};
}

}  // namespace

std::vector<Case> peer_cases() {
  return {{"drain beside bee-queue and BullMQ, Redis", drain_beside_peers},
          {"bee-queue", [](Ground& ground, const Scale& scale) { return on_redis(ground, scale, kBeeQueue); }},
          {"BullMQ", [](Ground& ground, const Scale& scale) { return on_redis(ground, scale, kBullMq); }},
          {"plainjob", [](Ground& ground, const Scale& scale) { return on_sqlite(ground, scale, kPlainjob); }},
          {"beanstalkd", on_beanstalkd}};
}

}  // namespace drover::bench
