// What `drover work` and `drover up` run: a worker that executes programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "net/wake.h"
#include "worker/claim_loop.h"
#include "worker/runner_profile.h"

namespace drover {

struct WorkerConfig {
  std::vector<Serve> serves;  // a queue without a type: the types of it that there is a runner for
  Runners runners;
  std::string state_dir;  // full outputs and doors go beneath it
  std::string version;
  std::optional<int> concurrency;  // unset: as many as the profiles allow
  Millis lease{30'000};
  Millis heartbeat{5'000};
  Millis drain{30'000};
  Millis grace{10'000};
  WhenEmpty when_empty = WhenEmpty::kWait;
  std::size_t result_bytes_max = 1 << 20;
  std::string shim_program = "/proc/self/exe";
};

struct WorkReport {
  std::string worker_id;
  ClaimLoopCounts counts;
};

// Blocks until the work is done; see drive_worker. kInvalidArgument for a configuration that cannot work.
[[nodiscard]] Result<WorkReport> run_worker(TaskQueue& queue, const WorkerConfig& config, const StopSignal& stop);

}  // namespace drover
