// ProcessRuns: runs tasks as processes, each under its own shim, all on one event loop in a thread of its own.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "worker/process_run.h"
#include "worker/runs.h"

namespace drover {

class ProcessRuns final : public Runs {
 public:
  // Makes this process a sub-reaper: see kill_orphans(). on_ended is called from another thread when take_ended has
  // something.
  ProcessRuns(TaskQueue& queue, ProcessRunsOptions options, std::function<void()> on_ended);
  // Kills what still runs, and waits for it.
  ~ProcessRuns() override;
  ProcessRuns(const ProcessRuns&) = delete;
  ProcessRuns& operator=(const ProcessRuns&) = delete;

  void start(ClaimedTask claimed, MonoTime expires_at) override;
  void lease_renewed(const Lease& lease, MonoTime expires_at) override;
  void stop(const Lease& lease, StopReason reason) override;
  [[nodiscard]] std::vector<RunEnded> take_ended() override;

 private:
  void run();
  void tick();
  void collect_ended();
  [[nodiscard]] ProcessRun* find(const Lease& lease);
  void kill_rest();

  TaskQueue& queue_;
  const ProcessRunsOptions options_;
  const std::vector<std::string> environment_;
  const std::function<void()> on_ended_;
  EventLoop loop_;
  ByteBudget door_bytes_{kDoorBytesMax};
  std::vector<std::unique_ptr<CallThread>> call_threads_;

  // The loop's thread only.
  std::vector<std::shared_ptr<ProcessRun>> runs_;
  std::size_t started_ = 0;
  MonoTime next_tick_{};
  MonoTime next_prune_{};

  std::mutex mutex_;
  std::vector<RunEnded> ended_;

  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace drover
