// soak budgets: 1,000 runs over 32 slots under the budget of their owner, without kills and with 200.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "e2e/budget_storm.h"
#include "soak/subcommand.h"

namespace drover::soak {
namespace {

int run_budgets(std::span<char*> args) {
  using Store = e2e::BudgetStormPlan::Store;
  const char* only = option(args, "--store");
  int worst = EXIT_SUCCESS;
  for (const Store store : {Store::kSqlite, Store::kRedis}) {
    const std::string_view name = store == Store::kRedis ? "redis" : "sqlite";
    if (only != nullptr && name != only) continue;
    for (const int kills : {0, static_cast<int>(number_option(args, "--kills", 200))}) {
      const e2e::BudgetStormOutcome outcome =
          e2e::run_budget_storm({.store = store,
                                 .seed = static_cast<std::uint64_t>(number_option(args, "--seed", 1)),
                                 .tasks = static_cast<int>(number_option(args, "--tasks", 1'000)),
                                 .kills = kills});
      fmt::print("{}: {}\n", name, e2e::to_string(outcome));
      for (const std::string& fault : outcome.faults) fmt::print("FAULT {}\n", fault);
      std::fflush(stdout);
      if (!outcome.faults.empty()) worst = EXIT_FAILURE;
    }
  }
  if (worst == EXIT_SUCCESS) fmt::print("the budget held, the bill is the ledger, nothing is set aside at rest\n");
  return worst;
}

const Register registered(
    {"budgets",
     "[--tasks N] [--kills N] [--seed S] [--store sqlite|redis]  programs that say what they use, "
     "under the budget of their owner, first unharmed, then with workers killed",
     run_budgets});

}  // namespace
}  // namespace drover::soak
