// soak differential: SQLite and Redis side by side under long random operations.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "differential/differential.h"
#include "differential/stores.h"
#include "soak/subcommand.h"

namespace drover::soak {
namespace {

int run_differential(std::span<char*> args) {
  const auto first = static_cast<std::uint64_t>(number_option(args, "--first", 1));
  const auto seeds = static_cast<std::uint64_t>(number_option(args, "--seeds", 40));
  const int operations = static_cast<int>(number_option(args, "--operations", 5'000));
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const auto difference = test::find_difference(test::open_memory, test::open_on_redis, seed, operations);
    if (difference) {
      fmt::print("\nseed {}, operation {}: {}\n", seed, difference->operation, difference->what);
      return EXIT_FAILURE;
    }
    fmt::print("\r{} operations agree", (seed - first + 1) * static_cast<std::uint64_t>(operations));
    std::fflush(stdout);
  }
  fmt::print("\n");
  return EXIT_SUCCESS;
}

const Register registered({"differential",
                           "[--seeds N] [--first N] [--operations N]  the same random operations on SQLite and Redis",
                           run_differential});

}  // namespace
}  // namespace drover::soak
