#include "unit/worker/fake_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "drover/conversation.h"

namespace drover::test {
namespace {

std::unexpected<Error> not_for_workers() {
  return fail(ErrorCode::kInternal, "no verb of a worker");
}

template <class Bytes>
Bytes numbered(int number) {
  Bytes bytes{};
  bytes[0] = 1;
  bytes[14] = static_cast<std::uint8_t>(number >> 8);
  bytes[15] = static_cast<std::uint8_t>(number);
  return bytes;
}

TaskState state_after(const Settlement& item) {
  if (std::holds_alternative<Completion>(item.end)) return TaskState::kCompleted;
  if (std::holds_alternative<Failure>(item.end)) return TaskState::kFailed;
  if (std::holds_alternative<Release>(item.end)) return TaskState::kPending;
  if (std::holds_alternative<Suspend>(item.end)) return TaskState::kBlocked;
  return TaskState::kCancelled;
}

class FakeStandingClaim final : public StandingClaim<ClaimedTask> {
 public:
  FakeStandingClaim(FakeQueue& queue, std::shared_ptr<FakeQueue::Left> left) : queue_(queue), left_(std::move(left)) {}
  ~FakeStandingClaim() override { left_->gone = true; }
  bool is_answered() override { return left_->answer.has_value(); }
  Result<Taken<ClaimedTask>> withdraw() override {
    queue_.calls.emplace_back("withdraw");
    if (!left_->answer && queue_.outage) return std::unexpected(*queue_.outage);
    return left_->answer.value_or(Taken<ClaimedTask>{});
  }

