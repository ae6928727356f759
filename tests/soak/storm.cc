// soak storm: 2,000 tasks over four worker processes, one of which is killed every second.
#include "e2e/storm.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "soak/subcommand.h"

namespace drover::soak {
namespace {

void show_progress(const e2e::StormFigures& figures, int tasks) {
  constexpr int kWidth = 30;
  static const bool terminal = ::isatty(STDERR_FILENO) == 1;
  static long long last_s = 0;
  const long long now_s = figures.took.count() / 1'000;
  if (!terminal && now_s < last_s + 10) return;  // a line now and then is enough for a file
  last_s = now_s;
  const int filled = std::min(kWidth, kWidth * figures.ended / std::max(tasks, 1));
  fmt::print(stderr, "{}[{:#<{}}{:.<{}}] {}/{}, {} kills, {} leases lost, {} s{}", terminal ? "\r\x1b[K" : "", "",
             filled, "", kWidth - filled, figures.ended, tasks, figures.kills, figures.leases_lost, now_s,
             terminal ? "" : "\n");
  std::fflush(stderr);
}

int run_storm(std::span<char*> args) {
  e2e::StormPlan plan;
  plan.seed = static_cast<std::uint64_t>(number_option(args, "--seed", 1));
  plan.kills_min = static_cast<int>(number_option(args, "--kills", plan.kills_min));
  plan.tasks = static_cast<int>(number_option(args, "--tasks", plan.tasks));
  plan.tasks_at_once = plan.tasks / 2;
  plan.leases_lost_min = plan.kills_min * 5 / 3;
  plan.bound = plan.tick * plan.kills_min * 5;
  if (has_flag(args, "--mixed")) {
    plan.freeze_percent = 20;
    plan.cancel_percent = 60;
    plan.abandon_percent = 20;
  }
  const char* store = option(args, "--store");
  if (store != nullptr && std::string_view(store) != "redis" && std::string_view(store) != "sqlite") {
    fmt::print(stderr, "soak: --store is sqlite or redis, not {}\n", store);
    return 2;
  }
  if (store != nullptr && std::string_view(store) == "redis") plan.store = e2e::StormPlan::Store::kRedis;
  if (const char* level = option(args, "--appendfsync"); level != nullptr) plan.appendfsync = level;
  if (has_flag(args, "--kill-store")) {
    plan.store = e2e::StormPlan::Store::kRedis;
    plan.store_kills_min = plan.kills_min / 4;  // of the kills in all
    plan.kills_min -= plan.store_kills_min;
  }
  const e2e::StormOutcome outcome =
      e2e::run_storm(plan, [&](const e2e::StormFigures& figures) { show_progress(figures, plan.tasks); });
  if (::isatty(STDERR_FILENO) == 1) fmt::print(stderr, "\r\x1b[K");
  fmt::print("{}\n", e2e::to_string(outcome.figures));
  for (const std::string& fault : outcome.faults) fmt::print("FAULT {}\n", fault);
  if (!outcome.faults.empty()) {
    fmt::print("seed {}; store and witness: {}\n", plan.seed, outcome.folder);
    return EXIT_FAILURE;
  }
  fmt::print("every task ended, nothing was settled twice, the witness agrees, fsck is clean, no process is left\n");
  return EXIT_SUCCESS;
}

const Register registered({"storm",
                           "[--tasks N] [--kills N] [--seed S] [--mixed] [--store sqlite|redis] [--kill-store] "
                           "[--appendfsync always|everysec]  kills a worker process every second; mixed: freezes, "
                           "cancels and killed clients too; kill-store: Redis every three seconds",
                           run_storm});

}  // namespace
}  // namespace drover::soak
