#include "drover/worker.h"

#include <utility>

#include "base/check.h"
#include "base/try.h"
#include "core/spec_check.h"
#include "worker/handler_runs.h"
#include "worker/worker_loop.h"

namespace drover {

struct Worker::Impl {
  TaskQueue& queue;
  WorkerOptions options;
  std::vector<Serve> serves;
  HandlerRuns::Handlers handlers;
  StopSignal stop;
};

Worker::Worker(TaskQueue& queue, WorkerOptions options)
    : impl_(std::unique_ptr<Impl>(new Impl{queue, std::move(options), {}, {}, {}})) {}

Worker::~Worker() = default;

void Worker::handle(std::string type, Handler handler) {
  std::string queue = type;
  handle(std::move(type), std::move(queue), std::move(handler));
}

void Worker::handle(std::string type, std::string queue, Handler handler) {
  impl_->serves.push_back({std::move(queue), type});
  impl_->handlers.insert_or_assign(std::move(type), std::move(handler));
}

Result<WorkerReport> Worker::run() {
  const WorkerOptions& options = impl_->options;
  if (impl_->serves.empty()) return fail(ErrorCode::kInvalidArgument, "a worker needs at least one handler");
  if (const Status valid = check_bounds(options.concurrency, kConcurrencyBounds); !valid)
    return at_field("concurrency", valid.error());
  const Bounds prefetch{0, kConcurrencyBounds.max - options.concurrency};
  if (const Status valid = check_bounds(options.prefetch, prefetch); !valid) return at_field("prefetch", valid.error());
  TRY(check_heartbeat(options.lease, options.heartbeat));

  const Waker wake;
  HandlerRuns runs(impl_->queue, impl_->handlers, options.concurrency, options.lease, [&wake] { wake.wake(); });
  const WorkerInfo info{
      .id = new_worker_id(), .version = options.version, .serves = impl_->serves, .capacity = options.concurrency};
  const auto counts =
      TRY(drive_worker(impl_->queue, runs, wake, impl_->stop,
                       {.worker = info,
                        .prefetch = options.prefetch,
                        .lease = options.lease,
                        .heartbeat = options.heartbeat,
                        .drain = options.drain,
                        .when_empty = options.until == RunUntil::kEmpty ? WhenEmpty::kFinish : WhenEmpty::kWait,
                        .calls = WorkerCalls::kSideBySide}));
  return WorkerReport{info.id, counts.completed, counts.failed, counts.released, counts.cancelled, counts.suspended};
}

void Worker::stop() {
  impl_->stop.request();
}

}  // namespace drover
