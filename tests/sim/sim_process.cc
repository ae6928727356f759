#include "sim/sim_process.h"

#include <fmt/format.h>

#include "base/try.h"
#include "sim/world.h"

namespace drover::sim {
namespace {

std::uint64_t hash_of(const std::string& name) {
  std::uint64_t hash = 0;
  for (const char c : name) hash = hash * 131 + static_cast<unsigned char>(c);
  return hash;
}

}  // namespace

SimProcess::SimProcess(World& world, int slot, std::string name)
    : world_(world),
      slot_(slot),
      name_(std::move(name)),
      vfs_(world.disk()),
      rng_(derive_seed(world.plan().seed, hash_of(name_))),
      store_(*this),
      engine_(store_, rng_) {}

SimProcess::~SimProcess() {
  const World::Running running(world_, *this);
  opened_.reset();
}

Status SimProcess::boot() {
  const World::Running running(world_, *this);
  auto opened = world_.open_store(*this);
  if (!opened) return std::unexpected(opened.error());
  if (dead()) return fail(ErrorCode::kStoreUnavailable, "died while it started");
  opened_ = *std::move(opened);
  store_.connect(opened_.get());
  go_to_work();
  return {};
}

void SimProcess::kill() {
  if (dead()) return;
  state_->dead = true;
  vfs_.kill();
  world_.side_lock().release(*this);
}

void SimProcess::freeze_inside(Millis how_long) {
  freeze_until(world_.clock().now() + how_long);
  state_->inside_step = true;
  world_.scheduler().run_others(how_long);
  state_->inside_step = false;
  freeze_until(world_.clock().now());
}

bool SimProcess::frozen() const {
  return state_->inside_step || state_->frozen_until > world_.clock().now();
}

ActorPtr SimProcess::add_thread(std::function<void()> step) {
  // A step keeps its process alive, in memory, to its end.
  return world_.scheduler().add(
      [step = std::move(step), weak = weak_from_this()] {
        const auto self = weak.lock();
        if (self == nullptr) return;
        const World::Running running(self->world_, *self);
        step();
      },
      state_);
}

Status SimProcess::before_call() {
  if (!dead()) world_.interleave();
  if (dead()) return drover::fail(ErrorCode::kStoreUnavailable, "dead");
  TRY(world_.store_faults().before(slot_));
  world_.enter(*this);
  return {};
}

Status SimProcess::after_call(StoreCall call) {
  world_.leave(*this);
  if (writes(call) && opened_ != nullptr) world_.written(*opened_, redis_changes_);
  TRY(world_.store_faults().after(slot_));
  if (!dead()) world_.interleave();
  if (dead()) return drover::fail(ErrorCode::kStoreUnavailable, "dead");
  return {};
}

std::uint64_t SimProcess::changes_seen() {
  return world_.changes();
}

}  // namespace drover::sim
