// What a worker says to the engine, with the checker listening; may deliver a settlement twice. Claims have keys, as
// those over a server have.
#pragma once

#include "base/rng.h"
#include "remote/claim_keys.h"
#include "support/forwarding_queue.h"

namespace drover::sim {

class SimWorker;
class World;

class WitnessQueue final : public test::ForwardingQueue {
 public:
  WitnessQueue(World& world, SimWorker& worker, TaskQueue& engine)
      : ForwardingQueue(engine), world_(world), worker_(worker) {}

  Result<std::vector<ClaimedTask>> claim(const ClaimRequest& plain) override;
  Result<Beat> renew(const std::string& worker_id, std::span<const Lease> leases, Millis lease) override;
  std::vector<Result<Settled>> settle(std::span<const Settlement> items) override;

 private:
  World& world_;
  SimWorker& worker_;
  SeededRng key_rng_{1};
  remote::ClaimKeys keys_{key_rng_};
  bool answer_was_lost_ = false;  // of its last claim
};

}  // namespace drover::sim
