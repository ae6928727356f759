// ForwardingQueue: a queue in front of another that passes every verb on. What derives from it overrides what it
// changes. It offers no standing claims, and waits for work as for any change.
#pragma once

#include "drover/bulk.h"
#include "drover/task_queue.h"

namespace drover::test {

class ForwardingQueue : public TaskQueue {
 public:
  // `inner` outlives it.
  explicit ForwardingQueue(TaskQueue& inner) : inner_(inner) {}

  Result<std::vector<Enqueued>> enqueue(std::span<const TaskSpec> group) override { return inner_.enqueue(group); }
  std::vector<Result<std::vector<Enqueued>>> enqueue_groups(
      std::span<const std::span<const TaskSpec>> groups) override {
    return inner_.enqueue_groups(groups);
  }
  Result<std::vector<Enqueued>> spawn(const Lease& spawner, std::span<const TaskSpec> group) override {
    return inner_.spawn(spawner, group);
  }
  Result<Task> get(const TaskId& id) override { return inner_.get(id); }
  Result<Task> parent(const TaskId& child, const TaskId& parent) override { return inner_.parent(child, parent); }
  Result<std::vector<std::optional<Task>>> heads(std::span<const TaskId> ids) override { return inner_.heads(ids); }
  Result<std::vector<RunSummary>> runs(const TaskId& id) override { return inner_.runs(id); }
  Result<TaskPage> list(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor) override {
    return inner_.list(filter, limit, cursor);
  }
  Result<SummaryPage> summaries(const TaskFilter& filter, int limit,
                                const std::optional<std::string>& cursor) override {
    return inner_.summaries(filter, limit, cursor);
  }
  Result<TaskGraph> graph(const TaskId& id, const std::optional<std::string>& owner, int limit) override {
    return inner_.graph(id, owner, limit);
  }
  using TaskQueue::cancel;
  Result<CancelOutcome> cancel(const TaskId& id, const Verdict& verdict) override { return inner_.cancel(id, verdict); }
  Result<std::vector<CancelEffect>> preview_cancel(const TaskId& id) override { return inner_.preview_cancel(id); }
  using TaskQueue::retry;
  Result<Task> retry(const TaskId& id, const RetryOrder& order) override { return inner_.retry(id, order); }
  Result<std::vector<Event>> events(std::int64_t after, int limit) override { return inner_.events(after, limit); }
  Result<std::int64_t> last_event_seq() override { return inner_.last_event_seq(); }
  using TaskQueue::log;
  Result<LogPage> log(const TaskId& id, const LogQuery& query) override { return inner_.log(id, query); }
  Status register_worker(const WorkerInfo& worker) override { return inner_.register_worker(worker); }
  Status unregister_worker(const std::string& worker_id, const std::string& reason) override {
    return inner_.unregister_worker(worker_id, reason);
  }
  Result<std::vector<WorkerInfo>> workers() override { return inner_.workers(); }
  Result<std::optional<WorkerInfo>> worker(const std::string& worker_id) override { return inner_.worker(worker_id); }
  Result<std::vector<ClaimedTask>> claim(const ClaimRequest& request) override { return inner_.claim(request); }
  Result<Beat> renew(const std::string& worker_id, std::span<const Lease> leases, Millis lease) override {
    return inner_.renew(worker_id, leases, lease);
  }
  Status progress(const Lease& lease, const Progress& progress) override { return inner_.progress(lease, progress); }
  Status append_log(const Lease& lease, std::span<const LogChunk> chunks) override {
    return inner_.append_log(lease, chunks);
  }
  Status checkpoint(const Lease& lease, const JsonText& value) override { return inner_.checkpoint(lease, value); }
  Result<ReportAnswer> report(const Lease& lease, const RunReport& report) override {
    return inner_.report(lease, report);
  }
  std::vector<Result<Settled>> settle(std::span<const Settlement> items) override { return inner_.settle(items); }
  Result<Backlog> backlog(std::span<const Serve> serves) override { return inner_.backlog(serves); }
  Result<int> requeue_stalled(Millis max_age) override { return inner_.requeue_stalled(max_age); }
  Status drain_worker(const DrainOrder& order) override { return inner_.drain_worker(order); }
  Result<std::vector<ErrorGroup>> error_groups(const TaskFilter& filter) override {
    return inner_.error_groups(filter);
  }
  Result<Stats> owner_stats(const std::string& owner) override { return inner_.owner_stats(owner); }
  Result<Task> edit(const TaskId& id, const EditOrder& order) override { return inner_.edit(id, order); }
  Result<Task> escalate(const TaskId& id, const EscalateOrder& order) override { return inner_.escalate(id, order); }
  Status remove(const TaskId& id, const Verdict& verdict) override { return inner_.remove(id, verdict); }
  Result<BulkPreview> preview_bulk(const BulkOrder& order) override { return inner_.preview_bulk(order); }
  Result<BulkOperation> start_bulk(const BulkOrder& order) override { return inner_.start_bulk(order); }
  Result<std::vector<BulkOperation>> bulk_operations() override { return inner_.bulk_operations(); }
  Result<BulkOperation> bulk_operation(const BulkId& id) override { return inner_.bulk_operation(id); }
  Result<BulkOperation> stop_bulk(const BulkId& id, const Verdict& verdict) override {
    return inner_.stop_bulk(id, verdict);
  }
  Result<std::vector<GateStatus>> gates() override { return inner_.gates(); }
  Result<std::vector<GateStatus>> owner_gates(const std::string& owner) override { return inner_.owner_gates(owner); }
  Result<GateStatus> set_gate(const GateOrder& order) override { return inner_.set_gate(order); }
  Result<std::vector<BudgetStatus>> budgets() override { return inner_.budgets(); }
  Result<BudgetStatus> raise_budget(const RaiseOrder& order) override { return inner_.raise_budget(order); }
  Result<std::vector<QueueStatus>> queues() override { return inner_.queues(); }
  Result<Stats> stats() override { return inner_.stats(); }
  Result<StatsHistory> stats_history(HistoryStep step, int count) override { return inner_.stats_history(step, count); }
  Result<std::vector<Alert>> alerts() override { return inner_.alerts(); }
  Result<std::vector<PastAlert>> past_alerts(int limit) override { return inner_.past_alerts(limit); }
  Result<Alert> snooze_alert(const SnoozeOrder& order) override { return inner_.snooze_alert(order); }
  ConversationQueue& conversation_queue() override { return inner_.conversation_queue(); }
  Result<Question> ask(const Lease& lease, const QuestionSpec& spec) override { return inner_.ask(lease, spec); }
  Result<Question> question(const QuestionId& id) override { return inner_.question(id); }
  Result<QuestionPage> questions(const QuestionFilter& filter, int limit,
                                 const std::optional<std::string>& cursor) override {
    return inner_.questions(filter, limit, cursor);
  }
  Result<Question> answer(const QuestionId& id, const AnswerOrder& order) override { return inner_.answer(id, order); }
  Result<Question> withdraw_question(const QuestionId& id, const Verdict& verdict) override {
    return inner_.withdraw_question(id, verdict);
  }
  Result<std::vector<SavedView>> views(const std::optional<std::string>& owner) override { return inner_.views(owner); }
  Result<SavedView> save_view(const std::optional<std::string>& owner, const SavedView& view) override {
    return inner_.save_view(owner, view);
  }
  Status delete_view(const std::optional<std::string>& owner, const std::string& name) override {
    return inner_.delete_view(owner, name);
  }
  Result<SessionPage> sessions(const SessionQuery& query) override { return inner_.sessions(query); }
  Result<SessionInfo> session(const SessionName& name) override { return inner_.session(name); }
  Result<SessionInfo> reset_session(const SessionName& name, const Verdict& verdict) override {
    return inner_.reset_session(name, verdict);
  }
  Result<RunStanding> standing_of(const Lease& lease) override { return inner_.standing_of(lease); }
  Result<std::vector<UsageRow>> usage(const UsageQuery& query) override { return inner_.usage(query); }
  Result<std::string> store_id() override { return inner_.store_id(); }
  Result<Explanation> explain(const TaskId& id) override { return inner_.explain(id); }
  Result<StuckReport> stuck(const std::optional<std::string>& owner) override { return inner_.stuck(owner); }
  Result<Config> config() override { return inner_.config(); }
  Result<std::vector<ConfigVersion>> config_versions() override { return inner_.config_versions(); }
  Result<Config> config_at(std::int64_t version) override { return inner_.config_at(version); }
  Result<Config> apply_config(const JsonText& document, std::int64_t based_on_version) override {
    return inner_.apply_config(document, based_on_version);
  }
  Result<std::vector<Finding>> fsck(FsckMode mode) override { return inner_.fsck(mode); }
  std::uint64_t changes() override { return inner_.changes(); }
  void wait_for_change(std::uint64_t seen, Millis timeout) override { inner_.wait_for_change(seen, timeout); }

 protected:
  TaskQueue& inner_;
};

}  // namespace drover::test
