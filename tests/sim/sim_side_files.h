// The lock, the bell and the ballast of the stores on one simulated disk.
#pragma once

#include "store/sqlite/side_files.h"

namespace drover::sim {

class SimProcess;
class World;

// The lock file: held by one process at a time; the kernel lets go of it when its holder dies.
class SideLock {
 public:
  [[nodiscard]] bool take(const SimProcess& process);
  void release(const SimProcess& process);
  void release_all() { holder_ = nullptr; }

 private:
  const SimProcess* holder_ = nullptr;
};

class SimSideFiles final : public SideFiles {
 public:
  SimSideFiles(World& world, SimProcess& process) : world_(world), process_(process) {}

  Status lock(Millis wait) override;
  void unlock() override;
  void ring() override;
  void wait_for_ring(Millis timeout) override;
  void stop_waiting() override {}
  Room room() override;
  bool drop_ballast() override;
  void restore_ballast() override;

 private:
  World& world_;
  SimProcess& process_;
};

}  // namespace drover::sim
