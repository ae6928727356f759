// A simulated worker process: the real claim loop and lease keeper, over agents in virtual time.
#pragma once

#include <functional>

#include "sim/sim_process.h"
#include "sim/sim_runs.h"
#include "sim/witness_queue.h"
#include "worker/claim_loop.h"
#include "worker/lease_keeper.h"

namespace drover::sim {

class SimWorker final : public SimProcess {
 public:
  SimWorker(World& world, int slot, std::string name, const WorkerPlan& plan);

  void kill() override;
  void hear_bell() override;
  // SIGTERM.
  void drain();
  [[nodiscard]] SimRuns& runs() { return runs_; }
  [[nodiscard]] WitnessQueue& queue() { return queue_; }
  [[nodiscard]] Millis lease() const { return plan_.lease; }
  // A run ended, or a settlement was answered.
  void wake_loop();

 protected:
  void go_to_work() override;

 private:
  [[nodiscard]] ClaimLoopOptions loop_options();
  void step_loop();
  void step_keeper();
  void step_settler();

  const WorkerPlan plan_;
  WitnessQueue queue_;
  SimRuns runs_;
  LeaseKeeper keeper_;
  ClaimLoop loop_;
  ActorPtr loop_thread_;
  ActorPtr keeper_thread_;
  ActorPtr settler_thread_;
  std::function<void()> settlement_;  // that the settler is to make
};

}  // namespace drover::sim
