// The simulated machine: its clock, its disk, its processes, its users and its mishaps, on one thread in virtual time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/checker.h"
#include "sim/plan.h"
#include "sim/power_disk.h"
#include "sim/power_vfs.h"
#include "sim/scheduler.h"
#include "sim/sim_clock.h"
#include "sim/sim_process.h"
#include "sim/sim_side_files.h"
#include "sim/store_faults.h"
#include "sim/trace.h"
#include "store/sqlite/sqlite_store.h"
#include "support/redis_server.h"

namespace drover::sim {

class Users;

struct SimOptions {
  SqliteOptions::Synchronous synchronous = SqliteOptions::Synchronous::kFull;
  bool echo = false;  // every trace line to stderr
  // A Redis instead of SQLite on the simulated disk. Each world has keys of its own there, which go with it.
  const test::RedisServer* redis = nullptr;
};

struct Outcome {
  std::optional<Wrong> wrong;
  std::uint64_t trace_hash = 0;
  std::string tail;  // the last lines of the trace
  Checker::Counts counts;
  int tasks = 0;
  Millis healed_after{0};  // how long after the faults ended the last task did
  std::uint64_t steps = 0;
};

class World {
 public:
  static constexpr int kFirstChild = 1'000'000;

  World(const Plan& plan, const SimOptions& options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] Outcome run();

  // --- for the parts
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] SimClock& clock() { return clock_; }
  [[nodiscard]] Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] PowerDisk& disk() { return disk_; }
  [[nodiscard]] Checker& checker() { return checker_; }
  [[nodiscard]] StoreFaults& store_faults() { return store_faults_; }
  [[nodiscard]] SideLock& side_lock() { return side_lock_; }
  template <class... Args>
  void trace(fmt::format_string<Args...> format, Args&&... args) {
    trace_.add(clock_.now(), format, std::forward<Args>(args)...);
  }
  // The checker looks at what is committed.
  void observe();
  // That a worker which asked again for a claim knows what it holds.
  void check_claims_of(const std::string& worker);
  // Now and then lets others have a turn in the middle of a step.
  void interleave();
  [[nodiscard]] bool healing() const { return healing_; }
  // The n-th server, or the next one that is up; null if none is.
  [[nodiscard]] std::shared_ptr<SimProcess> server(int n);
  [[nodiscard]] Users& users() { return *users_; }
  [[nodiscard]] bool may_spawn() const { return children_ < 40; }
  [[nodiscard]] TaskPlan draw_child(const Task& spawner);

  // Which process has the thread just now: what happens at a failpoint or on the disk happens to it.
  class Running {
   public:
    Running(World& world, SimProcess& process) : world_(world), process_(process) { world_.enter(process_); }
    ~Running() { world_.leave(process_); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    World& world_;
    SimProcess& process_;
  };
  void enter(SimProcess& process) { inside_.push_back(&process); }
  void leave(SimProcess& process);

  // --- for the stores
  [[nodiscard]] Result<std::unique_ptr<Store>> open_store(SimProcess& process);
  // After a call that may have written: Redis rings no bell of ours.
  void written(Store& store, std::uint64_t& seen_changes);
  void ring();
  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  [[nodiscard]] Millis bell_delay();
  [[nodiscard]] SideFiles::Room room() const;
  [[nodiscard]] bool drop_ballast();
  void restore_ballast();

 private:
  static constexpr std::int64_t kBallastBytes = 256 * 1024;

  struct Armed {
    Fault fault;
    int left;
    Millis until;
  };

  [[nodiscard]] SqliteOptions sqlite_options(SimProcess& process);
  [[nodiscard]] Result<std::unique_ptr<Store>> open_redis_store();
  [[nodiscard]] Result<std::unique_ptr<Store>> open_sqlite_observer();
  [[nodiscard]] bool observer_is_dead() const { return observer_vfs_ != nullptr && observer_vfs_->dead(); }
  void open_observer();
  void look();
  void apply_config();
  void boot_fleet();
  void boot(int slot);
  [[nodiscard]] std::shared_ptr<SimProcess> make_process(int slot);
  [[nodiscard]] int slots() const { return plan_.servers + static_cast<int>(plan_.workers.size()); }
  void restart_later(int slot, Millis downtime);

  void schedule_faults();
  void strike(const Fault& fault);
  void kill(int slot, Millis downtime);
  void freeze(const Fault& fault);
  void cut_power(Millis downtime);
  void fill_disk(Millis lasts);
  void drain(const Fault& fault);
  void arm(const Fault& fault);
  [[nodiscard]] int on_disk_operation(DiskOp op);
  void on_failpoint(std::string_view name);
  [[nodiscard]] bool hits(Armed& armed);

  [[nodiscard]] bool after_step();
  void check_deadlines();
  void heal();
  void wait_for_rest();
  void disturbed(Millis until) { disturbed_until_ = std::max(disturbed_until_, until); }

  const Plan& plan_;
  const SimOptions options_;
  const std::string redis_prefix_;
  Trace trace_;
  SimClock clock_;
  Scheduler scheduler_;
  PowerDisk disk_;
  Checker checker_;
  SeededRng disk_rng_;
  SeededRng world_rng_;
  StoreFaults store_faults_;
  SideLock side_lock_;
  std::vector<std::shared_ptr<SimProcess>> fleet_;  // null while down
  std::vector<int> incarnations_;
  std::vector<ActorPtr> restarts_;
  std::vector<ActorPtr> fault_actors_;
  std::unique_ptr<Users> users_;
  std::vector<SimProcess*> inside_;
  std::vector<Armed> armed_;

  std::unique_ptr<PowerVfs> observer_vfs_;
  std::unique_ptr<Store> observer_;
  bool observing_ = false;
  std::uint64_t syncs_ = 0;
  std::uint64_t syncs_observed_ = 0;
  std::uint64_t changes_ = 0;
  std::uint64_t observations_ = 0;

  std::int64_t ballast_bytes_ = kBallastBytes;
  std::optional<std::int64_t> capacity_bytes_;
  Millis disturbed_until_{0};
  Millis next_deadline_check_{0};
  Millis wall_offset_max_{0};
  int children_ = 0;
  bool healing_ = false;
};

}  // namespace drover::sim
