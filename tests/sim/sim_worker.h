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
  // A run ended, or a call was answered.
  void wake_loop();

 protected:
  void go_to_work() override;

 private:
  [[nodiscard]] ClaimLoopOptions loop_options();
  void step_loop();
  void step_keeper();
  // A thread that makes one call at a time.
  struct Caller {
    ActorPtr thread;
    std::function<void()> call;
  };
  [[nodiscard]] MakeCall calls_of(Caller& caller);
  void add_caller(Caller& caller);

  const WorkerPlan plan_;
  WitnessQueue queue_;
  SimRuns runs_;
  LeaseKeeper keeper_;
  ClaimLoop loop_;
  ActorPtr loop_thread_;
  ActorPtr keeper_thread_;
  Caller settler_;
  Caller claimer_;
};

}  // namespace drover::sim
