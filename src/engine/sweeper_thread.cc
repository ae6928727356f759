#include "engine/sweeper_thread.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/clock.h"
#include "base/log.h"
#include "base/try.h"

namespace drover {

namespace {

constexpr Millis kPassEvery{20};       // no faster than this, however much changes
constexpr Millis kWatchEvery{15'200};  // a little more than what is looked at most often (health_watch.cc)
constexpr Millis kAfterError{1'000};

void pause(Millis time, const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any().wait_for(lock, stop, time, [] { return false; });
}

// One process of a fleet sweeps; the others are ready to take its place.
class SweepLoop {
 public:
  SweepLoop(Engine& engine, const std::stop_token& stop) : engine_(engine), sweepers_(engine), stop_(stop) {}

  void run() {
    while (!stop_.stop_requested()) {
      const std::uint64_t seen = engine_.changes();
      const auto rest = step();
      note(rest);
      const Millis idle = rest.value_or(kAfterError);
      pause(idle > Millis{0} ? std::min(idle, kPassEvery) : kPassEvery, stop_);
      if (idle > kPassEvery) sweepers_.wait(seen, idle - kPassEvery, stop_);
    }
    if (sweeps_ && !failing_) sweepers_.end();
  }

 private:
  // How long to wait until the next one.
  Result<Millis> step() {
    const auto turn = TRY(sweepers_.take_turn());
    sweeps_ = turn.is_ours;
    const bool must_watch = system_clock().mono() - watched_at_ >= kWatchEvery;
    if (!turn.is_ours || (turn.rest > Millis{0} && !must_watch)) return turn.rest;
    // Half a store that is being imported is left alone: what it lacks is on its way.
    const auto importing = TRY(engine_.is_importing());
    if (importing) return kAfterError;
    for (bool more = true; more && !stop_.stop_requested();) {
      const auto report = TRY(turn.rest > Millis{0} ? sweepers_.keep_watch() : sweepers_.run_once());
      more = report.more;
    }
    watched_at_ = system_clock().mono();
    return Millis{0};
  }

  void note(const Result<Millis>& step) {
    if (!step && !failing_)
      log_error("engine", "sweeping failed; trying again every second", {{"error", to_string(step.error())}});
    if (step && failing_) log_info("engine", "sweeping works again");
    failing_ = !step;
  }

  Engine& engine_;
  Sweepers sweepers_;
  const std::stop_token& stop_;
  MonoTime watched_at_{};
  bool sweeps_ = false;
  bool failing_ = false;
};

}  // namespace

SweeperThread::SweeperThread(Engine& engine) : thread_([&engine](const std::stop_token& stop) { run(stop, engine); }) {}

void SweeperThread::run(const std::stop_token& stop, Engine& engine) {
  SweepLoop(engine, stop).run();
}

}  // namespace drover
