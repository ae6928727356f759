#include "worker/run_worker.h"

#include <fmt/format.h>

#include "base/log.h"
#include "core/spec_check.h"
#include "worker/process_runs.h"
#include "worker/worker_loop.h"

namespace drover {
namespace {

Status check(const WorkerConfig& config) {
  const auto refuse = [](std::string why) { return fail(ErrorCode::kInvalidArgument, std::move(why)); };
  if (config.serves.empty()) return refuse("a worker must serve a queue or a type");
  if (const Status valid = check_bounds(config.concurrency, kConcurrencyBounds); !valid) {
    return at_field("concurrency", valid.error());
  }
  if (config.state_dir.empty()) return refuse("a worker needs a state directory");
  for (const Serve& serve : config.serves) {
    if (serve.type && config.runners.find(*serve.type) == nullptr) {
      return refuse(fmt::format("no runner for tasks of type {}: give a command after --, or a profile", *serve.type));
    }
  }
  return check_heartbeat(config.lease, config.heartbeat);
}

}  // namespace

Result<WorkReport> run_worker(TaskQueue& queue, const WorkerConfig& config, const StopSignal& stop) {
  if (const Status valid = check(config); !valid) return std::unexpected(valid.error());
  const std::string worker_id = new_worker_id();
  const Waker wake;
  ProcessRuns runs(queue,
                   {.runners = config.runners,
                    .state_dir = config.state_dir,
                    .shim_program = config.shim_program,
                    .lease = config.lease,
                    .grace = config.grace,
                    .result_bytes_max = config.result_bytes_max},
                   [&wake] { wake.wake(); });
  log_info("worker", "working", {{"worker", worker_id}, {"concurrency", std::to_string(config.concurrency)}});
  const WorkerInfo info{
      .id = worker_id, .version = config.version, .serves = config.serves, .capacity = config.concurrency};
  const auto counts = drive_worker(queue, runs, wake, stop,
                                   {.worker = info,
                                    .lease = config.lease,
                                    .heartbeat = config.heartbeat,
                                    .drain = config.drain,
                                    .when_empty = config.when_empty});
  if (!counts) return std::unexpected(counts.error());
  log_info("worker", "done",
           {{"worker", worker_id},
            {"completed", std::to_string(counts->completed)},
            {"failed", std::to_string(counts->failed)},
            {"released", std::to_string(counts->released)},
            {"cancelled", std::to_string(counts->cancelled)},
            {"refused", std::to_string(counts->refused)}});
  return WorkReport{worker_id, *counts};
}

}  // namespace drover
