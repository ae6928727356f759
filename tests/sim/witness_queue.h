// What a worker says to the engine, with the checker listening; may deliver a settlement twice.
#pragma once

#include "support/forwarding_queue.h"

namespace drover::sim {

class SimWorker;
class World;

class WitnessQueue final : public test::ForwardingQueue {
 public:
  WitnessQueue(World& world, SimWorker& worker, TaskQueue& engine)
      : ForwardingQueue(engine), world_(world), worker_(worker) {}

  Result<std::vector<ClaimedTask>> claim(const ClaimRequest& request) override;
  Result<Beat> renew(const std::string& worker_id, std::span<const Lease> leases, Millis lease) override;
  std::vector<Result<TaskState>> settle(std::span<const Settlement> items) override;

 private:
  World& world_;
  SimWorker& worker_;
};

}  // namespace drover::sim
