// soak bugs: every planted bug must be found, or the simulator is not worth its time.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "sim/bug_hunt.h"
#include "soak/subcommand.h"

namespace drover::soak {
namespace {

int run_bugs(std::span<char*> args) {
  const auto first = static_cast<std::uint64_t>(number_option(args, "--first", 0));
  const int seeds_max = static_cast<int>(number_option(args, "--seeds", 1'000));
  const char* only = option(args, "--bug");
  int missed = 0;
  fmt::print("{:<28} {:<22} {:>6} {:>6} {:>8}\n", "planted bug", "found by", "seed", "seeds", "seconds");
  for (int i = 1; i <= kPlantedBugCount; ++i) {
    const auto bug = static_cast<PlantedBug>(i);
    if (only != nullptr && name_of(bug) != only) continue;
    const auto start = std::chrono::steady_clock::now();
    const sim::BugHunt hunt = sim::hunt(bug, first, seeds_max);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    fmt::print("{:<28} {:<22} {:>6} {:>6} {:>8.1f}\n", name_of(bug), hunt.found ? hunt.found->check : "MISSED",
               hunt.seed, hunt.seeds, seconds);
    std::fflush(stdout);
    missed += hunt.found ? 0 : 1;
  }
  if (missed > 0) fmt::print("{} planted bugs were not found\n", missed);
  return missed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

const Register registered({"bugs",
                           "[--seeds N] [--first N] [--bug NAME]  plants each bug and looks for a seed that shows it",
                           run_bugs});

}  // namespace
}  // namespace drover::soak
