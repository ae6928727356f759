// soak clock: the clock of the store's machine is set back and forth under load.
#include <fmt/format.h>

#include <cstdlib>

#include "e2e/clock_storm.h"
#include "soak/subcommand.h"

namespace drover::soak {
namespace {

int run_clock(std::span<char*> args) {
  const auto rounds = number_option(args, "--rounds", 5);
  int worst = EXIT_SUCCESS;
  for (const auto store : {e2e::ClockStormPlan::Store::kSqlite, e2e::ClockStormPlan::Store::kRedis}) {
    e2e::ClockStormPlan plan{.store = store};
    for (int round = 0; round < rounds; ++round) {
      for (const Millis ahead : e2e::all_clock_steps()) plan.ahead.push_back(ahead);
    }
    plan.tasks = static_cast<int>(100 * rounds);
    plan.bound = Millis{120'000} * rounds;
    const e2e::ClockStormOutcome outcome = e2e::run_clock_storm(plan);
    fmt::print("{}: {}\n", store == e2e::ClockStormPlan::Store::kRedis ? "redis" : "sqlite", e2e::to_string(outcome));
    for (const std::string& fault : outcome.faults) fmt::print("FAULT {}\n", fault);
    if (!outcome.faults.empty()) worst = EXIT_FAILURE;
  }
  if (worst == EXIT_SUCCESS) fmt::print("every task ran once, no lease was lost, nothing that had ended is gone\n");
  return worst;
}

const Register registered(
    {"clock", "[--rounds N]  sets the clock of the store's machine by a second to ten years while tasks run",
     run_clock});

}  // namespace
}  // namespace drover::soak
