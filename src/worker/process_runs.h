// ProcessRuns: runs tasks as processes, each under its own shim, all on one event loop in a thread of its own.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "net/call_pool.h"
#include "worker/process_run.h"
#include "worker/runs.h"
#include "worker/undertaker.h"
#include "worker/workspace_reaper.h"

namespace drover {

class ProcessRuns final : public Runs {
 public:
  // Makes this process a sub-reaper: see kill_orphans(). on_ended is called from another thread when take_ended has
  // something, or unable() less.
  ProcessRuns(TaskQueue& queue, ProcessRunsOptions options, std::function<void()> on_ended);
  // Kills what still runs, and waits for it.
  ~ProcessRuns() override;
  ProcessRuns(const ProcessRuns&) = delete;
  ProcessRuns& operator=(const ProcessRuns&) = delete;

  void start(ClaimedTask claimed, MonoTime expires_at) override;
  void lease_renewed(const Lease& lease, MonoTime expires_at) override;
  void stop(const Lease& lease, StopReason reason) override;
  [[nodiscard]] std::vector<RunEnded> take_ended() override;
  [[nodiscard]] std::vector<Unable> unable() override;
  [[nodiscard]] std::int64_t workspace_bytes() const override { return reaper_.workspace_bytes(); }

 private:
  void run();
  void tick();
  [[nodiscard]] bool has_program(const std::optional<std::string>& type) const;
  void collect_ended();
  [[nodiscard]] ProcessRun* find(const Lease& lease);
  void kill_rest();

  TaskQueue& queue_;
  const ProcessRunsOptions options_;
  const std::vector<std::string> environment_;
  const std::function<void()> on_ended_;
  const std::function<void(const std::string& type)> on_started_;
  StartTroubles troubles_;
  EventLoop loop_;
  const Undertaker undertaker_;
  // Apart, so that nothing that an agent asks for holds up what it prints, or its end.
  CallPool log_calls_;
  CallPool door_calls_;
  ByteBudget door_bytes_{kDoorBytesMax};
  WorkspaceReaper reaper_;

  // The loop's thread only.
  std::vector<std::shared_ptr<ProcessRun>> runs_;
  MonoTime next_tick_{};
  MonoTime next_prune_{};

  std::mutex mutex_;
  std::vector<RunEnded> ended_;

  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace drover
