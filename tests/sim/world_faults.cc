// The mishaps of a simulated world.
#include <fmt/format.h>

#include <algorithm>

#include "sim/sim_worker.h"
#include "sim/users.h"
#include "sim/world.h"

namespace drover::sim {
namespace {

using namespace std::chrono_literals;

constexpr Millis kArmedFor{60'000};
constexpr Millis kHealMax{1'800'000};

bool at_failpoint(Fault::Kind kind) {
  return kind == Fault::Kind::kKillAtFailpoint || kind == Fault::Kind::kFreezeAtFailpoint;
}

}  // namespace

void World::schedule_faults() {
  for (const Fault& fault : plan_.faults) {
    const ActorPtr actor = scheduler_.add([this, &fault] {
      if (!healing_) strike(fault);
    });
    fault_actors_.push_back(actor);
    scheduler_.wake(actor, fault.at);
  }
}

void World::strike(const Fault& fault) {
  trace("fault: {} (victim {}, count {}, lasts {} ms)", name_of(fault.kind), fault.victim, fault.count,
        fault.lasts.count());
  disturbed(clock_.now() + fault.lasts);
  using enum Fault::Kind;
  switch (fault.kind) {
    case kKill:
      return kill(fault.victim, fault.lasts);
    case kFreezeWorker:
    case kFreezeWithShims:
      return freeze(fault);
    case kPowerCut:
      return cut_power(fault.lasts);
    case kStoreFails:
    case kStoreForgetsAnswer:
    case kStoreSlow:
    case kSettleTwice:
      return store_faults_.open_window(fault);
    case kClockJump:
      ++syncs_;
      observe();  // what the clock showed till now
      clock_.set_wall_offset(clock_.wall_offset() + fault.jump);
      wall_offset_max_ = std::max(wall_offset_max_, clock_.wall_offset());
      return;
    case kDiskFull:
      return fill_disk(fault.lasts);
    case kDrain:
      return drain(fault);
    case kKillAtFailpoint:
    case kKillAtDiskOp:
    case kFreezeAtFailpoint:
    case kPowerCutAtDiskOp:
    case kDiskError:
    case kSyncError:
      return arm(fault);
  }
}

void World::kill(int slot, Millis downtime) {
  const std::shared_ptr<SimProcess> process = fleet_[static_cast<std::size_t>(slot)];
  if (process == nullptr || process->dead()) return;
  trace("{} is killed", process->name());
  process->kill();
  restart_later(slot, downtime);
}

void World::freeze(const Fault& fault) {
  const std::shared_ptr<SimProcess> process = fleet_[static_cast<std::size_t>(fault.victim)];
  if (process == nullptr || process->dead()) return;
  const Millis thaw = clock_.now() + fault.lasts;
  process->freeze_until(thaw);
  auto* worker = dynamic_cast<SimWorker*>(process.get());
  if (worker != nullptr && fault.kind == Fault::Kind::kFreezeWithShims) worker->runs().freeze_shims(thaw);
}

void World::cut_power(Millis downtime) {
  trace("the power is cut");
  disk_.cut_power(disk_rng_);
  clock_.reboot();
  checker_.all_leases_void();
  side_lock_.release_all();
  ++syncs_;
  for (int slot = 0; slot < slots(); ++slot) {
    const std::shared_ptr<SimProcess> process = fleet_[static_cast<std::size_t>(slot)];
    if (process != nullptr) process->kill();
    restart_later(slot, downtime + Millis{slot});
  }
}

void World::fill_disk(Millis lasts) {
  capacity_bytes_ = static_cast<std::int64_t>(disk_.used_bytes()) + ballast_bytes_ + between(world_rng_, 0, 40'000);
  disk_.set_capacity_bytes(static_cast<std::size_t>(*capacity_bytes_ - ballast_bytes_));
  const ActorPtr relief = scheduler_.add([this] {
    capacity_bytes_.reset();
    disk_.set_capacity_bytes(std::nullopt);
  });
  fault_actors_.push_back(relief);
  scheduler_.wake(relief, clock_.now() + lasts);
}

void World::drain(const Fault& fault) {
  const std::shared_ptr<SimProcess> process = fleet_[static_cast<std::size_t>(fault.victim)];
  auto* worker = dynamic_cast<SimWorker*>(process.get());
  if (worker == nullptr || worker->dead() || worker->frozen()) return;
  worker->drain();
  restart_later(fault.victim, fault.lasts + 10s);
}

void World::arm(const Fault& fault) {
  disturbed(clock_.now() + kArmedFor + fault.lasts);
  armed_.push_back({fault, fault.count, clock_.now() + kArmedFor});
}

bool World::hits(Armed& armed) {
  if (armed.left <= 0 || clock_.now() > armed.until) return false;
  return --armed.left == 0;
}

int World::on_disk_operation(DiskOp op) {
  if (inside_.empty() || observing_) return SQLITE_OK;  // the observer's
  if (op == DiskOp::kSync) ++syncs_;
  if (armed_.empty()) return SQLITE_OK;
  SimProcess& process = *inside_.back();
  if (process.dead()) return SQLITE_OK;
  for (std::size_t i = 0; i < armed_.size(); ++i) {
    const Fault fault = armed_[i].fault;
    if (at_failpoint(fault.kind)) continue;
    const bool of_anybody = fault.kind == Fault::Kind::kPowerCutAtDiskOp;
    if (!of_anybody && process.slot() != fault.victim) continue;
    if (fault.kind == Fault::Kind::kSyncError && op != DiskOp::kSync) continue;
    if (!hits(armed_[i])) continue;
    trace("{} strikes {}", name_of(fault.kind), process.name());
    if (of_anybody) {
      cut_power(fault.lasts);
    } else if (fault.kind == Fault::Kind::kKillAtDiskOp) {
      kill(fault.victim, fault.lasts);
    } else if (fault.kind == Fault::Kind::kSyncError) {
      restart_later(fault.victim, fault.lasts);  // it will end itself
      return SQLITE_IOERR_FSYNC;
    } else {
      return fault.count % 2 == 0 ? SQLITE_IOERR : SQLITE_NOMEM;
    }
  }
  return SQLITE_OK;
}

void World::on_failpoint(std::string_view name) {
  if (inside_.empty() || armed_.empty()) return;
  SimProcess& process = *inside_.back();
  if (process.dead()) return;
  for (std::size_t i = 0; i < armed_.size(); ++i) {
    const Fault fault = armed_[i].fault;
    if (!at_failpoint(fault.kind) || process.slot() != fault.victim || !hits(armed_[i])) continue;
    trace("{} strikes {} at {}", name_of(fault.kind), process.name(), name);
    if (fault.kind == Fault::Kind::kKillAtFailpoint) return kill(fault.victim, fault.lasts);
    return process.freeze_inside(fault.lasts);
  }
}

// --- the end: everything is mended, and every task must come to its end

void World::heal() {
  healing_ = true;
  trace("heal");
  store_faults_.close_all();
  armed_.clear();
  capacity_bytes_.reset();
  disk_.set_capacity_bytes(std::nullopt);
  clock_.set_wall_offset(wall_offset_max_);
  for (int slot = 0; slot < slots(); ++slot) {
    const auto& process = fleet_[static_cast<std::size_t>(slot)];
    if (process != nullptr) process->freeze_until(clock_.now());
    restart_later(slot, 0ms);
  }
  disturbed(clock_.now());
  wait_for_rest();
}

void World::wait_for_rest() {
  const Millis bound = clock_.now() + kHealMax;
  while (clock_.now() < bound) {
    if (!scheduler_.run_until(clock_.now() + 1s)) return;
    // A worker may be on its way out: the fleet stays complete.
    for (int slot = 0; slot < slots(); ++slot) restart_later(slot, 0ms);
    if (checker_.unfinished() == 0 && users_->content()) return;
    users_->raise_all_budgets();
  }
  checker_.report("P6 every task ends", fmt::format("still unfinished {} min after everything was mended:{}",
                                                    kHealMax.count() / 60'000, checker_.describe_unfinished()));
}

}  // namespace drover::sim
