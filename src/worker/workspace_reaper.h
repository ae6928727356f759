// WorkspaceReaper: removes the workspaces of ended tasks in the background, as each profile's `keep` says. It asks the
// queue how tasks ended, and lets `drover workspace-step reap` under a shim do the rest, so that git ends with the
// worker.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "drover/task_queue.h"
#include "worker/process_end.h"
#include "worker/runner_profile.h"
#include "workspace/workspace.h"

namespace drover {

struct ProcessRunsOptions;

class WorkspaceReaper {
 public:
  // Does nothing where no runner has a workspace.
  WorkspaceReaper(TaskQueue& queue, const ProcessRunsOptions& options);
  // Ends a step that is under way: the next worker goes on with it.
  ~WorkspaceReaper();
  WorkspaceReaper(const WorkspaceReaper&) = delete;
  WorkspaceReaper& operator=(const WorkspaceReaper&) = delete;

  // Its workspace may be due as soon as the end is stored. From any thread.
  void run_ended(const Task& task, const End& end);
  // See WorkerInfo: as of the last look at all of them. From any thread.
  [[nodiscard]] std::int64_t workspace_bytes() const { return workspace_bytes_; }

 private:
  struct EndedRun {
    const RunnerProfile* profile = nullptr;
    bool has_completed = false;
    int tries = 0;  // how often its end was not in the store yet
  };
  using Recent = std::map<TaskId, EndedRun>;
  using Fates = std::map<TaskId, workspace::Fate>;

  void run();
  // Waits until there is something to do; false: it is time to go.
  [[nodiscard]] bool wait();
  void look_at_recent();
  void look_at_all();
  void measure();
  // All by one profile; its limit on bytes counts only where all of its workspaces are looked at.
  enum class Scope : std::uint8_t { kSome, kAll };
  void reap(const std::string& root, const RunnerProfile& profile, const Fates& fates, Scope scope);
  [[nodiscard]] std::string run_step(const std::string& request);
  void tell(const std::string& answer);
  [[nodiscard]] std::vector<const RunnerProfile*> profiles() const;
  // Others' tasks may be kept by other rules.
  [[nodiscard]] bool serves(const Task& task) const;
  // Where the store's workspaces by that profile are.
  [[nodiscard]] Result<std::string> root_of(const RunnerProfile& profile) const;
  [[nodiscard]] bool has_workspace(const RunnerProfile& profile, const TaskId& task) const;

  TaskQueue& queue_;
  const ProcessRunsOptions& options_;
  std::atomic<std::int64_t> workspace_bytes_{0};
  std::map<TaskId, std::string> told_;  // why a workspace was kept, so that it is said once

  std::mutex mutex_;
  std::condition_variable changed_;
  Recent recent_;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace drover