 private:
  FakeQueue& queue_;
  const std::shared_ptr<FakeQueue::Left> left_;
};

}  // namespace

ClaimedTask numbered_task(int number) {
  ClaimedTask claimed;
  claimed.task.id = TaskId(numbered<TaskId::Bytes>(number));
  claimed.task.type = "test";
  claimed.task.queue = "test";
  claimed.task.owner = "default";
  claimed.task.state = TaskState::kRunning;
  claimed.task.run = 1;
  claimed.task.attempts = 1;
  claimed.lease = {claimed.task.id, LeaseId(numbered<LeaseId::Bytes>(number))};
  return claimed;
}

void FakeQueue::note(std::string call) {
  calls.push_back(std::move(call));
  ++changes_;
  changed_.notify_all();
}

void FakeQueue::put(ClaimedTask task) {
  const std::scoped_lock lock(mutex);
  ready.push_back(std::move(task));
  ++changes_;
  changed_.notify_all();
}

void FakeQueue::answer_standing(Result<Taken<ClaimedTask>> answer) {
  ++changes_;
  left.back()->answer = std::move(answer);
  left.back()->on_answer();
}

Result<std::unique_ptr<StandingClaim<ClaimedTask>>> FakeQueue::leave_claim(const ClaimRequest& request,
                                                                           std::function<void()> on_answer) {
  const std::scoped_lock lock(mutex);
  calls.push_back(fmt::format("leave claim {}", request.n));
  if (outage) return std::unexpected(*outage);
  if (!takes_standing) return nullptr;
  left.push_back(std::make_shared<Left>(request, std::move(on_answer)));
  return std::make_unique<FakeStandingClaim>(*this, left.back());
}

void FakeQueue::tell(std::int64_t seq, const std::string& name, const TaskId& task) {
  const std::scoped_lock lock(mutex);
  news.push_back({.seq = seq, .name = name, .task = task});
  ++changes_;
  changed_.notify_all();
}

std::string FakeQueue::log_text(LogStream stream) {
  const std::scoped_lock lock(mutex);
  std::string text;
  for (const LogChunk& chunk : log_chunks) {
    if (chunk.stream == stream) text += chunk.text;
  }
  return text;
}

Result<std::vector<Enqueued>> FakeQueue::enqueue(std::span<const TaskSpec> /*group*/) {
  return not_for_workers();
}

Result<std::vector<Enqueued>> FakeQueue::spawn(const Lease& /*spawner*/, std::span<const TaskSpec> group) {
  const std::scoped_lock lock(mutex);
  note(fmt::format("spawn {}", group.size()));
  if (outage) return std::unexpected(*outage);
  std::vector<Enqueued> enqueued;
  for (const TaskSpec& spec : group) {
    spawned.push_back(spec);
    enqueued.push_back({numbered_task(1000 + static_cast<int>(spawned.size())).task.id, TaskState::kPending, false});
  }
  return enqueued;
}

Result<Task> FakeQueue::get(const TaskId& id) {
  const std::scoped_lock lock(mutex);
  if (outage) return std::unexpected(*outage);
  const auto found = tasks.find(id);
  if (found == tasks.end()) return drover::fail(ErrorCode::kNotFound, "no such task");
  return found->second;
}

Result<std::vector<RunSummary>> FakeQueue::runs(const TaskId& /*id*/) {
  return not_for_workers();
}
Result<TaskPage> FakeQueue::list(const TaskFilter& /*filter*/, int /*limit*/,
                                 const std::optional<std::string>& /*cursor*/) {
  return not_for_workers();
}
Result<CancelOutcome> FakeQueue::cancel(const TaskId& /*id*/, const Verdict& /*verdict*/) {
  return not_for_workers();
}
Result<std::vector<CancelEffect>> FakeQueue::preview_cancel(const TaskId& /*id*/) {
  return not_for_workers();
}
Result<Task> FakeQueue::retry(const TaskId& /*id*/, const RetryOrder& /*order*/) {
  return not_for_workers();
}
Result<std::vector<Event>> FakeQueue::events(std::int64_t after, int limit) {
  const std::scoped_lock lock(mutex);
  calls.push_back(fmt::format("events {}", after));
  if (outage) return std::unexpected(*outage);
  std::vector<Event> page;
  for (const Event& event : news) {
    if (event.seq > after && static_cast<int>(page.size()) < limit) page.push_back(event);
  }
  return page;
}
Result<std::int64_t> FakeQueue::last_event_seq() {
  const std::scoped_lock lock(mutex);
  return news.empty() ? 0 : news.back().seq;
}
Result<LogPage> FakeQueue::log(const TaskId& /*id*/, const LogQuery& /*query*/) {
  return not_for_workers();
}

Status FakeQueue::register_worker(const WorkerInfo& worker) {
  const std::scoped_lock lock(mutex);
  note("register");
  if (outage) return std::unexpected(*outage);
  registered.push_back(worker);
  return {};
}

Status FakeQueue::unregister_worker(const std::string& worker_id, const std::string& reason) {
  const std::scoped_lock lock(mutex);
  note("unregister");
  if (outage) return std::unexpected(*outage);
  unregistered.push_back(worker_id);
  farewells.push_back(reason);
  return {};
}

Result<std::vector<WorkerInfo>> FakeQueue::workers() {
  return not_for_workers();
}

Result<std::vector<ClaimedTask>> FakeQueue::claim(const ClaimRequest& request) {
  const std::scoped_lock lock(mutex);
  calls.push_back(fmt::format("claim {}", request.n));
  claims.push_back(request);
  if (outage) return std::unexpected(*outage);
  if (claim_refusal) return std::unexpected(*claim_refusal);
  std::vector<ClaimedTask> claimed;
  const auto is_served = [&](const ClaimedTask& task) {
    return std::ranges::any_of(request.serves,
                               [&](const Serve& serve) { return !serve.type || *serve.type == task.task.type; });
  };
  while (static_cast<int>(claimed.size()) < request.n) {
    const auto found = std::ranges::find_if(ready, is_served);
    if (found == ready.end()) break;
    claimed.push_back(std::move(*found));
    ready.erase(found);
  }
  return claimed;
}

Result<Beat> FakeQueue::renew(const std::string& /*worker_id*/, std::span<const Lease> leases, Millis lease) {
  const std::scoped_lock lock(mutex);
  note(fmt::format("renew {}", leases.size()));
  if (outage) return std::unexpected(*outage);
  renewals.push_back({{leases.begin(), leases.end()}, lease});
  Beat beat{.leases = {}, .drain = drain_ordered};
  for (const Lease& held : leases) {
    const auto named = lease_states.find(held.id.to_string());
    beat.leases.push_back(named == lease_states.end() ? LeaseState::kHeld : named->second);
  }
  return beat;
}

Status FakeQueue::progress(const Lease& /*lease*/, const Progress& progress) {
  std::unique_lock lock(mutex);
  note("progress");
  if (outage) return std::unexpected(*outage);
  progresses.push_back(progress);
  const std::shared_future<void> slow = slow_progress;
  lock.unlock();
  if (slow.valid()) slow.wait();
  return {};
}

Status FakeQueue::append_log(const Lease& /*lease*/, std::span<const LogChunk> chunks) {
  const std::scoped_lock lock(mutex);
  note(fmt::format("append_log {}", chunks.size()));
  if (outage) return std::unexpected(*outage);
  log_chunks.insert(log_chunks.end(), chunks.begin(), chunks.end());
  return {};
}

Status FakeQueue::checkpoint(const Lease& /*lease*/, const JsonText& value) {
  const std::scoped_lock lock(mutex);
  note("checkpoint");
  if (outage) return std::unexpected(*outage);
  checkpoints.push_back(value);
  return {};
}

Result<ReportAnswer> FakeQueue::report(const Lease& /*lease*/, const RunReport& report) {
  const std::scoped_lock lock(mutex);
  note("report");
  if (outage) return std::unexpected(*outage);
  reports.push_back(report);
  return report_answer;
}

std::vector<Result<Settled>> FakeQueue::settle(std::span<const Settlement> items) {
  const std::scoped_lock lock(mutex);
  note(fmt::format("settle {}", items.size()));
  std::vector<Result<Settled>> answers;
  for (const Settlement& item : items) answers.push_back(settle_one(item));
  return answers;
}

Result<Settled> FakeQueue::settle_one(const Settlement& item) {
  if (outage) return std::unexpected(*outage);
  const auto refusal = refusals.find(item.lease.id.to_string());
  if (refusal != refusals.end() && !refusal->second.empty()) {
    const Error error = refusal->second.front();
    refusal->second.pop_front();
    return std::unexpected(error);
  }
  settled.push_back(item);
  return state_after(item);
}

Result<Backlog> FakeQueue::backlog(std::span<const Serve> /*serves*/) {
  const std::scoped_lock lock(mutex);
  calls.emplace_back("backlog");
  if (outage) return std::unexpected(*outage);
  return backlog_answer.value_or(Backlog{.waiting = static_cast<std::int64_t>(ready.size())});
}

Result<int> FakeQueue::requeue_stalled(Millis /*max_age*/) {
  return not_for_workers();
}
Status FakeQueue::drain_worker(const DrainOrder& /*order*/) {
  return not_for_workers();
}
Result<std::vector<ErrorGroup>> FakeQueue::error_groups(const TaskFilter& /*filter*/) {
  return not_for_workers();
}
Result<Stats> FakeQueue::owner_stats(const std::string& /*owner*/) {
  return not_for_workers();
}
Result<Task> FakeQueue::edit(const TaskId& /*id*/, const EditOrder& /*order*/) {
  return not_for_workers();
}
Result<Task> FakeQueue::escalate(const TaskId& /*id*/, const EscalateOrder& /*order*/) {
  return not_for_workers();
}
Status FakeQueue::remove(const TaskId& /*id*/, const Verdict& /*verdict*/) {
  return not_for_workers();
}
Result<std::vector<BudgetStatus>> FakeQueue::budgets() {
  return not_for_workers();
}
Result<BudgetStatus> FakeQueue::raise_budget(const RaiseOrder& /*order*/) {
  return not_for_workers();
}
Result<std::vector<GateStatus>> FakeQueue::gates() {
  return not_for_workers();
}
Result<SummaryPage> FakeQueue::summaries(const TaskFilter& /*filter*/, int /*limit*/,
                                         const std::optional<std::string>& /*cursor*/) {
  return not_for_workers();
}
Result<TaskGraph> FakeQueue::graph(const TaskId& /*id*/, const std::optional<std::string>& /*owner*/, int /*limit*/) {
  return not_for_workers();
}
Result<std::vector<GateStatus>> FakeQueue::owner_gates(const std::string& /*owner*/) {
  return not_for_workers();
}
Result<StatsHistory> FakeQueue::stats_history(HistoryStep /*step*/, int /*count*/) {
  return not_for_workers();
}
Result<std::vector<PastAlert>> FakeQueue::past_alerts(int /*limit*/) {
  return not_for_workers();
}
Result<Alert> FakeQueue::snooze_alert(const SnoozeOrder& /*order*/) {
  return not_for_workers();
}
ConversationQueue& FakeQueue::conversation_queue() {
  class NoConversations final : public ConversationQueue {
    Result<ConversationsPage> conversations(const ConversationsQuery& /*query*/) override { return not_for_workers(); }
    Result<Conversation> conversation(const ConversationName& /*name*/,
                                      const ConversationItemsQuery& /*query*/) override {
      return not_for_workers();
    }
    Result<ConversationReply> act(const ConversationName& /*name*/, const ConversationAct& /*act*/) override {
      return not_for_workers();
    }
  };
  static NoConversations none;
  return none;
}
Result<Question> FakeQueue::ask(const Lease& /*lease*/, const QuestionSpec& /*spec*/) {
  return not_for_workers();
}
Result<Question> FakeQueue::question(const QuestionId& /*id*/) {
  return not_for_workers();
}
Result<QuestionPage> FakeQueue::questions(const QuestionFilter& /*filter*/, int /*limit*/,
                                          const std::optional<std::string>& /*cursor*/) {
  return not_for_workers();
}
Result<Question> FakeQueue::answer(const QuestionId& /*id*/, const AnswerOrder& /*order*/) {
  return not_for_workers();
}
Result<Question> FakeQueue::withdraw_question(const QuestionId& /*id*/, const Verdict& /*verdict*/) {
  return not_for_workers();
}
Result<std::vector<SavedView>> FakeQueue::views(const std::optional<std::string>& /*owner*/) {
  return not_for_workers();
}
Result<SavedView> FakeQueue::save_view(const std::optional<std::string>& /*owner*/, const SavedView& /*view*/) {
  return not_for_workers();
}
Status FakeQueue::delete_view(const std::optional<std::string>& /*owner*/, const std::string& /*name*/) {
  return not_for_workers();
}
Result<GateStatus> FakeQueue::set_gate(const GateOrder& /*order*/) {
  return not_for_workers();
}
Result<BulkPreview> FakeQueue::preview_bulk(const BulkOrder& /*order*/) {
  return not_for_workers();
}
Result<BulkOperation> FakeQueue::start_bulk(const BulkOrder& /*order*/) {
  return not_for_workers();
}
Result<std::vector<BulkOperation>> FakeQueue::bulk_operations() {
  return not_for_workers();
}
Result<BulkOperation> FakeQueue::bulk_operation(const BulkId& /*id*/) {
  return not_for_workers();
}
Result<BulkOperation> FakeQueue::stop_bulk(const BulkId& /*id*/, const Verdict& /*verdict*/) {
  return not_for_workers();
}
Result<std::vector<QueueStatus>> FakeQueue::queues() {
  return not_for_workers();
}
Result<Stats> FakeQueue::stats() {
  return not_for_workers();
}
Result<std::vector<Alert>> FakeQueue::alerts() {
  return not_for_workers();
}
Result<SessionPage> FakeQueue::sessions(const SessionQuery& /*query*/) {
  return not_for_workers();
}
Result<SessionInfo> FakeQueue::session(const SessionName& /*name*/) {
  return not_for_workers();
}
Result<SessionInfo> FakeQueue::reset_session(const SessionName& /*name*/, const Verdict& /*verdict*/) {
  return not_for_workers();
}
Result<RunStanding> FakeQueue::standing_of(const Lease& /*lease*/) {
  return RunStanding{};
}
Result<std::vector<UsageRow>> FakeQueue::usage(const UsageQuery& /*query*/) {
  return not_for_workers();
}
Result<Explanation> FakeQueue::explain(const TaskId& /*id*/) {
  return not_for_workers();
}
Result<StuckReport> FakeQueue::stuck(const std::optional<std::string>& /*owner*/) {
  return not_for_workers();
}
Result<Config> FakeQueue::config() {
  return not_for_workers();
}
Result<std::vector<ConfigVersion>> FakeQueue::config_versions() {
  return not_for_workers();
}
Result<Config> FakeQueue::config_at(std::int64_t /*version*/) {
  return not_for_workers();
}
Result<Config> FakeQueue::apply_config(const JsonText& /*document*/, std::int64_t /*based_on_version*/) {
  return not_for_workers();
}
Result<std::vector<Finding>> FakeQueue::fsck(FsckMode /*mode*/) {
  return not_for_workers();
}

std::uint64_t FakeQueue::changes() {
  const std::scoped_lock lock(mutex);
  return changes_;
}

void FakeQueue::wait_for_change(std::uint64_t seen, Millis timeout) {
  std::unique_lock lock(mutex);
  changed_.wait_for(lock, timeout, [&] { return changes_ != seen; });
}

}  // namespace drover::test
