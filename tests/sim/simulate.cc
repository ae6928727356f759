#include "sim/simulate.h"

#include <fmt/format.h>

#include <algorithm>

namespace drover::sim {
namespace {

// Leaves out halves, then quarters, and so on, of what `items` names, as long as the same promise stays broken.
template <class T>
void leave_out(Plan& plan, std::vector<T> Plan::* items, const Wrong& wrong, int& runs, const SimOptions& options) {
  for (std::size_t chunk = std::max<std::size_t>((plan.*items).size() / 2, 1); !(plan.*items).empty(); chunk /= 2) {
    for (std::size_t at = 0; at < (plan.*items).size();) {
      if (runs <= 0) return;
      Plan smaller = plan;
      auto& left = smaller.*items;
      const auto first = left.begin() + static_cast<std::ptrdiff_t>(at);
      left.erase(first, first + static_cast<std::ptrdiff_t>(std::min(chunk, left.size() - at)));
      --runs;
      const Outcome outcome = simulate(smaller, options);
      if (outcome.wrong && outcome.wrong->check == wrong.check) {
        plan = std::move(smaller);
      } else {
        at += chunk;
      }
    }
    if (chunk == 1) return;
  }
}

}  // namespace

Outcome simulate(const Plan& plan, const SimOptions& options) {
  return World(plan, options).run();
}

Outcome simulate_twice(const Plan& plan, const SimOptions& options) {
  Outcome first = simulate(plan, options);
  const Outcome second = simulate(plan, options);
  if (first.trace_hash != second.trace_hash && !first.wrong)
    first.wrong = Wrong{"determinism", fmt::format("two runs of one seed differ: {:016x} and {:016x}", first.trace_hash,
                                                   second.trace_hash)};
  return first;
}

Plan shrink(Plan plan, const Wrong& wrong, int runs, const SimOptions& options) {
  leave_out(plan, &Plan::faults, wrong, runs, options);
  leave_out(plan, &Plan::operations, wrong, runs, options);
  return plan;
}

std::string describe(const Plan& plan) {
  std::string text = fmt::format("{} servers, {} workers, {} operations, interleaving {} %\n", plan.servers,
                                 plan.workers.size(), plan.operations.size(), plan.interleave_percent);
  for (const Fault& fault : plan.faults) {
    text += fmt::format("  {:>9.3f} {} victim {} count {} lasts {} ms jump {} ms percent {}\n",
                        static_cast<double>(fault.at.count()) / 1000, name_of(fault.kind), fault.victim, fault.count,
                        fault.lasts.count(), fault.jump.count(), fault.percent);
  }
  return text;
}

std::string explain(const Plan& plan, const Outcome& outcome) {
  if (!outcome.wrong) return fmt::format("seed {}: all promises kept\n", plan.seed);
  return fmt::format("seed {} breaks {}: {}\nto see it again: soak sim --seed {} --echo\n{}the last lines:\n{}",
                     plan.seed, outcome.wrong->check, outcome.wrong->what, plan.seed, describe(plan), outcome.tail);
}

}  // namespace drover::sim
