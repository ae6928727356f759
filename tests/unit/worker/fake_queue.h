// A TaskQueue that hands out what a test puts in and remembers what it is told.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "drover/bulk.h"
#include "drover/task_queue.h"

namespace drover::test {

// A task and its lease, distinct for each number.
[[nodiscard]] ClaimedTask numbered_task(int number);

class FakeQueue final : public TaskQueue {
 public:
  struct Renewed {
    std::vector<Lease> leases;
    Millis lease{0};
  };
  // A claim that was left standing. Answered by the test.
  struct Left {
    ClaimRequest request;
    std::function<void()> on_answer;
    std::optional<Result<Taken<ClaimedTask>>> answer = {};
    bool gone = false;
  };
  // What tests set up and look at. Hold `mutex` while other threads use the queue.
  std::mutex mutex;
  std::deque<ClaimedTask> ready;
  std::optional<Error> outage;                        // every worker verb answers this
  std::optional<Error> claim_refusal;                 // what a claim answers
  std::map<std::string, LeaseState> lease_states;     // by lease id; kHeld if not named
  bool drain_ordered = false;                         // what renew answers
  std::map<std::string, std::deque<Error>> refusals;  // by lease id: what settle answers first
  std::optional<Backlog> backlog_answer;              // otherwise: what is in `ready`
  std::shared_future<void> slow_progress{};           // progress() waits for it, if there is one
  bool takes_standing = false;                        // whether claims may be left standing

  std::vector<Event> news;  // what events gives out

  std::vector<std::string> calls;  // "register", "claim 3", "settle 1", …
  std::vector<WorkerInfo> registered;
  std::vector<std::string> unregistered;
  std::vector<std::string> farewells;  // the reasons of those
  std::vector<ClaimRequest> claims;
  std::vector<std::shared_ptr<Left>> left;
  std::vector<Renewed> renewals;
  std::vector<Settlement> settled;
  std::vector<Progress> progresses;
  std::vector<JsonText> checkpoints;
  std::vector<RunReport> reports;
  ReportAnswer report_answer;
  std::vector<TaskSpec> spawned;
  std::vector<LogChunk> log_chunks;
  std::map<TaskId, Task> tasks;  // for get

  // Waits until `condition`, called with the lock held, is true.
  template <class Condition>
  [[nodiscard]] bool wait_until(Millis bound, Condition condition) {
    std::unique_lock lock(mutex);
    return changed_.wait_for(lock, bound, condition);
  }
  void put(ClaimedTask task);
  // To the claim that was left last.
  void answer_standing(Result<Taken<ClaimedTask>> answer);
  // An event of that name, seq and task happened.
  void tell(std::int64_t seq, const std::string& name, const TaskId& task);
  [[nodiscard]] std::string log_text(LogStream stream);

  Result<std::vector<Enqueued>> enqueue(std::span<const TaskSpec> group) override;
  Result<std::vector<Enqueued>> spawn(const Lease& spawner, std::span<const TaskSpec> group) override;
  Result<Task> get(const TaskId& id) override;
  Result<std::vector<RunSummary>> runs(const TaskId& id) override;
  Result<TaskPage> list(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor) override;
  using TaskQueue::cancel;
  Result<CancelOutcome> cancel(const TaskId& id, const Verdict& verdict) override;
  Result<std::vector<CancelEffect>> preview_cancel(const TaskId& id) override;
  Result<Task> edit(const TaskId& id, const EditOrder& order) override;
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
  Result<std::vector<BudgetStatus>> budgets() override;
  Result<BudgetStatus> raise_budget(const RaiseOrder& order) override;
  std::vector<Result<Settled>> settle(std::span<const Settlement> items) override;
  Result<Backlog> backlog(std::span<const Serve> serves) override;
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
  Result<SummaryPage> summaries(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor) override;
  Result<TaskGraph> graph(const TaskId& id, const std::optional<std::string>& owner, int limit) override;
  Result<std::vector<GateStatus>> owner_gates(const std::string& owner) override;
  Result<StatsHistory> stats_history(HistoryStep step, int count) override;
  Result<std::vector<PastAlert>> past_alerts(int limit) override;
  Result<Alert> snooze_alert(const SnoozeOrder& order) override;
  ConversationQueue& conversation_queue() override;
  Result<Question> ask(const Lease& lease, const QuestionSpec& spec) override;
  Result<Question> question(const QuestionId& id) override;
  Result<QuestionPage> questions(const QuestionFilter& filter, int limit,
                                 const std::optional<std::string>& cursor) override;
  Result<Question> answer(const QuestionId& id, const AnswerOrder& order) override;
  Result<Question> withdraw_question(const QuestionId& id, const Verdict& verdict) override;
  Result<std::vector<SavedView>> views(const std::optional<std::string>& owner) override;
  Result<SavedView> save_view(const std::optional<std::string>& owner, const SavedView& view) override;
  Status delete_view(const std::optional<std::string>& owner, const std::string& name) override;
  Result<GateStatus> set_gate(const GateOrder& order) override;
  Result<std::vector<QueueStatus>> queues() override;
  Result<Stats> stats() override;
  Result<Stats> owner_stats(const std::string& owner) override;
  Result<std::vector<Alert>> alerts() override;
  Result<SessionPage> sessions(const SessionQuery& query) override;
  Result<SessionInfo> session(const SessionName& name) override;
  Result<SessionInfo> reset_session(const SessionName& name, const Verdict& verdict) override;
  Result<RunStanding> standing_of(const Lease& lease) override;
  Result<std::vector<UsageRow>> usage(const UsageQuery& query) override;
  Result<std::string> store_id() override { return "fake"; }
  Result<Explanation> explain(const TaskId& id) override;
  Result<StuckReport> stuck(const std::optional<std::string>& owner) override;
  Result<Config> config() override;
  Result<std::vector<ConfigVersion>> config_versions() override;
  Result<Config> config_at(std::int64_t version) override;
  Result<Config> apply_config(const JsonText& document, std::int64_t based_on_version) override;
  Result<std::vector<Finding>> fsck(FsckMode mode) override;
  std::uint64_t changes() override;
  void wait_for_change(std::uint64_t seen, Millis timeout) override;
  Result<std::unique_ptr<StandingClaim<ClaimedTask>>> leave_claim(const ClaimRequest& request,
                                                                  std::function<void()> on_answer) override;

 private:
  void note(std::string call);  // with the lock held
  [[nodiscard]] Result<Settled> settle_one(const Settlement& item);

  std::condition_variable changed_;
  std::uint64_t changes_ = 1;
};

}  // namespace drover::test
