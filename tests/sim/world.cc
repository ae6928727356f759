#include "sim/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "hooks/test_hooks.h"
#include "sim/quiet_side_files.h"
#include "sim/sim_server.h"
#include "sim/sim_worker.h"
#include "sim/users.h"
#include "store/redis/redis_store.h"

namespace drover::sim {
namespace {

using namespace std::chrono_literals;

enum Part : std::uint64_t { kScheduling = 201, kDisk, kChance, kStoreFaultDraws };

constexpr Millis kCalm{15'000};  // after so long without a mishap everything must be as if there had been none
constexpr std::uint64_t kScanEvery = 100;
constexpr std::uint64_t kFsckEvery = 400;

// A process may be frozen between its decision and its commit, and the clock may be set meanwhile.
Millis decision_slack(const Plan& plan) {
  Millis slack{120'000};
  for (const Fault& fault : plan.faults) slack += std::chrono::abs(fault.jump);
  return slack;
}

}  // namespace

World::World(const Plan& plan, const SimOptions& options)
    : plan_(plan),
      options_(options),
      redis_prefix_(options.redis == nullptr ? "" : test::fresh_prefix()),
      scheduler_(clock_, derive_seed(plan.seed, kScheduling)),
      checker_(trace_, decision_slack(plan), plan),
      disk_rng_(derive_seed(plan.seed, kDisk)),
      world_rng_(derive_seed(plan.seed, kChance)),
      store_faults_(scheduler_, clock_, derive_seed(plan.seed, kStoreFaultDraws)),
      fleet_(static_cast<std::size_t>(slots())),
      incarnations_(static_cast<std::size_t>(slots())),
      restarts_(static_cast<std::size_t>(slots())) {
  seed_sqlite(plan.seed);
  clock_.set_wall_offset(plan.wall_at_start);
  wall_offset_max_ = plan.wall_at_start;
  configure_log(LogLevel::kOff, LogFormat::kText);
  if (options.echo) trace_.echo();
  disk_.set_hook([this](DiskOp op, const std::string& /*name*/) { return on_disk_operation(op); });
  set_failpoint_handler([this](std::string_view name) { on_failpoint(name); });
  scheduler_.set_after_step([this] { return after_step(); });
}

World::~World() {
  set_failpoint_handler(nullptr);
  fleet_.clear();
  observer_.reset();
  if (options_.redis != nullptr) options_.redis->run(redis::Command("FLUSHALL"));
}

Outcome World::run() {
  open_observer();
  apply_config();
  boot_fleet();
  users_ = std::make_unique<Users>(*this);
  schedule_faults();
  scheduler_.run_until(plan_.lasts);
  if (!checker_.wrong()) heal();
  Outcome outcome;
  outcome.healed_after = clock_.now() - plan_.lasts;
  if (!checker_.wrong()) {
    checker_.scan(*observer_);
    checker_.fsck(*observer_);
    checker_.final_check(*observer_);
  }
  outcome.wrong = checker_.wrong();
  outcome.trace_hash = trace_.hash();
  outcome.tail = trace_.tail();
  outcome.counts = checker_.counts();
  outcome.tasks = checker_.tasks();
  outcome.steps = scheduler_.steps();
  return outcome;
}

// --- the store from outside

void World::open_observer() {
  observer_.reset();
  auto opened = options_.redis != nullptr ? open_redis_store() : open_sqlite_observer();
  if (!opened) return checker_.report("store", fmt::format("does not open: {}", to_string(opened.error())));
  observer_ = *std::move(opened);
}

Result<std::unique_ptr<Store>> World::open_sqlite_observer() {
  observer_vfs_ = std::make_unique<PowerVfs>(disk_);
  SqliteOptions options;
  options.path = "drover.db";
  options.clock = &clock_;
  options.vfs = observer_vfs_->name();
  options.ballast_bytes = 0;
  // It never writes once the schema is there, and it must not wait for anybody.
  options.side_files = std::make_unique<QuietSideFiles>();
  return open_sqlite(std::move(options));
}

void World::apply_config() {
  if (plan_.config == "{}" || observer_ == nullptr) return;
  const auto applied = observer_->put_config(plan_.config, 0, {}, {}, {});
  if (!applied || !*applied) checker_.report("store", "the configuration was not taken");
}

void World::observe() {
  if (checker_.wrong() || observing_ || (syncs_ == syncs_observed_ && !observer_is_dead())) return;
  syncs_observed_ = syncs_;
  observing_ = true;
  look();
  observing_ = false;
}

void World::check_claims_of(const std::string& worker) {
  if (!checker_.wrong() && !observer_is_dead()) checker_.check_claims_of(*observer_, worker);
}

void World::look() {
  const bool rebooted = observer_is_dead();
  if (rebooted) open_observer();
  if (!checker_.wrong()) checker_.observe(*observer_, clock_.now(), clock_.wall());
  ++observations_;
  // Nothing that anybody could have seen may be missing after a power cut.
  if (!checker_.wrong() && (rebooted || observations_ % kScanEvery == 0)) checker_.scan(*observer_);
  if (!checker_.wrong() && observations_ % kFsckEvery == 0) checker_.fsck(*observer_);
}

bool World::after_step() {
  observe();
  if (clock_.now() >= next_deadline_check_) check_deadlines();
  return !checker_.wrong();
}

void World::check_deadlines() {
  next_deadline_check_ = clock_.now() + Millis{1'000};
  if (clock_.now() < disturbed_until_ + kCalm) return;
  const auto deadline = checker_.next_deadline();
  if (deadline && clock_.wall() > *deadline + kCalm)
    checker_.report("T8 deadline", fmt::format("a task outlives its deadline:{}", checker_.describe_unfinished()));
}

void World::interleave() {
  if (!chance(world_rng_, plan_.interleave_percent)) return;
  scheduler_.run_others(chance(world_rng_, 10) ? between(world_rng_, 1ms, 2s) : between(world_rng_, 0ms, 30ms));
}

// --- the fleet

std::shared_ptr<SimProcess> World::make_process(int slot) {
  const int incarnation = ++incarnations_[static_cast<std::size_t>(slot)];
  if (slot < plan_.servers) return std::make_shared<SimServer>(*this, slot, fmt::format("s{}.{}", slot, incarnation));
  const int worker = slot - plan_.servers;
  return std::make_shared<SimWorker>(*this, slot, fmt::format("w{}.{}", worker, incarnation),
                                     plan_.workers[static_cast<std::size_t>(worker)]);
}

void World::boot_fleet() {
  for (int slot = 0; slot < slots(); ++slot) {
    restarts_[static_cast<std::size_t>(slot)] = scheduler_.add([this, slot] { boot(slot); });
    boot(slot);
  }
}

void World::boot(int slot) {
  std::shared_ptr<SimProcess>& process = fleet_[static_cast<std::size_t>(slot)];
  if (process != nullptr && !process->dead()) return;
  process = make_process(slot);
  const std::shared_ptr<SimProcess> keep = process;  // it may die and be replaced while it boots
  const Status booted = keep->boot();
  trace("{} boots: {}", keep->name(), booted ? "ok" : to_string(booted.error()));
  if (booted) return;
  keep->kill();
  restart_later(slot, 1s);
}

void World::restart_later(int slot, Millis downtime) {
  scheduler_.wake(restarts_[static_cast<std::size_t>(slot)], clock_.now() + downtime);
}

std::shared_ptr<SimProcess> World::server(int n) {
  for (int i = 0; i < plan_.servers; ++i) {
    const auto& process = fleet_[static_cast<std::size_t>((n + i) % plan_.servers)];
    if (process != nullptr && !process->dead() && !process->frozen()) return process;
  }
  return nullptr;
}

void World::leave(SimProcess& process) {
  CHECK(!inside_.empty() && inside_.back() == &process);
  inside_.pop_back();
}

TaskPlan World::draw_child(const Task& spawner) {
  TaskPlan child;
  child.number = kFirstChild + ++children_;
  child.spec.type = spawner.type;
  child.spec.owner = spawner.owner;
  child.spec.payload = fmt::format(R"({{"n":{}}})", child.number);
  child.spec.max_attempts = 2;
  child.spec.max_stalls = 2;
  child.spec.max_defers = 1;
  child.spec.timeout = 20s;
  checker_.expect_task(child);
  return child;
}

// --- what the stores need

Result<std::unique_ptr<Store>> World::open_store(SimProcess& process) {
  return options_.redis != nullptr ? open_redis_store() : open_sqlite(sqlite_options(process));
}

Result<std::unique_ptr<Store>> World::open_redis_store() {
  RedisOptions options;
  options.address = options_.redis->address(redis_prefix_);
  options.test_clock = &clock_;
  return open_redis(std::move(options));
}

void World::written(Store& store, std::uint64_t& seen_changes) {
  if (options_.redis == nullptr) return;
  ++syncs_;
  const std::uint64_t changes = store.changes();
  if (std::exchange(seen_changes, changes) != changes) ring();
}

SqliteOptions World::sqlite_options(SimProcess& process) {
  SqliteOptions options;
  options.path = "drover.db";
  options.clock = &clock_;
  options.synchronous = options_.synchronous;
  options.ballast_bytes = kBallastBytes;
  options.checkpoint_wal_bytes = 128 * 1024;
  options.vfs = process.vfs().name();
  options.side_files = std::make_unique<SimSideFiles>(*this, process);
  options.on_sync_failure = [&process](const std::string& /*what*/) { process.kill(); };
  return options;
}

void World::ring() {
  ++changes_;
  for (const auto& process : fleet_) {
    if (process != nullptr && !process->dead() && chance(world_rng_, 60)) process->hear_bell();
  }
}

Millis World::bell_delay() {
  return between(world_rng_, 1ms, 40ms);
}

SideFiles::Room World::room() const {
  if (!capacity_bytes_) return {INT64_MAX / 4, ballast_bytes_};
  const auto used = static_cast<std::int64_t>(disk_.used_bytes());
  return {std::max<std::int64_t>(0, *capacity_bytes_ - used - ballast_bytes_), ballast_bytes_};
}

bool World::drop_ballast() {
  if (ballast_bytes_ == 0) return false;
  ballast_bytes_ = 0;
  if (capacity_bytes_) disk_.set_capacity_bytes(static_cast<std::size_t>(*capacity_bytes_));
  trace("the ballast is dropped");
  return true;
}

void World::restore_ballast() {
  if (ballast_bytes_ == 0) trace("the ballast is back");
  ballast_bytes_ = kBallastBytes;
  if (capacity_bytes_)
    disk_.set_capacity_bytes(static_cast<std::size_t>(std::max<std::int64_t>(0, *capacity_bytes_ - ballast_bytes_)));
}

}  // namespace drover::sim
