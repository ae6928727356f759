#include "worker/run_worker.h"

#include <fmt/format.h>

#include <system_error>

#include "base/log.h"
#include "base/try.h"
#include "core/spec_check.h"
#include "worker/machine_limits.h"
#include "worker/process_runs.h"
#include "worker/worker_loop.h"

namespace drover {
namespace {

Status check(const WorkerConfig& config) {
  const auto refuse = [](std::string why) { return fail(ErrorCode::kInvalidArgument, std::move(why)); };
  if (config.serves.empty()) return refuse("a worker must serve a queue or a type");
  if (config.concurrency) {
    if (const Status valid = check_bounds(*config.concurrency, kConcurrencyBounds); !valid) {
      return at_field("concurrency", valid.error());
    }
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

Result<WorkReport> run_worker(TaskQueue& queue, const WorkerConfig& config, const StopSignal& stop) try {
  TRY(check(config));
  const std::vector<Serve> serves = serves_with_runners(config.serves, config.runners);
  if (serves.empty()) return fail(ErrorCode::kInvalidArgument, "no runner: give a command after --, or a profile");
  TRY(check_programs(serves, config.runners, path_in(this_process_environment())));
  const Slots slots = slots_for(serves, config.runners, config.concurrency);
  const DescriptorShare share(slots.total);
  const std::string worker_id = new_worker_id();
  const Waker wake;
  ProcessRuns runs(queue,
                   {.worker_id = worker_id,
                    .serves = serves,
                    .runners = config.runners,
                    .state_dir = config.state_dir,
                    .shim_program = config.shim_program,
                    .lease = config.lease,
                    .grace = config.grace,
                    .result_bytes_max = config.result_bytes_max},
                   [&wake] { wake.wake(); });
  log_info("worker", "working", {{"worker", worker_id}, {"concurrency", std::to_string(share.slots())}});
  const WorkerInfo info{.id = worker_id, .version = config.version, .serves = serves, .capacity = share.slots()};
  const auto counts = TRY(drive_worker(queue, runs, wake, stop,
                                       {.worker = info,
                                        .type_limits = slots.by_type,
                                        .lease = config.lease,
                                        .heartbeat = config.heartbeat,
                                        .drain = config.drain,
                                        .when_empty = config.when_empty}));
  log_info("worker", "done",
           {{"worker", worker_id},
            {"completed", std::to_string(counts.completed)},
            {"failed", std::to_string(counts.failed)},
            {"released", std::to_string(counts.released)},
            {"cancelled", std::to_string(counts.cancelled)},
            {"suspended", std::to_string(counts.suspended)},
            {"refused", std::to_string(counts.refused)}});
  return WorkReport{worker_id, counts};
} catch (const std::system_error& error) {  // no thread to begin with
  return fail(ErrorCode::kInternal, fmt::format("cannot start a worker: {}", explain_error(error.code().value())),
              "worker.start");
}

}  // namespace drover
