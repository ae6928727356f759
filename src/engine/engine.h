// Engine: TaskQueue over a Store. One file per verb beside this one.
//
// Every verb reads the records that it concerns, lets the rules of core decide, and applies the steps as one group. If
// something moved meanwhile the store refuses the group and the verb decides anew, a bounded number of times.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "base/rng.h"
#include "core/believed_time.h"
#include "core/policy.h"
#include "core/transition.h"
#include "drover/bulk.h"
#include "engine/conversations.h"
#include "engine/recent_reads.h"
#include "store/store.h"

namespace drover {

class RecordView;

class Engine final : public TaskQueue {
 public:
  // Both outlive the engine.
  Engine(Store& store, Rng& rng) : store_(store), rng_(rng) {}

  Result<std::vector<Enqueued>> enqueue(std::span<const TaskSpec> group) override;
  std::vector<Result<std::vector<Enqueued>>> enqueue_groups(std::span<const std::span<const TaskSpec>> groups) override;
  Result<std::vector<Enqueued>> spawn(const Lease& spawner, std::span<const TaskSpec> group) override;
  Result<Task> get(const TaskId& id) override;
  Result<std::vector<std::optional<Task>>> heads(std::span<const TaskId> ids) override;
  Result<std::vector<RunSummary>> runs(const TaskId& id) override;
  Result<TaskPage> list(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor) override;
  Result<TaskPage> list_heads(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor) override;
  Result<SummaryPage> summaries(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor) override;
  Result<TaskGraph> graph(const TaskId& id, const std::optional<std::string>& owner, int limit) override;
  using TaskQueue::cancel;
  Result<CancelOutcome> cancel(const TaskId& id, const Verdict& verdict) override;
  Result<std::vector<CancelEffect>> preview_cancel(const TaskId& id) override;
  Result<Task> edit(const TaskId& id, const EditOrder& order) override;
  using TaskQueue::retry;
  Result<Task> retry(const TaskId& id, const RetryOrder& order) override;
  Result<std::vector<Event>> events(std::int64_t after, int limit) override;
  Result<std::int64_t> last_event_seq() override;
  using TaskQueue::log;
  Result<LogPage> log(const TaskId& id, const LogQuery& query) override;

  Status register_worker(const WorkerInfo& worker) override;
  Status unregister_worker(const std::string& worker_id, const std::string& reason) override;
  Result<std::vector<WorkerInfo>> workers() override;
  Result<std::optional<WorkerInfo>> worker(const std::string& worker_id) override;
  Result<std::vector<ClaimedTask>> claim(const ClaimRequest& request) override;
  Result<Beat> renew(const std::string& worker_id, std::span<const Lease> leases, Millis lease) override;
  Status progress(const Lease& lease, const Progress& progress) override;
  Status append_log(const Lease& lease, std::span<const LogChunk> chunks) override;
  Status checkpoint(const Lease& lease, const JsonText& value) override;
  Result<ReportAnswer> report(const Lease& lease, const RunReport& report) override;
  std::vector<Result<Settled>> settle(std::span<const Settlement> items) override;
  Result<Question> ask(const Lease& lease, const QuestionSpec& spec) override;
  Result<Backlog> backlog(std::span<const Serve> serves) override;
  Result<Question> question(const QuestionId& id) override;
  Result<QuestionPage> questions(const QuestionFilter& filter, int limit,
                                 const std::optional<std::string>& cursor) override;
  Result<Question> answer(const QuestionId& id, const AnswerOrder& order) override;
  Result<Question> withdraw_question(const QuestionId& id, const Verdict& verdict) override;
  Result<int> requeue_stalled(Millis max_age) override;

  Status drain_worker(const DrainOrder& order) override;
  Result<std::vector<ErrorGroup>> error_groups(const TaskFilter& filter) override;
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

  ConversationQueue& conversation_queue() override;

  std::uint64_t changes() override { return store_.changes(); }
  void wait_for_change(std::uint64_t seen, Millis timeout) override { store_.wait_for_change(seen, timeout); }
  void wait_for_work(std::span<const Serve> serves, std::uint64_t seen, Millis timeout,
                     const std::stop_token& stop) override {
    store_.wait_for_work(serves, seen, timeout, stop);
  }
  Result<std::unique_ptr<StandingClaim<ClaimedTask>>> leave_claim(const ClaimRequest& request,
                                                                  std::function<void()> on_answer) override;

  // The policy in force: what the store's document says. Parsed once per version.
  Result<std::shared_ptr<const Policy>> policy();
  // What health.h judges.
  Result<struct HealthSnapshot> look_at_health();
  // Whether a dump is on its way into the store.
  [[nodiscard]] Result<bool> is_importing();

