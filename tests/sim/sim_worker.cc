#include "sim/sim_worker.h"

#include <algorithm>
#include <utility>

#include "sim/world.h"

namespace drover::sim {
namespace {

LeaseKeeperOptions keeper_options(const std::string& name, const WorkerPlan& plan) {
  return {.worker = {.id = name, .version = "sim", .serves = plan.serves, .capacity = plan.capacity},
          .lease = plan.lease,
          .heartbeat = plan.lease / 6};
}

}  // namespace

SimWorker::SimWorker(World& world, int slot, std::string name, const WorkerPlan& plan)
    : SimProcess(world, slot, std::move(name)),
      plan_(plan),
      queue_(world, *this, engine()),
      runs_(world, *this),
      keeper_(queue_, runs_, keeper_options(this->name(), plan)),
      loop_(queue_, runs_, keeper_, loop_options()) {}

ClaimLoopOptions SimWorker::loop_options() {
  return {.worker_id = name(),
          .serves = plan_.serves,
          .capacity = plan_.capacity,
          .lease = plan_.lease,
          .drain = Millis{3'000},
          .poll_max = Millis{2'000},
          .wake = [this] { wake_loop(); },
          .make_settlement = calls_of(settler_),
          .make_claim = calls_of(claimer_)};
}

MakeCall SimWorker::calls_of(Caller& caller) {
  return [this, &caller](std::function<void()> call) {
    caller.call = std::move(call);
    world_.scheduler().wake_soon(caller.thread);
  };
}

void SimWorker::add_caller(Caller& caller) {
  caller.thread = add_thread([&caller] {
    if (const auto call = std::exchange(caller.call, nullptr)) call();
  });
}

void SimWorker::go_to_work() {
  world_.checker().expect_worker(name(), plan_.serves);
  loop_thread_ = add_thread([this] { step_loop(); });
  keeper_thread_ = add_thread([this] { step_keeper(); });
  add_caller(settler_);
  add_caller(claimer_);
  world_.scheduler().wake_soon(keeper_thread_);
}

void SimWorker::step_keeper() {
  const bool was_registered = keeper_.registered();
  const Millis wait = keeper_.step(world_.clock().mono());
  if (dead()) return;
  if (!was_registered && keeper_.registered()) world_.scheduler().wake_soon(loop_thread_);
  world_.scheduler().wake(keeper_thread_, world_.clock().now() + std::max(wait, Millis{1}));
}

void SimWorker::step_loop() {
  const Millis wait = loop_.step(world_.clock().mono());
  if (dead()) return;
  if (loop_.finished()) {
    // What its keeper could not unregister is forgotten by the store in time.
    const Status gone = keeper_.unregister("drained");
    world_.trace("{} has drained: {}", name(), gone ? "unregistered" : to_string(gone.error()));
    kill();
    return;
  }
  world_.scheduler().wake(loop_thread_, world_.clock().now() + std::max(wait, Millis{1}));
}

void SimWorker::kill() {
  if (dead()) return;
  SimProcess::kill();
  runs_.die();
}

void SimWorker::drain() {
  loop_.drain(world_.clock().mono());
  world_.scheduler().wake_soon(loop_thread_);
}

void SimWorker::hear_bell() {
  if (loop_thread_ != nullptr) world_.scheduler().wake(loop_thread_, world_.clock().now() + world_.bell_delay());
}

void SimWorker::wake_loop() {
  if (!dead()) world_.scheduler().wake_soon(loop_thread_);
}

}  // namespace drover::sim
