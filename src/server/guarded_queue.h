// A TaskQueue as one caller may see and use it: what the role does not allow is kForbidden, and what belongs to
// another owner is not there. With server/rights.h, and guarded_administration.h for whole stores, this is the only
// place that decides who may do what.
#pragma once

#include "core/event_filter.h"
#include "drover/bulk.h"
#include "drover/task_queue.h"
#include "engine/token_document.h"
#include "server/guarded_conversations.h"
#include "server/rights.h"

namespace drover::server {

struct EventQuery {
  enum class Order : std::uint8_t { kOldestFirst, kNewestFirst };

  EventFilter filter{};
  Order order = Order::kOldestFirst;
  std::int64_t from = 0;  // only what comes after it, or, newest first, before it; then 0 is from the newest
  int limit = 0;
};

struct EventPage {
  std::vector<Event> events;
  // Where the next page starts, past events that the caller may not see; newest first, 0 if there is none.
  std::int64_t next = 0;
  bool more = false;  // of one task: there may be others
};

class GuardedQueue final : public TaskQueue {
 public:
  // Both outlive it.
  GuardedQueue(TaskQueue& queue, const Principal& principal)
      : queue_(queue), principal_(principal), conversations_(queue.conversation_queue(), principal) {}

  [[nodiscard]] const Principal& principal() const { return principal_; }
  // Whether the caller may know of it.
  [[nodiscard]] static bool may_see(const Principal& principal, const Event& event);
  // Looks at a bounded number of events, of which none may be the caller's.
  [[nodiscard]] Result<EventPage> events_page(const EventQuery& query);
  // The same of one task, from when it was made; `more`: there may be others.
  [[nodiscard]] Result<EventPage> task_events(const TaskId& id, std::int64_t after, int limit);
  [[nodiscard]] Status may_administer() const { return need(Right::kAdminister); }
  [[nodiscard]] Status may_work() const { return need(Right::kWork); }
  [[nodiscard]] Status may_operate() const { return need(Right::kOperate); }

  Result<std::vector<Enqueued>> enqueue(std::span<const TaskSpec> group) override;
  // What enqueue() of each would answer, for several callers of one queue at once.
  struct OfCaller {
    const GuardedQueue* caller;
    std::span<const TaskSpec> group;
  };
  [[nodiscard]] static std::vector<Result<std::vector<Enqueued>>> enqueue_together(std::span<const OfCaller> groups);
  Result<std::vector<Enqueued>> spawn(const Lease& spawner, std::span<const TaskSpec> group) override;
  Result<Task> get(const TaskId& id) override;
  Result<Task> parent(const TaskId& child, const TaskId& parent) override;
  Result<std::vector<RunSummary>> runs(const TaskId& id) override;
  Result<TaskPage> list(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor) override;
  Result<TaskPage> list_heads(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor) override;
  Result<SummaryPage> summaries(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor) override;
  Result<TaskGraph> graph(const TaskId& id, const std::optional<std::string>& owner, int limit) override;
  using TaskQueue::cancel;
  Result<CancelOutcome> cancel(const TaskId& id, const Verdict& verdict) override;
  Result<std::vector<CancelEffect>> preview_cancel(const TaskId& id) override;
  using TaskQueue::retry;
  Result<Task> retry(const TaskId& id, const RetryOrder& order) override;
  Result<std::vector<Event>> events(std::int64_t after, int limit) override;
  Result<std::int64_t> last_event_seq() override;
  using TaskQueue::log;
  Result<LogPage> log(const TaskId& id, const LogQuery& query) override;

  Status register_worker(const WorkerInfo& worker) override;
  Status unregister_worker(const std::string& worker_id, const std::string& reason) override;
  Result<std::vector<WorkerInfo>> workers() override;
  Result<std::vector<ClaimedTask>> claim(const ClaimRequest& request) override;
  Result<Beat> renew(const std::string& worker_id, std::span<const Lease> leases, Millis lease) override;
  Status progress(const Lease& lease, const Progress& progress) override;
  Status append_log(const Lease& lease, std::span<const LogChunk> chunks) override;
  Status checkpoint(const Lease& lease, const JsonText& value) override;
  Result<ReportAnswer> report(const Lease& lease, const RunReport& report) override;
  std::vector<Result<Settled>> settle(std::span<const Settlement> items) override;
  // Who may answer and see questions: guarded_questions.cc.
  Result<Question> ask(const Lease& lease, const QuestionSpec& spec) override;
  Result<Question> question(const QuestionId& id) override;
  Result<QuestionPage> questions(const QuestionFilter& filter, int limit,
                                 const std::optional<std::string>& cursor) override;
  Result<Question> answer(const QuestionId& id, const AnswerOrder& order) override;
  Result<Question> withdraw_question(const QuestionId& id, const Verdict& verdict) override;
  Result<Backlog> backlog(std::span<const Serve> serves) override;
  Result<int> requeue_stalled(Millis max_age) override;