 private:
  friend class Sweepers;
  friend class BulkSweeper;
  class LeftClaim;

  // What the same settlement was answered before, if this lease ended its run by it; else the error.
  Result<Settled> replay(const Settlement& item, const Error& stale);
  // Tells the event log of a result that comes too late, if it is one; the answer to the item.
  Result<Settled> refuse_late(const Settlement& item, const Error& stale);
  Status decide_end(const TaskId& id, const Trigger& trigger);
  // What a verb makes of a task as it is now; an empty group changes nothing.
  using Decide = std::function<Result<StepGroup>(RecordView& view, const TaskRecord& record)>;
  // Reads the task, lets `decide` decide, and applies that; again if something moved meanwhile.
  Status change(const TaskId& id, Parts parts, std::string_view verb, const Decide& decide);
  // Closes or moves a question, with what follows for its task; again if something moved meanwhile.
  using ChangeQuestion = std::function<Result<Question>(const Question& question, Time now)>;
  Result<Question> change_question(const QuestionId& id, const ChangeQuestion& change);
  // What its time brings; false: nothing any more.
  Result<bool> sweep_question(const QuestionId& id);
  Result<StepGroup> question_steps(const QuestionRecord& before, Question after, Time now);
  // The budget that the answered question is about is raised.
  Result<std::vector<GateStep>> raise_asked_for(const Question& question, Time now);
  // Marks budgets that nothing more can start behind and that say `ask`, and asks; how many.
  Result<int> ask_for_budgets();
  Result<bool> ask_for_budget(const BudgetStatus& status);
  [[nodiscard]] std::vector<LeaseId> new_lease_ids(int n);
  Result<Claimed> claim_records(const ClaimRequest& request, const Policy& policy);
  using FilledTasks = std::map<TaskId, Task>;
  // Takes out what the policy refuses now and fails it; whether there was any. Those with templates come filled in.
  bool fail_refused(std::vector<TaskRecord>& records, const Policy& policy, FilledTasks& filled);
  std::vector<ClaimedTask> handed_out(std::vector<TaskRecord> records, FilledTasks& filled);
  // What those that run in a session need to know of it.
  void tell_sessions(std::span<ClaimedTask> claimed);
  Status write_note(Note note);
  Result<TaskPage> list_parts(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor,
                              Parts parts);
  Result<Config> put_policy(const JsonText& document, const Policy& policy, std::int64_t based_on_version);
  Status align_gates();
  // What the engine keeps in the store and no store reads.
  void check_own(FsckMode mode, std::vector<Finding>& findings);
  // Begins the next period of budgets whose period is over by `now`.
  Status begin_periods(const std::shared_ptr<const Policy>& policy, Time now);
  // How many tasks a checked order is about; kNotFound names an id that is not there.
  Result<BulkPreview> count_bulk(const BulkOrder& order);
  Result<std::vector<GateStatus>> gates_of_fleet(const std::optional<std::string>& owner);
  // Makes of a document what `change` says, again if somebody else did meanwhile.
  using ChangeText = std::function<Result<JsonText>(const JsonText& text)>;
  Status change_document(DocumentKind kind, std::string_view verb, const ChangeText& change);
  Status keep_past_alerts(std::span<const Alert> cleared, Time now);
  // The time, for what may end a task.
  Result<Time> time_of_end();
  Result<BelievedTime> look_at_clocks(const StoreClocks& clocks);

  Store& store_;
  Rng& rng_;
  LocalConversations conversations_{*this, store_, rng_};
  RecentReads recent_;
  std::mutex policy_mutex_;
  std::int64_t policy_version_ = -1;
  std::shared_ptr<const Policy> policy_;
  std::mutex clocks_mutex_;
  std::optional<StoreClocks> last_clocks_;
  std::mutex periods_mutex_;
  std::shared_ptr<const Policy> periods_of_;  // whose budgets stand in their present period until then
  Time periods_until_{};
};

// How often a verb decides anew when others keep changing what it is about.
inline constexpr int kDecideTriesMax = 64;

[[nodiscard]] std::unexpected<Error> too_much_contention(std::string_view verb);
[[nodiscard]] std::unexpected<Error> no_such_task(const TaskId& id);
[[nodiscard]] std::unexpected<Error> still_leased(const TaskId& id);
// What people say of a change: bounded UTF-8. `what` names it in the error: "a reason".
[[nodiscard]] Status check_words(std::string_view what, std::string_view words);
[[nodiscard]] Status check_verdict(const Verdict& verdict);

}  // namespace drover
