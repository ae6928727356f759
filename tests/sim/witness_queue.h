// What a worker says to the engine, with the checker listening; may deliver a settlement twice.
#pragma once

#include "drover/task_queue.h"

namespace drover::sim {

class SimWorker;
class World;

class WitnessQueue final : public TaskQueue {
 public:
  WitnessQueue(World& world, SimWorker& worker, TaskQueue& engine) : world_(world), worker_(worker), engine_(engine) {}

  Result<std::vector<ClaimedTask>> claim(const ClaimRequest& request) override;
  Result<Beat> renew(const std::string& worker_id, std::span<const Lease> leases, Millis lease) override;
  std::vector<Result<TaskState>> settle(std::span<const Settlement> items) override;

  Result<std::vector<Enqueued>> enqueue(std::span<const TaskSpec> group) override { return engine_.enqueue(group); }
  Result<std::vector<Enqueued>> spawn(const Lease& spawner, std::span<const TaskSpec> group) override {
    return engine_.spawn(spawner, group);
  }
  Result<Task> get(const TaskId& id) override { return engine_.get(id); }
  Result<std::vector<RunSummary>> runs(const TaskId& id) override { return engine_.runs(id); }
  Result<TaskPage> list(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor) override {
    return engine_.list(filter, limit, cursor);
  }
  Result<CancelOutcome> cancel(const TaskId& id, const std::string& reason) override {
    return engine_.cancel(id, reason);
  }
  Result<std::vector<CancelEffect>> preview_cancel(const TaskId& id) override { return engine_.preview_cancel(id); }
  using TaskQueue::retry;
  Result<Task> retry(const TaskId& id, const RetryOrder& order) override { return engine_.retry(id, order); }
  Result<std::vector<Event>> events(std::int64_t after, int limit) override { return engine_.events(after, limit); }
  Result<std::int64_t> last_event_seq() override { return engine_.last_event_seq(); }
  Result<LogPage> log(const TaskId& id, std::int64_t after, int limit) override {
    return engine_.log(id, after, limit);
  }
  Status register_worker(const WorkerInfo& worker) override { return engine_.register_worker(worker); }
  Status unregister_worker(const std::string& worker_id, const std::string& reason) override {
    return engine_.unregister_worker(worker_id, reason);
  }
  Result<std::vector<WorkerInfo>> workers() override { return engine_.workers(); }
  Status progress(const Lease& lease, const Progress& progress) override { return engine_.progress(lease, progress); }
  Status append_log(const Lease& lease, std::span<const LogChunk> chunks) override {
    return engine_.append_log(lease, chunks);
  }
  Status checkpoint(const Lease& lease, const JsonText& value) override { return engine_.checkpoint(lease, value); }
  Result<Backlog> backlog(std::span<const Serve> serves) override { return engine_.backlog(serves); }
  Result<int> requeue_stalled(Millis max_age) override { return engine_.requeue_stalled(max_age); }
  Status drain_worker(const DrainOrder& order) override { return engine_.drain_worker(order); }
  Result<std::vector<ErrorGroup>> error_groups(const TaskFilter& filter) override {
    return engine_.error_groups(filter);
  }
  Result<Stats> owner_stats(const std::string& owner) override { return engine_.owner_stats(owner); }
  Result<Task> edit(const TaskId& id, const EditOrder& order) override { return engine_.edit(id, order); }
  Result<Task> escalate(const TaskId& id, const EscalateOrder& order) override { return engine_.escalate(id, order); }
  Status remove(const TaskId& id, const Verdict& verdict) override { return engine_.remove(id, verdict); }
  Result<std::vector<GateStatus>> gates() override { return engine_.gates(); }
  Result<GateStatus> set_gate(const GateOrder& order) override { return engine_.set_gate(order); }
  Result<std::vector<QueueStatus>> queues() override { return engine_.queues(); }
  Result<Stats> stats() override { return engine_.stats(); }
  Result<std::vector<Alert>> alerts() override { return engine_.alerts(); }
  Result<Explanation> explain(const TaskId& id) override { return engine_.explain(id); }
  Result<Config> config() override { return engine_.config(); }
  Result<Config> apply_config(const JsonText& document, std::int64_t based_on_version) override {
    return engine_.apply_config(document, based_on_version);
  }
  Result<std::vector<Finding>> fsck(FsckMode mode) override { return engine_.fsck(mode); }
  std::uint64_t changes() override { return engine_.changes(); }
  void wait_for_change(std::uint64_t seen, Millis timeout) override { engine_.wait_for_change(seen, timeout); }

 private:
  World& world_;
  SimWorker& worker_;
  TaskQueue& engine_;
};

}  // namespace drover::sim
