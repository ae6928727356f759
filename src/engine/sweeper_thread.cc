#include "engine/sweeper_thread.h"

#include <chrono>

#include "base/log.h"

namespace drover {

namespace {

constexpr Millis kPassEvery{20};  // no faster than this, however much changes
constexpr Millis kIdleMax{500};
constexpr Millis kStopWithin{100};  // how soon a stop is noticed
constexpr Millis kAfterError{1'000};

// Half a store that is being imported is left alone: what it lacks is on its way.
Result<SweepReport> pass(Sweepers& sweepers, Engine& engine) {
  const auto importing = engine.is_importing();
  if (!importing) return std::unexpected(importing.error());
  return *importing ? SweepReport() : sweepers.run_once();
}

}  // namespace

SweeperThread::SweeperThread(Engine& engine) : thread_([&engine](const std::stop_token& stop) { run(stop, engine); }) {}

void SweeperThread::run(const std::stop_token& stop, Engine& engine) {
  Sweepers sweepers(engine);
  bool failing = false;
  while (!stop.stop_requested()) {
    const std::uint64_t seen = engine.changes();
    const auto report = pass(sweepers, engine);
    if (!report && !failing)
      log_error("engine", "sweeping failed; trying again every second", {{"error", to_string(report.error())}});
    if (report && failing) log_info("engine", "sweeping works again");
    failing = !report;
    if (report && report->more) continue;
    std::this_thread::sleep_for(kPassEvery);
    const Millis idle = failing ? kAfterError : sweepers.idle_time(kIdleMax);
    for (Millis left = idle; left > Millis{0} && !stop.stop_requested(); left -= kStopWithin) {
      engine.wait_for_change(seen, std::min(left, kStopWithin));
    }
  }
}

}  // namespace drover