  Status drain_worker(const DrainOrder& order) override;
  Result<std::vector<ErrorGroup>> error_groups(const TaskFilter& filter) override;
  Result<Task> edit(const TaskId& id, const EditOrder& order) override;
  Result<Task> escalate(const TaskId& id, const EscalateOrder& order) override;
  Status remove(const TaskId& id, const Verdict& verdict) override;
  Result<BulkPreview> preview_bulk(const BulkOrder& order) override;
  Result<BulkOperation> start_bulk(const BulkOrder& order) override;
  Result<std::vector<BulkOperation>> bulk_operations() override;
  Result<BulkOperation> bulk_operation(const BulkId& id) override;
  Result<BulkOperation> stop_bulk(const BulkId& id, const Verdict& verdict) override;
  Result<std::vector<GateStatus>> gates() override;
  Result<std::vector<GateStatus>> owner_gates(const std::string& owner) override;
  Result<GateStatus> set_gate(const GateOrder& order) override;
  Result<std::vector<BudgetStatus>> budgets() override;
  Result<BudgetStatus> raise_budget(const RaiseOrder& order) override;
  Result<std::vector<QueueStatus>> queues() override;
  Result<Stats> stats() override;
  Result<Stats> owner_stats(const std::string& owner) override;
  Result<StatsHistory> stats_history(HistoryStep step, int count) override;
  Result<std::vector<Alert>> alerts() override;
  Result<std::vector<PastAlert>> past_alerts(int limit) override;
  Result<Alert> snooze_alert(const SnoozeOrder& order) override;
  // Of the caller's own owner, whoever is named.
  GuardedConversations& conversation_queue() override { return conversations_; }
  Result<std::vector<SavedView>> views(const std::optional<std::string>& owner) override;
  Result<SavedView> save_view(const std::optional<std::string>& owner, const SavedView& view) override;
  Status delete_view(const std::optional<std::string>& owner, const std::string& name) override;
  Result<SessionPage> sessions(const SessionQuery& query) override;
  Result<SessionInfo> session(const SessionName& name) override;
  Result<SessionInfo> reset_session(const SessionName& name, const Verdict& verdict) override;
  Result<RunStanding> standing_of(const Lease& lease) override;
  Result<std::vector<UsageRow>> usage(const UsageQuery& query) override;
  Result<std::string> store_id() override;
  Result<Explanation> explain(const TaskId& id) override;
  Result<StuckReport> stuck(const std::optional<std::string>& owner) override;
  Result<Config> config() override;
  Result<std::vector<ConfigVersion>> config_versions() override;
  Result<Config> config_at(std::int64_t version) override;
  Result<Config> apply_config(const JsonText& document, std::int64_t based_on_version) override;
  Result<std::vector<Finding>> fsck(FsckMode mode) override;

  std::uint64_t changes() override { return queue_.changes(); }
  void wait_for_change(std::uint64_t seen, Millis timeout) override { queue_.wait_for_change(seen, timeout); }

 private:
  [[nodiscard]] Status need(Right right) const { return server::need(principal_, right); }
  // Who does it, as events and holds say: the caller's token, whatever the caller says.
  [[nodiscard]] std::string caller() const { return "token:" + principal_.token_id; }
  [[nodiscard]] Verdict signed_by_caller(const Verdict& verdict) const { return {.by = caller(), .why = verdict.why}; }
  // kNotFound: it is another owner's.
  [[nodiscard]] Status need_own_session(const SessionName& name) const;
  // The right, and that the caller may know of the task.
  [[nodiscard]] Status need(Right right, const TaskId& id);
  // The group on the caller's account, if that is allowed.
  [[nodiscard]] Result<std::vector<TaskSpec>> own(std::span<const TaskSpec> group) const;
  // The filter for what the caller may read; nothing: there is nothing of that for the caller.
  [[nodiscard]] Result<std::optional<TaskFilter>> own(const TaskFilter& filter) const;
  [[nodiscard]] Result<EventPage> events_after(const EventQuery& query);
  [[nodiscard]] Result<EventPage> events_before(const EventQuery& query);
  // The right to the verb; the order on the caller's account, if that is allowed; whether it is the caller's.
  [[nodiscard]] Status need(BulkVerb verb) const;
  [[nodiscard]] Result<BulkOrder> own(const BulkOrder& order) const;
  [[nodiscard]] bool may_see(const BulkOperation& operation) const;
  // Whether a worker may know of a question: its task, or the spawner that is asked, runs for the caller.
  [[nodiscard]] Status need_answer(const QuestionId& id);
  [[nodiscard]] Result<bool> concerns_workers_task(const Question& question) const;
  [[nodiscard]] Result<bool> runs_for_caller(const std::optional<TaskId>& id) const;
  [[nodiscard]] bool serves(const std::string& queue) const;
  [[nodiscard]] Status check_serves(std::span<const Serve> serves) const;
  // Which of them are not there for the caller: outside the queues of its token, whatever lease it shows.
  [[nodiscard]] Result<std::vector<bool>> hidden(std::span<const TaskId> ids) const;
  // Whether it runs on a worker that the caller's token registered; whether such a task, or one that it spawned,
  // spawned it.
  [[nodiscard]] Result<bool> runs_for_caller(const Task& task) const;
  [[nodiscard]] Result<bool> was_spawned_for_caller(const Task& task) const;
  // The right to work, and that the task is there for the caller.
  [[nodiscard]] Status need_work(const TaskId& id) const;
  // Whose the registration is, if there is one.
  enum class Registered : std::uint8_t { kNot, kByOther, kForCaller };
  [[nodiscard]] Result<Registered> find_worker(const std::string& worker_id) const;
  // The right to work, and that the worker is registered and the caller's.
  [[nodiscard]] Result<WorkerInfo> need_worker(const std::string& worker_id) const;
  [[nodiscard]] bool acts_for(const WorkerInfo& worker) const;

  TaskQueue& queue_;
  const Principal& principal_;
  GuardedConversations conversations_;
};

}  // namespace drover::server
