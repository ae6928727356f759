#include "sim/witness_queue.h"

#include <utility>

#include "sim/sim_worker.h"
#include "sim/world.h"

namespace drover::sim {

Result<std::vector<ClaimedTask>> WitnessQueue::claim(const ClaimRequest& plain) {
  ClaimRequest request = plain;
  request.claim_key = keys_.take(request.worker_id);
  const Millis asked_at = world_.clock().now();
  auto claimed = inner_.claim(request);
  keys_.answered(request.worker_id, *request.claim_key, claimed);
  const bool is_repeat = std::exchange(answer_was_lost_, !claimed);
  if (!claimed || worker_.dead()) return claimed;
  world_.observe();
  for (const ClaimedTask& task : *claimed) world_.checker().vouched(task.lease, asked_at, request.lease);
  if (is_repeat) world_.check_claims_of(request.worker_id);
  return claimed;
}

Result<Beat> WitnessQueue::renew(const std::string& worker_id, std::span<const Lease> leases, Millis lease) {
  const Millis asked_at = world_.clock().now();
  auto beat = inner_.renew(worker_id, leases, lease);
  if (!beat || worker_.dead()) return beat;
  for (std::size_t i = 0; i < leases.size(); ++i) {
    if (beat->leases[i] != LeaseState::kLost) world_.checker().vouched(leases[i], asked_at, lease);
  }
  return beat;
}

std::vector<Result<Settled>> WitnessQueue::settle(std::span<const Settlement> items) {
  const auto deliver = [&] {
    auto answers = inner_.settle(items);
    world_.observe();
    for (std::size_t i = 0; i < items.size() && !worker_.dead(); ++i) {
      const AgentRun* run = worker_.runs().find_run(items[i].lease);
      if (run == nullptr) {
        world_.trace("{} gives back what it never started", worker_.name());
        continue;
      }
      world_.trace("{} settles {} run {}: {}", worker_.name(), run->number, run->run,
                   answers[i] ? std::string(name_of(answers[i]->state)) : to_string(answers[i].error()));
      world_.checker().settled(*run, items[i], answers[i]);
    }
    return answers;
  };
  auto answers = deliver();
  if (!worker_.dead() && world_.store_faults().settles_twice()) {
    const auto again = deliver();
    // A lost first answer is made up for by the second, as far as the worker can tell.
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!answers[i]) answers[i] = again[i];
    }
  }
  return answers;
}

}  // namespace drover::sim
