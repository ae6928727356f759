// A simulated server process: the sweepers, and an engine for whoever calls.
#pragma once

#include "engine/sweepers.h"
#include "sim/sim_process.h"

namespace drover::sim {

class SimServer final : public SimProcess {
 public:
  SimServer(World& world, int slot, std::string name) : SimProcess(world, slot, std::move(name)), sweepers_(engine()) {}

  void hear_bell() override;

 protected:
  void go_to_work() override;

 private:
  void sweep();

  Sweepers sweepers_;
  ActorPtr sweeper_thread_;
};

}  // namespace drover::sim
