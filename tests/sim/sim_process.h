// A simulated process of the fleet: its own connection to the one database, behind its own faults.
#pragma once

#include <memory>
#include <string>

#include "base/rng.h"
#include "engine/engine.h"
#include "sim/power_vfs.h"
#include "sim/scheduler.h"
#include "sim/sim_store.h"
#include "store/store.h"

namespace drover::sim {

class World;

class SimProcess : public StoreGate, public std::enable_shared_from_this<SimProcess> {
 public:
  // `slot` is its place in the fleet, `name` names this incarnation.
  SimProcess(World& world, int slot, std::string name);
  ~SimProcess() override;
  SimProcess(const SimProcess&) = delete;
  SimProcess& operator=(const SimProcess&) = delete;

  // Opens the store and goes to work.
  [[nodiscard]] Status boot();
  // As kill -9 does. What it is in the middle of has no effect from here on.
  virtual void kill();
  void freeze_until(Millis thaw) { state_->frozen_until = thaw; }
  // From inside one of its own calls of the store: everybody else goes on, it holds what it holds.
  void freeze_inside(Millis how_long);

  [[nodiscard]] bool dead() const { return state_->dead; }
  [[nodiscard]] bool frozen() const;
  [[nodiscard]] Millis frozen_until() const { return state_->frozen_until; }
  [[nodiscard]] int slot() const { return slot_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Engine& engine() { return engine_; }
  [[nodiscard]] PowerVfs& vfs() { return vfs_; }
  // Something was committed by somebody.
  virtual void hear_bell() {}

  Status before_call() override;
  Status after_call(StoreCall call) override;
  std::uint64_t changes_seen() override;

 protected:
  virtual void go_to_work() = 0;
  [[nodiscard]] ActorPtr add_thread(std::function<void()> step);

  World& world_;

 private:
  const int slot_;
  const std::string name_;
  std::shared_ptr<ProcessState> state_ = std::make_shared<ProcessState>();
  PowerVfs vfs_;
  SeededRng rng_;
  SimStore store_;
  std::unique_ptr<Store> opened_;
  std::uint64_t redis_changes_ = 0;  // of its store, when last looked
  Engine engine_;
};

}  // namespace drover::sim
