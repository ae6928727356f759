#include "sim/sim_server.h"

#include <algorithm>

#include "sim/world.h"

namespace drover::sim {
namespace {

constexpr Millis kIdleMax{5'000};
constexpr Millis kPassEvery{20};
constexpr Millis kAfterError{1'000};

}  // namespace

void SimServer::go_to_work() {
  sweeper_thread_ = add_thread([this] { sweep(); });
  world_.scheduler().wake_soon(sweeper_thread_);
}

void SimServer::sweep() {
  const auto report = sweepers_.run_once();
  if (dead()) return;
  Millis wait = kAfterError;
  if (report) wait = report->more ? Millis{1} : std::max(sweepers_.idle_time(kIdleMax), kPassEvery);
  if (!dead()) world_.scheduler().wake(sweeper_thread_, world_.clock().now() + wait);
}

void SimServer::hear_bell() {
  if (sweeper_thread_ != nullptr)
    world_.scheduler().wake(sweeper_thread_, world_.clock().now() + 10 * world_.bell_delay());
}

}  // namespace drover::sim
