#include "worker/worker_loop.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/rng.h"
#include "base/text.h"
#include "base/try.h"
#include "net/call_pool.h"
#include "worker/host_name.h"
#include "worker/lease_keeper.h"

namespace drover {
namespace {

// How long the bell waits before it looks whether it is still wanted, if nothing interrupts it.
constexpr Millis kBellWait{10'000};
constexpr Millis kChangeWait{1'000};

// A thread of the worker; ends with its owner.
template <class Body>
std::jthread worker_thread(Body body) {
  return std::jthread([body = std::move(body)](const std::stop_token& stop) {
    block_signals_in_this_thread();
    body(stop);
  });
}

// Renews leases at its own pace, whatever the claim loop waits for.
class KeeperThread {
 public:
  KeeperThread(LeaseKeeper& keeper, const Waker& loop)
      : thread_(worker_thread([this, &keeper, &loop](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            const Millis until_step = keeper.step(system_clock().mono());
            if (until_step <= Millis{0}) {
              loop.wake();  // it waits for the first beat
              continue;
            }
            const Millis until_look = keeper.look_for_requests(system_clock().mono());
            wait_for_wake(wake_, wake_, std::min(until_step, until_look));
          }
        })) {}
  ~KeeperThread() {
    thread_.request_stop();
    wake_.wake();
  }

 private:
  Waker wake_;
  std::jthread thread_;
};

// Wakes the claim loop when there may be work for it. Listens only while the loop has a slot free, so that it never
// takes a hint that another worker could use.
class BellThread {
 public:
  BellThread(TaskQueue& queue, WhenEmpty when_empty, const Waker& loop)
      : queue_(queue), when_empty_(when_empty), loop_(loop), thread_(worker_thread([this](const std::stop_token& stop) {
          while (!stop.stop_requested()) ring_once(stop);
        })) {}
  void request_stop() { thread_.request_stop(); }

  // Rings when the queue has changed since.
  void listen(std::uint64_t seen, std::vector<Serve> serves) {
    const std::lock_guard lock(mutex_);
    seen_ = seen;
    if (serves != serves_) hears_otherwise_.request_stop();
    serves_ = std::move(serves);
    listening_.notify_one();
  }
  void hush() {
    const std::lock_guard lock(mutex_);
    seen_.reset();
  }

 private:
  void ring_once(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    if (!listening_.wait(lock, stop, [this] { return seen_.has_value(); })) return;
    const std::uint64_t seen = seen_.value_or(0);
    const std::vector<Serve> serves = serves_;
    hears_otherwise_ = {};
    const std::stop_token listens = hears_otherwise_.get_token();
    const std::stop_callback ends(stop, [source = hears_otherwise_]() mutable { source.request_stop(); });
    lock.unlock();
    // One that ends with its queues wants to know of the last end, too, which brings no work.
    if (when_empty_ == WhenEmpty::kFinish) {
      queue_.wait_for_change(seen, kChangeWait);
    } else {
      queue_.wait_for_work(serves, seen, kBellWait, listens);
    }
    if (queue_.changes() == seen) return;
    lock.lock();
    if (seen_ == seen) seen_.reset();
    loop_.wake();
  }

  TaskQueue& queue_;
  const WhenEmpty when_empty_;
  const Waker& loop_;
  std::mutex mutex_;
  std::condition_variable_any listening_;
  std::vector<Serve> serves_;
  std::stop_source hears_otherwise_;   // ends a wait for other work than is wanted now
  std::optional<std::uint64_t> seen_;  // none: nobody waits for work
  std::jthread thread_;
};

ClaimLoopOptions claim_options(const WorkerLoopOptions& options, const Waker& wake) {
  return {.worker_id = options.worker.id,
          .serves = options.worker.serves,
          .capacity = options.worker.capacity,
          .prefetch = options.prefetch,
          .type_limits = options.type_limits,
          .lease = options.lease,
          .drain = options.drain,
          .when_empty = options.when_empty,
          .wake = [&wake] { wake.wake(); }};
}

void run_loop(ClaimLoop& loop, BellThread& bell, const Waker& wake, const StopSignal& stop) {
  int heeded = 0;
  while (!loop.finished()) {
    for (; heeded < stop.requests(); ++heeded) loop.drain(system_clock().mono());
    const Millis wait = loop.step(system_clock().mono());
    if (wait <= Millis{0} || loop.finished()) continue;
    if (loop.awaits_change(system_clock().mono())) {
      bell.listen(loop.seen_changes(), loop.wanted_serves(system_clock().mono()));
    } else {
      bell.hush();
    }
    wait_for_wake(wake, stop.waker(), wait);
  }
}

// Why the worker goes.
std::string farewell(const ClaimLoop& loop) {
  if (const std::optional<Error>& failure = loop.failure()) return to_string(*failure);
  return loop.was_ordered() ? "drained" : "stopped";
}

}  // namespace

std::string new_worker_id() {
  return fmt::format("{}:{}:{}", host_name(), ::getpid(), new_task_id(system_rng(), system_clock().wall()).to_string());
}

Result<ClaimLoopCounts> drive_worker(TaskQueue& queue, Runs& runs, const Waker& wake, const StopSignal& stop,
                                     const WorkerLoopOptions& options) {
  LeaseKeeper keeper(queue, runs, {.worker = options.worker, .lease = options.lease, .heartbeat = options.heartbeat});
  TRY(keeper.register_now(system_clock().mono()));
  ClaimLoopOptions loop_options = claim_options(options, wake);
  std::optional<ClaimLoop> loop;
  std::optional<CallPool> settler;
  std::optional<CallPool> claimer;
  if (options.calls == WorkerCalls::kSideBySide) {
    settler.emplace(1);
    claimer.emplace(1);
    loop_options.make_settlement = [&settler](std::function<void()> call) { settler->post(std::move(call)); };
    loop_options.make_claim = [&](std::function<void()> call) {
      // With nothing to do meanwhile the way to another thread and back would only take time.
      if (loop->held() == 0) return call();
      claimer->post(std::move(call));
    };
  }
  loop.emplace(queue, runs, keeper, std::move(loop_options));
  BellThread bell(queue, options.when_empty, wake);
  {
    const KeeperThread keeper_thread(keeper, wake);
    run_loop(*loop, bell, wake, stop);
  }
  bell.request_stop();  // the last word to the store is a change that wakes it
  if (const Status gone = keeper.unregister(farewell(*loop)); !gone) {
    log_warn("worker", "could not unregister", {{"error", to_string(gone.error())}});
  }
  if (const std::optional<Error>& failure = loop->failure()) return std::unexpected(*failure);
  return loop->counts();
}

}  // namespace drover
