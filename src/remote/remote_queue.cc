#include "remote/remote_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/rng.h"
#include "base/try.h"
#include "core/ledger.h"
#include "core/question.h"
#include "core/question_json.h"
#include "core/run_report.h"
#include "core/session_record.h"
#include "core/task_filter.h"
#include "net/url.h"
#include "remote/checks.h"
#include "remote/claim_keys.h"
#include "remote/remote_conversations.h"
#include "remote/server_calls.h"
#include "wire/bulk.h"
#include "wire/filter_query.h"

namespace drover {
namespace {

using remote::Body;
using remote::Listed;
using remote::Named;
using remote::Query;
using remote::unreadable;
using remote::with_query;

// A look at everything takes as long as there is much.
constexpr Millis kFsckTimeout{600'000};
// What a server waits at most on behalf of a client.
constexpr Millis kWaitMax{30'000};
constexpr Millis kStopWithin{1'000};  // how soon a worker that waits notices that it is to end
constexpr Millis kPauseAfterFailure{500};

std::string task_path(const TaskId& id, std::string_view verb = {}) {
  return fmt::format("/v1/tasks/{}{}{}", id.to_string(), verb.empty() ? "" : "/", verb);
}

std::string worker_path(const std::string& id, std::string_view verb = {}) {
  return fmt::format("/v1/workers/{}{}{}", percent_encode(id), verb.empty() ? "" : "/", verb);
}

std::string bulk_path(const BulkId& id, std::string_view verb = {}) {
  return fmt::format("/v1/bulk/{}{}{}", id.to_string(), verb.empty() ? "" : "/", verb);
}

std::string session_path(const SessionName& name) {
  return fmt::format("/v1/sessions/{}/{}", percent_encode(name.owner), percent_encode(name.name));
}

class RemoteQueue final : public TaskQueue {
 public:
  explicit RemoteQueue(std::unique_ptr<remote::ServerCalls> calls) : calls_(std::move(calls)) {}
  ~RemoteQueue() override { calls_->leaving().raise(); }

  Result<std::vector<Enqueued>> enqueue(std::span<const TaskSpec> group) override {
    TRY(check_group(group));
    return calls_->ask_list<Enqueued>("tasks", "POST", "/v1/tasks", Body().list("tasks", group).take());
  }

  Result<std::vector<Enqueued>> spawn(const Lease& spawner, std::span<const TaskSpec> group) override {
    TRY(check_group(group));
    Listed<Enqueued> listed{.name = "tasks", .items = {}};
    TRY(calls_->ask_into(listed, "POST", task_path(spawner.task, "children"), Body().list("tasks", group).take(),
                         calls_->timeout(), {{"drover-lease", spawner.id.to_string()}}));
    return std::move(listed.items);
  }

  Result<Task> get(const TaskId& id) override { return calls_->ask<Task>("GET", task_path(id)); }

  Result<Task> parent(const TaskId& child, const TaskId& parent) override {
    return calls_->ask<Task>("GET", task_path(child, "parents/" + parent.to_string()));
  }

  Result<std::vector<RunSummary>> runs(const TaskId& id) override {
    return calls_->ask_list<RunSummary>("runs", "GET", task_path(id, "runs"));
  }

  Result<TaskPage> list(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor) override {
    TRY(check_filter(filter));
    Query query = query_of_filter(filter);
    query.emplace_back("limit", std::to_string(limit));
    if (cursor) query.emplace_back("cursor", *cursor);
    return calls_->ask<TaskPage>("GET", with_query("/v1/tasks", query));
  }

  Result<SummaryPage> summaries(const TaskFilter& filter, int limit,
                                const std::optional<std::string>& cursor) override {
    TRY(check_filter(filter));
    Query query = query_of_filter(filter);
    query.emplace_back("view", "summary");
    query.emplace_back("limit", std::to_string(limit));
    if (cursor) query.emplace_back("cursor", *cursor);
    return calls_->ask<SummaryPage>("GET", with_query("/v1/tasks", query));
  }

  // The token decides whose tasks it sees; an owner that is named narrows that no further.
  Result<TaskGraph> graph(const TaskId& id, const std::optional<std::string>& owner, int limit) override {
    Query query{{"limit", std::to_string(limit)}};
    if (owner) query.emplace_back("owner", *owner);
    return calls_->ask<TaskGraph>("GET", with_query(task_path(id, "graph"), query));
  }

  using TaskQueue::cancel;
  Result<CancelOutcome> cancel(const TaskId& id, const Verdict& verdict) override {
    TRY(check_texts({verdict.why}));
    return calls_->ask<CancelOutcome>("POST", task_path(id, "cancel"), Body().text("reason", verdict.why).take());
  }

  Result<std::vector<CancelEffect>> preview_cancel(const TaskId& id) override {
    return calls_->ask_list<CancelEffect>("effects", "GET", task_path(id, "cancel"));
  }

  Result<Task> edit(const TaskId& id, const EditOrder& order) override {
    TRY(check_edit_texts(order));
    HttpHeaders headers;
    if (order.version) headers.emplace_back("if-match", fmt::format("\"{}\"", *order.version));
    Task task;
    TRY(calls_->ask_into(task, "PATCH", task_path(id), to_json(order), calls_->timeout(), std::move(headers)));
    return task;
  }

  using TaskQueue::retry;
  Result<Task> retry(const TaskId& id, const RetryOrder& order) override {
    TRY(check_texts({order.verdict.why}));
    return calls_->ask<Task>("POST", task_path(id, "retry"), to_json(order));
  }

  Result<std::vector<Event>> events(std::int64_t after, int limit) override {
    for (;;) {
      Named<std::int64_t> next{.name = "next"};
      Listed<Event> listed{.name = "events", .items = {}};
      const auto body = TRY(calls_->fetch(
          "GET", with_query("/v1/events", {{"after", std::to_string(after)}, {"limit", std::to_string(limit)}})));
      if (const Status read = read_json(body, listed); !read) return unreadable(read.error());
      if (const Status read = read_json(body, next); !read) return unreadable(read.error());
      // Among many events of others there may be none of ours.
      if (!listed.items.empty() || next.value == after) return std::move(listed.items);
      after = next.value;
    }
  }

  Result<std::int64_t> last_event_seq() override {
    return calls_->ask_value<std::int64_t>("seq", "GET", "/v1/events/last");
  }

  using TaskQueue::log;
  Result<LogPage> log(const TaskId& id, const LogQuery& query) override {
    Query parameters{{"after", std::to_string(query.after)}, {"limit", std::to_string(query.limit)}};
    if (query.before) parameters.emplace_back("before", std::to_string(*query.before));
    if (query.run) parameters.emplace_back("run", std::to_string(*query.run));
    return calls_->ask<LogPage>("GET", with_query(task_path(id, "log"), parameters));
  }

  Status register_worker(const WorkerInfo& worker) override {
    return calls_->tell("POST", "/v1/workers", to_json(worker), remote::Effect::kNone);
  }

  Status unregister_worker(const std::string& worker_id, const std::string& reason) override {
    return calls_->tell("DELETE", with_query(worker_path(worker_id), {{"reason", reason}}));
  }

  Result<std::vector<WorkerInfo>> workers() override {
    return calls_->ask_list<WorkerInfo>("workers", "GET", "/v1/workers");
  }

  Result<std::vector<ClaimedTask>> claim(const ClaimRequest& request) override {
    if (!request.claim_key) return claim_with_key(request);
    auto claimed = calls_->ask_list<ClaimedTask>("tasks", "POST", worker_path(request.worker_id, "claim"),
                                                 to_json(request), remote::Effect::kNone);
    if (claimed && !claimed->empty()) calls_->count_change();
    return claimed;
  }

  Result<Beat> renew(const std::string& worker_id, std::span<const Lease> leases, Millis lease) override {
    return calls_->ask<Beat>("POST", worker_path(worker_id, "heartbeat"),
                             Body().list("leases", leases).number("lease_ms", lease.count()).take(),
                             remote::Effect::kNone);
  }

  Status progress(const Lease& lease, const Progress& progress) override {
    TRY(check_texts({progress.message}));
    return calls_->tell("POST", task_path(lease.task, "progress"),
                        Body()
                            .text("lease_id", lease.id.to_string())
                            .number("percent", progress.percent)
                            .text("message", progress.message)
                            .take());
  }

  Result<ReportAnswer> report(const Lease& lease, const RunReport& report) override {
    TRY(check_report(report));
    const auto answer = TRY(calls_->fetch("POST", task_path(lease.task, "usage"), to_json(lease.id, report)));
    ReportAnswer told;
    if (answer.empty()) return told;  // it goes on
    if (const Status read = read_json(answer, told); !read) return unreadable(read.error());
    return told;
  }

  Status append_log(const Lease& lease, std::span<const LogChunk> chunks) override {
    return calls_->tell("POST", task_path(lease.task, "log"),
                        Body().text("lease_id", lease.id.to_string()).list("chunks", chunks).take());
  }

  Status checkpoint(const Lease& lease, const JsonText& value) override {
    return calls_->tell("POST", task_path(lease.task, "checkpoint"),
                        Body().text("lease_id", lease.id.to_string()).json("value", value).take());
  }

  // One that is bad is not sent: inside a document it would spoil the others.
  std::vector<Result<Settled>> settle(std::span<const Settlement> items) override {
    std::vector<Result<Settled>> answers(items.size(), TaskState::kPending);
    std::vector<Settlement> good;
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (const Status checked = check_settlement(items[i]); !checked) {
        answers[i] = std::unexpected(checked.error());
        continue;
      }
      good.push_back(items[i]);
      indices.push_back(i);
    }
    if (good.empty()) return answers;
    const auto settled = ask_settled(Body().list("items", good).take(), good.size());
    for (std::size_t i = 0; i < good.size(); ++i) {
      answers[indices[i]] = settled ? (*settled)[i] : std::unexpected(settled.error());
    }
    return answers;
  }

  Result<Backlog> backlog(std::span<const Serve> serves) override {
    return calls_->ask<Backlog>("POST", "/v1/backlog", Body().list("serves", serves).take(), remote::Effect::kNone);
  }

  Result<int> requeue_stalled(Millis max_age) override {
    return calls_->ask_value<int>("requeued", "POST", "/v1/stalled",
                                  Body().number("max_age_ms", max_age.count()).take());
  }

  Status drain_worker(const DrainOrder& order) override {
    TRY(check_texts({order.why}));
    return calls_->tell("POST", worker_path(order.worker_id, "drain"), Body().text("why", order.why).take());
  }

  Result<std::vector<ErrorGroup>> error_groups(const TaskFilter& filter) override {
    TRY(check_filter(filter));
    return calls_->ask_list<ErrorGroup>("groups", "GET", with_query("/v1/dlq", query_of_filter(filter)));
  }

  Result<Task> escalate(const TaskId& id, const EscalateOrder& order) override {
    TRY(check_texts({order.to, order.verdict.why}));
    return calls_->ask<Task>("POST", task_path(id, "escalate"),
                             Body().text("to", order.to).text("why", order.verdict.why).take());
  }

  Status remove(const TaskId& id, const Verdict& verdict) override {
    return calls_->tell("DELETE", with_query(task_path(id), {{"why", verdict.why}}));
  }

  Result<BulkPreview> preview_bulk(const BulkOrder& order) override {
    TRY(check_bulk_texts(order));
    return calls_->ask<BulkPreview>("POST", "/v1/bulk", to_json(BulkRequest{order, BulkMode::kDryRun}));
  }

  Result<BulkOperation> start_bulk(const BulkOrder& order) override {
    TRY(check_bulk_texts(order));
    return calls_->ask<BulkOperation>("POST", "/v1/bulk", to_json(BulkRequest{order, BulkMode::kStart}));
  }

  Result<std::vector<BulkOperation>> bulk_operations() override {
    return calls_->ask_list<BulkOperation>("operations", "GET", "/v1/bulk");
  }

  Result<BulkOperation> bulk_operation(const BulkId& id) override {
    return calls_->ask<BulkOperation>("GET", bulk_path(id));
  }

  Result<BulkOperation> stop_bulk(const BulkId& id, const Verdict& verdict) override {
    TRY(check_texts({verdict.why}));
    return calls_->ask<BulkOperation>("POST", bulk_path(id, "stop"), Body().text("why", verdict.why).take());
  }

  Result<std::vector<GateStatus>> gates() override { return ask_gates({}); }
  Result<std::vector<GateStatus>> owner_gates(const std::string& owner) override {
    return ask_gates({{"owner", owner}});
  }

  Result<GateStatus> set_gate(const GateOrder& order) override {
    TRY(check_texts({order.why}));
    Body body;
    body.text("why", order.why);
    if (const auto* close = std::get_if<GateOrder::Close>(&order.what)) {
      body.text("action", "close");
      if (close->until != kUntilOpened) body.text("until", format_time(close->until));
    } else if (const auto* limit = std::get_if<GateOrder::Limit>(&order.what)) {
      body.text("action", "limit");
      if (limit->permits) body.number("permits", *limit->permits);
    } else {
      body.text("action", "open");
    }
    return calls_->ask<GateStatus>("POST", "/v1/gates/" + percent_encode(order.gate), body.take());
  }

  Result<std::vector<BudgetStatus>> budgets() override {
    return calls_->ask_list<BudgetStatus>("budgets", "GET", "/v1/budgets");
  }
  Result<BudgetStatus> raise_budget(const RaiseOrder& order) override {
    TRY(check_texts({order.why}));
    Body body;
    body.text("unit", name_of(order.unit)).text("why", order.why);
    if (order.unit == BudgetUnit::kUsd) {
      body.json("amount", format_dollars(order.by_amount));
    } else {
      body.number("amount", order.by_amount);
    }
    if (order.per) body.text("per", name_of(*order.per));
    return calls_->ask<BudgetStatus>("POST", "/v1/budgets/" + percent_encode(order.gate) + "/raise", body.take());
  }

  Result<std::vector<QueueStatus>> queues() override {
    return calls_->ask_list<QueueStatus>("queues", "GET", "/v1/queues");
  }
  Result<Stats> stats() override { return calls_->ask<Stats>("GET", "/v1/stats"); }
  Result<Stats> owner_stats(const std::string& owner) override {
    return calls_->ask<Stats>("GET", with_query("/v1/stats", {{"owner", owner}}));
  }
  Result<SessionPage> sessions(const SessionQuery& query) override {
    Query parameters{{"limit", std::to_string(query.limit)}};
    if (query.owner) parameters.emplace_back("owner", *query.owner);
    if (query.cursor) parameters.emplace_back("cursor", *query.cursor);
    return calls_->ask<SessionPage>("GET", with_query("/v1/sessions", parameters));
  }
  Result<SessionInfo> session(const SessionName& name) override {
    return calls_->ask<SessionInfo>("GET", session_path(name));
  }
  Result<SessionInfo> reset_session(const SessionName& name, const Verdict& verdict) override {
    TRY(check_texts({verdict.why}));
    return calls_->ask<SessionInfo>("POST", session_path(name) + "/reset", Body().text("why", verdict.why).take());
  }
  Result<RunStanding> standing_of(const Lease& lease) override {
    return calls_->ask<RunStanding>("POST", task_path(lease.task, "standing"),
                                    Body().text("lease_id", lease.id.to_string()).take(), remote::Effect::kNone);
  }
  Result<std::vector<UsageRow>> usage(const UsageQuery& query) override {
    Query parameters{{"by", join_names(query.by)}};
    if (!query.from.empty()) parameters.emplace_back("from", query.from);
    if (!query.to.empty()) parameters.emplace_back("to", query.to);
    if (query.owner) parameters.emplace_back("owner", *query.owner);
    if (query.type) parameters.emplace_back("type", *query.type);
    return calls_->ask_list<UsageRow>("rows", "GET", with_query("/v1/usage", parameters));
  }
  Result<StatsHistory> stats_history(HistoryStep step, int count) override {
    const std::string unit = step == HistoryStep::kMinute ? "minutes" : "hours";
    return calls_->ask<StatsHistory>("GET", with_query("/v1/stats/history", {{unit, std::to_string(count)}}));
  }
  Result<std::vector<Alert>> alerts() override { return calls_->ask_list<Alert>("alerts", "GET", "/v1/alerts"); }
  Result<std::vector<PastAlert>> past_alerts(int limit) override {
    return calls_->ask_list<PastAlert>("alerts", "GET",
                                       with_query("/v1/alerts/history", {{"limit", std::to_string(limit)}}));
  }
  Result<Alert> snooze_alert(const SnoozeOrder& order) override {
    TRY(check_texts({order.verdict.why}));
    return calls_->ask<Alert>(
        "POST", fmt::format("/v1/alerts/{}/snooze", percent_encode(order.key)),
        Body().text("for", format_duration(order.duration)).text("why", order.verdict.why).take());
  }
  Result<Question> ask(const Lease& lease, const QuestionSpec& spec) override {
    TRY(checked_question(spec));
    return calls_->ask<Question>("POST", task_path(lease.task, "questions"),
                                 Body().text("lease_id", lease.id.to_string()).json("question", to_json(spec)).take());
  }
  Result<Question> question(const QuestionId& id) override {
    return calls_->ask<Question>("GET", "/v1/questions/" + id.to_string());
  }
  Result<QuestionPage> questions(const QuestionFilter& filter, int limit,
                                 const std::optional<std::string>& cursor) override {
    Query query{{"limit", std::to_string(limit)}};
    if (filter.state) query.emplace_back("state", name_of(*filter.state));
    if (filter.owner) query.emplace_back("owner", *filter.owner);
    if (filter.task_id) query.emplace_back("task", filter.task_id->to_string());
    if (filter.spawner) query.emplace_back("spawner", filter.spawner->to_string());
    if (filter.to) query.emplace_back("to", name_of(*filter.to));
    if (cursor) query.emplace_back("cursor", *cursor);
    return calls_->ask<QuestionPage>("GET", with_query("/v1/questions", query));
  }
  // Who answers is the token's to say.
  Result<Question> answer(const QuestionId& id, const AnswerOrder& order) override {
    if (auto value = json::compact(order.value); !value) {
      return ::drover::fail(ErrorCode::kInvalidArgument, "answer: " + value.error().message);
    }
    if (!order.spawner) {
      return calls_->ask<Question>("POST", fmt::format("/v1/questions/{}/answer", id.to_string()),
                                   Body().json("value", order.value).take());
    }
    return calls_->ask<Question>("POST", task_path(order.spawner->task, "answers"),
                                 Body()
                                     .text("lease_id", order.spawner->id.to_string())
                                     .text("question_id", id.to_string())
                                     .json("value", order.value)
                                     .take());
  }
  Result<Question> withdraw_question(const QuestionId& id, const Verdict& verdict) override {
    TRY(check_texts({verdict.why}));
    return calls_->ask<Question>("POST", fmt::format("/v1/questions/{}/withdraw", id.to_string()),
                                 Body().text("why", verdict.why).take());
  }
  // Whose they are is decided by the token.
  ConversationQueue& conversation_queue() override { return conversations_; }

  Result<std::vector<SavedView>> views(const std::optional<std::string>& /*owner*/) override {
    return calls_->ask_list<SavedView>("views", "GET", "/v1/views");
  }
  Result<SavedView> save_view(const std::optional<std::string>& /*owner*/, const SavedView& view) override {
    TRY(check_texts({view.name, view.query}));
    return calls_->ask<SavedView>("PUT", "/v1/views/" + percent_encode(view.name),
                                  Body().text("query", view.query).take());
  }
  Status delete_view(const std::optional<std::string>& /*owner*/, const std::string& name) override {
    return calls_->tell("DELETE", "/v1/views/" + percent_encode(name));
  }
  Result<std::string> store_id() override {
    if (calls_->store_id().empty()) TRY(last_event_seq());  // any answer tells
    if (std::string id = calls_->store_id(); !id.empty()) return id;
    return ::drover::fail(ErrorCode::kForbidden,
                          "the server tells only workers, operators and admins which store it has; use such a token");
  }

  Result<Explanation> explain(const TaskId& id) override {
    return calls_->ask<Explanation>("GET", task_path(id, "explain"));
  }
  Result<StuckReport> stuck(const std::optional<std::string>& owner) override {
    return calls_->ask<StuckReport>("GET", owner ? with_query("/v1/stuck", {{"owner", *owner}}) : "/v1/stuck");
  }
  Result<Config> config() override { return calls_->ask<Config>("GET", "/v1/config"); }

  Result<std::vector<ConfigVersion>> config_versions() override {
    return calls_->ask_list<ConfigVersion>("versions", "GET", "/v1/config/versions");
  }

  Result<Config> config_at(std::int64_t version) override {
    return calls_->ask<Config>("GET", fmt::format("/v1/config/versions/{}", version));
  }

  Result<Config> apply_config(const JsonText& document, std::int64_t based_on_version) override {
    TRY(check_document(document));
    return calls_->ask<Config>("PUT", "/v1/config",
                               Body().number("version", based_on_version).json("document", document).take());
  }

  Result<std::vector<Finding>> fsck(FsckMode mode) override {
    Listed<Finding> listed{.name = "findings", .items = {}};
    TRY(calls_->ask_into(listed, "POST", "/v1/fsck", Body().boolean("repair", mode == FsckMode::kRepair).take(),
                         kFsckTimeout, {}));
    return std::move(listed.items);
  }

  // Counts what this client did or heard of. A wait from a number that is behind ends at once.
  std::uint64_t changes() override { return calls_->changes() + times_heard_.load(); }

  void wait_for_change(std::uint64_t seen, Millis timeout) override { wait(seen, timeout, {}); }

  void wait_for_work(std::span<const Serve> serves, std::uint64_t seen, Millis timeout,
                     const std::stop_token& /*stop*/) override {
    Query queues;
    for (const Serve& serve : serves) queues.emplace_back("queue", serve.queue);
    wait(seen, std::min(timeout, kStopWithin), std::move(queues));
  }

 private:
  Result<std::vector<ClaimedTask>> claim_with_key(ClaimRequest request) {
    request.claim_key = claim_keys_.take(request.worker_id);
    auto claimed = claim(request);
    claim_keys_.answered(request.worker_id, *request.claim_key, claimed);
    return claimed;
  }

  Result<std::vector<GateStatus>> ask_gates(Query query) {
    std::vector<GateStatus> gates;
    for (std::optional<std::string> cursor;;) {
      Query asked = query;
      if (cursor) asked.emplace_back("cursor", *cursor);
      Listed<GateStatus> listed{.name = "gates", .items = {}};
      const auto body = TRY(calls_->fetch("GET", with_query("/v1/gates", asked)));
      if (const Status read = read_json(body, listed); !read) return unreadable(read.error());
      std::ranges::move(listed.items, std::back_inserter(gates));
      json::Reader in(body);
      cursor.reset();
      if (const Status read = in.get("cursor", cursor).finish(); !read) return unreadable(read.error());
      if (!cursor) return gates;
    }
  }

  void wait(std::uint64_t seen, Millis timeout, Query query) {
    if (changes() != seen || timeout <= Millis{0}) return;
    timeout = std::min(timeout, kWaitMax);
    const std::uint64_t heard = heard_.load();
    query.emplace_back("seen", std::to_string(heard));
    query.emplace_back("timeout", format_duration(timeout));
    Named<std::uint64_t> changes{.name = "changes"};
    const Status asked =
        calls_->ask_into(changes, "GET", with_query("/v1/changes", query), {}, timeout + calls_->timeout(), {});
    if (!asked) {
      // Who may not ask any more would wait for ever: whatever it looks at next says so.
      if (error_info(asked.error().code).retryable == Retryable::kNo) ++times_heard_;
      return calls_->leaving().wait(std::min(timeout, kPauseAfterFailure));
    }
    if (changes.value == heard) return;
    heard_ = changes.value;
    ++times_heard_;
  }

  Result<std::vector<Result<Settled>>> ask_settled(std::string request, std::size_t count) {
    const auto body = TRY(calls_->fetch("POST", "/v1/settlements", std::move(request)));
    Listed<json::Unread> listed{.name = "items", .items = {}};
    if (const Status read = read_json(body, listed); !read) return unreadable(read.error());
    std::vector<Result<Settled>> settled;
    for (const json::Unread& item : listed.items) {
      json::Reader in(item.text);
      Settled answer;
      std::string code;
      std::string detail;
      in.get("state", answer.state).get("outcome", answer.replayed).get("code", code).get("detail", detail);
      if (const Status read = in.finish(); !read) return unreadable(read.error());
      if (code.empty()) {
        settled.emplace_back(std::move(answer));
      } else {
        settled.emplace_back(
            drover::fail(error_code_from_name(code).value_or(ErrorCode::kInternal), std::move(detail)));
      }
    }
    if (settled.size() != count)
      return drover::fail(ErrorCode::kStoreUnavailable, "the server answered for other items");
    return settled;
  }

  const std::unique_ptr<remote::ServerCalls> calls_;
  remote::RemoteConversations conversations_{*calls_};
  remote::ClaimKeys claim_keys_{system_rng()};
  std::atomic<std::uint64_t> times_heard_{0};  // that others changed something
  std::atomic<std::uint64_t> heard_{0};        // the server's own count
};

}  // namespace

Result<std::unique_ptr<TaskQueue>> open_remote(RemoteOptions options) {
  auto calls = TRY(remote::ServerCalls::open(std::move(options)));
  return std::make_unique<RemoteQueue>(std::move(calls));
}

}  // namespace drover
