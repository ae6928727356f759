// soak sim: simulations for as long as it is told; a failing seed is made smaller and shown.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "sim/simulate.h"
#include "soak/subcommand.h"

namespace drover::soak {
namespace {

constexpr int kShrinkRuns = 200;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void show_failure(const sim::Plan& plan, const sim::Outcome& outcome, const sim::SimOptions& options) {
  fmt::print("{}\n", sim::explain(plan, outcome));
  if (outcome.wrong->check == "determinism") return;
  fmt::print("making it smaller ...\n");
  std::fflush(stdout);
  const sim::Plan smaller = sim::shrink(plan, *outcome.wrong, kShrinkRuns, options);
  const sim::Outcome again = sim::simulate(smaller, options);
  fmt::print("{} operations and {} faults are enough:\n{}\n", smaller.operations.size(), smaller.faults.size(),
             sim::explain(smaller, again));
}

int run_sim(std::span<char*> args) {
  sim::SimOptions options;
  options.echo = has_flag(args, "--echo");
  const long long only = number_option(args, "--seed", -1);
  const long long first = only >= 0 ? only : number_option(args, "--first", 0);
  const long long seeds = only >= 0 ? 1 : number_option(args, "--seeds", 2'000);
  const auto limit_s = static_cast<double>(number_option(args, "--seconds", 1'000'000));
  const bool once = has_flag(args, "--once") || options.echo;
  const bool keep_going = has_flag(args, "--keep-going");
  const char* store = option(args, "--store");
  std::optional<test::RedisServer> redis;
  if (store != nullptr && std::string_view(store) == "redis") options.redis = &redis.emplace();

  const auto start = std::chrono::steady_clock::now();
  sim::Checker::Counts sum;
  long long done = 0;
  int failed = 0;
  for (; done < seeds && seconds_since(start) < limit_s; ++done) {
    const auto seed = static_cast<std::uint64_t>(first + done);
    const sim::Plan plan = redis ? sim::make_redis_plan(seed) : sim::make_plan(seed);
    const sim::Outcome outcome = once ? sim::simulate(plan, options) : sim::simulate_twice(plan, options);
    sum.starts += outcome.counts.starts;
    sum.stalls += outcome.counts.stalls;
    sum.events += outcome.counts.events;
    if (!outcome.wrong) continue;
    ++failed;
    if (keep_going) {
      fmt::print("seed {} breaks {}: {}\n", plan.seed, outcome.wrong->check, outcome.wrong->what);
      std::fflush(stdout);
      continue;
    }
    if (!options.echo) show_failure(plan, outcome, options);
    return EXIT_FAILURE;
  }
  fmt::print("{} seeds in {:.1f} s: {} events, {} starts, {} leases lost, {} seeds broke a promise\n", done,
             seconds_since(start), sum.events, sum.starts, sum.stalls, failed);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

const Register registered(
    {"sim",
     "[--seeds N] [--first N] [--seconds S] [--seed N [--echo]] [--once] [--keep-going] [--store redis]  "
     "simulations, each twice",
     run_sim});

}  // namespace
}  // namespace drover::soak
