#include "server/guarded_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "core/event_cursor.h"
#include "core/gate_name.h"
#include "core/session_record.h"

namespace drover::server {
namespace {

constexpr int kScanPage = kPageMax;
constexpr int kScanPagesMax = 10;
constexpr int kSpawnersMax = 16;  // above a task, that are looked at
constexpr int kTaskScanPagesMax = 40;
constexpr Millis kClockSlack{1'000};

std::unexpected<Error> no_such(const TaskId& id) {
  return drover::fail(ErrorCode::kNotFound, fmt::format("there is no task {}", id.to_string()));
}

std::unexpected<Error> unknown_worker(const std::string& id) {
  return drover::fail(
      ErrorCode::kUnknownWorker,
      fmt::format("no worker {} is registered; register it first: POST /v1/workers", quoted_excerpt(id)));
}

std::vector<TaskId> tasks_of(std::span<const Lease> leases) {
  std::vector<TaskId> ids;
  std::ranges::transform(leases, std::back_inserter(ids), &Lease::task);
  return ids;
}

// The items that are not hidden.
template <class T>
std::vector<T> without(std::span<const T> items, const std::vector<bool>& hidden) {
  std::vector<T> shown;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!hidden[i]) shown.push_back(items[i]);
  }
  return shown;
}

// The answers to these, with another one in the place of each hidden item.
template <class T>
std::vector<T> with_hidden(std::vector<T> answers, const std::vector<bool>& hidden, const T& other) {
  std::vector<T> all;
  for (auto next = answers.begin(); const bool is_hidden : hidden) {
    all.push_back(is_hidden ? other : std::move(*next++));
  }
  return all;
}

bool is_own_gate(const std::string& gate, const std::string& owner) {
  const auto session = parse_session_gate(gate);
  return gate == gate_name(GateKind::kOwner, owner) || (session && session->owner == owner);
}

// Who holds a gate, why, and how much of it is in use is told only of the owner's own; the others are shared.
void hide_others(GateStatus& gate, const std::string& owner) {
  if (is_own_gate(gate.name, owner)) return;
  for (Hold& hold : gate.holds) hold.why = hold.by = "";
  gate.in_use.reset();
  gate.waiting_lanes = 0;
}

// What an owner may know of the cause that holds tasks back: an Explanation or a StuckGroup.
template <class Cause>
std::string text_for_owner(const Cause& cause, const std::string& owner) {
  if (cause.reason == Explanation::Reason::kStoreRegressed) {
    return "nothing is claimed: the store went backwards, and an operator has to decide how to go on";
  }
  if (!cause.gate || is_own_gate(*cause.gate, owner)) return cause.text;
  return fmt::format("{} is a limit shared with others, and lets nothing more start{}", *cause.gate,
                     cause.at ? fmt::format(" until {}", format_time(*cause.at)) : "");
}

Explanation for_owner(Explanation explained, const std::string& owner) {
  for (GateStatus& gate : explained.refusing) hide_others(gate, owner);
  explained.text = text_for_owner(explained, owner);
  // The chain ends where somebody else's tasks begin.
  const auto foreign = std::ranges::find_if(explained.chain, [&](const auto& link) { return link.owner != owner; });
  explained.chain.erase(foreign, explained.chain.end());
  for (Explanation::Link& link : explained.chain) link.text = text_for_owner(link, owner);
  return explained;
}

}  // namespace

Status GuardedQueue::need(Right right, const TaskId& id) {
  TRY(need(right));
  if (!principal_.owner) return {};
  const auto found = TRY(queue_.heads(std::span(&id, 1)));
  const std::optional<Task>& task = found.front();
  if (!task || task->owner != *principal_.owner) return no_such(id);
  return {};
}

bool GuardedQueue::may_see(const Principal& principal, const Event& event) {
  if (principal.role == Role::kWorker) return false;
  return !principal.owner || (!event.task.is_nil() && event.owner == *principal.owner);
}

Result<std::vector<TaskSpec>> GuardedQueue::own(std::span<const TaskSpec> group) const {
  TRY(need(Right::kProduce));
  std::vector<TaskSpec> owned(group.begin(), group.end());
  if (!principal_.owner) return owned;
  for (TaskSpec& spec : owned) {
    if (spec.owner && spec.owner != principal_.owner) {
      return drover::fail(ErrorCode::kForbidden, "a token of the role producer enqueues for its own owner only");
    }
    spec.owner = principal_.owner;
    spec.parent_scope = ParentScope::kSameOwner;
  }
  return owned;
}

Result<std::vector<Enqueued>> GuardedQueue::enqueue(std::span<const TaskSpec> group) {
  const auto owned = own(group);
  return owned ? queue_.enqueue(*owned) : std::unexpected(owned.error());
}

std::vector<Result<std::vector<Enqueued>>> GuardedQueue::enqueue_together(std::span<const OfCaller> groups) {
  std::vector<Result<std::vector<TaskSpec>>> owned;
  std::vector<std::span<const TaskSpec>> allowed;
  for (const auto& [caller, group] : groups) {
    owned.push_back(caller->own(group));
    if (owned.back()) allowed.emplace_back(*owned.back());
  }
  std::vector<Result<std::vector<Enqueued>>> stored;
  if (!allowed.empty()) stored = groups.front().caller->queue_.enqueue_groups(allowed);
  std::vector<Result<std::vector<Enqueued>>> answers;
  for (auto next = stored.begin(); const auto& group : owned) {
    answers.push_back(group ? std::move(*next++) : std::unexpected(group.error()));
  }
  return answers;
}

Result<std::vector<Enqueued>> GuardedQueue::spawn(const Lease& spawner, std::span<const TaskSpec> group) {
  TRY(need_work(spawner.task));
  return queue_.spawn(spawner, group);
}

Result<bool> GuardedQueue::runs_for_caller(const Task& task) const {
  if (task.state != TaskState::kRunning || !serves(task.queue)) return false;
  const auto holder = TRY(find_worker(task.worker_id.value_or("")));
  return holder == Registered::kForCaller;
}

// From spawned to spawner, until one runs for the caller.
Result<bool> GuardedQueue::was_spawned_for_caller(const Task& task) const {
  std::optional<TaskId> spawner = task.parent_id;
  for (int step = 0; spawner && step < kSpawnersMax; ++step) {
    const auto found = TRY(queue_.heads(std::span(&*spawner, 1)));
    const std::optional<Task>& above = found.front();
    if (!above) return false;
    const auto runs = TRY(runs_for_caller(*above));
    if (runs) return true;
    spawner = above->parent_id;
  }
  return false;
}

// A worker may look again at what it was given, at tasks that run on workers which its token registered; and at what
// these have spawned.
Result<Task> GuardedQueue::get(const TaskId& id) {
  const bool works = principal_.role == Role::kWorker;
  TRY(need(works ? Right::kWork : Right::kRead));
  auto task = queue_.get(id);
  if (!task) return task;
  if (principal_.owner && task->owner != *principal_.owner) return no_such(id);
  if (!works) return task;
  const auto runs = TRY(runs_for_caller(*task));
  if (runs) return task;
  const auto was_spawned = TRY(was_spawned_for_caller(*task));
  return was_spawned ? std::move(task) : no_such(id);
}

// A worker reads the parents of what it runs, whose results are what it was given to work with. It does not read those
// of tasks that it spawned: these may name any task.
Result<Task> GuardedQueue::parent(const TaskId& child, const TaskId& parent) {
  if (principal_.role == Role::kWorker) {
    TRY(need(Right::kWork));
    const auto found = TRY(queue_.heads(std::span(&child, 1)));
    const std::optional<Task>& task = found.front();
    if (!task) return no_such(child);
    const auto runs = TRY(runs_for_caller(*task));
    if (!runs) return no_such(child);
  } else {
    TRY(need(Right::kRead, child));
  }
  auto task = queue_.parent(child, parent);
  if (task && principal_.owner && task->owner != *principal_.owner) return no_such(parent);
  return task;
}

Result<std::vector<RunSummary>> GuardedQueue::runs(const TaskId& id) {
  TRY(need(Right::kRead, id));
  return queue_.runs(id);
}

Result<TaskPage> GuardedQueue::list(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor) {
  const auto visible = TRY(own(filter));
  return visible ? queue_.list(*visible, limit, cursor) : TaskPage{};
}

Result<TaskPage> GuardedQueue::list_heads(const TaskFilter& filter, int limit,
                                          const std::optional<std::string>& cursor) {
  const auto visible = TRY(own(filter));
  return visible ? queue_.list_heads(*visible, limit, cursor) : TaskPage{};
}

Result<std::optional<TaskFilter>> GuardedQueue::own(const TaskFilter& filter) const {
  TRY(need(Right::kRead));
  TaskFilter visible = filter;
  if (principal_.owner) {
    if (!filter.owner.admits(*principal_.owner)) return std::nullopt;
    visible.owner = principal_.owner;
  }
  return visible;
}

Result<SummaryPage> GuardedQueue::summaries(const TaskFilter& filter, int limit,
                                            const std::optional<std::string>& cursor) {
  const auto visible = TRY(own(filter));
  return visible ? queue_.summaries(*visible, limit, cursor) : SummaryPage{};
}

Result<TaskGraph> GuardedQueue::graph(const TaskId& id, const std::optional<std::string>& owner, int limit) {
  TRY(need(Right::kRead, id));
  if (principal_.owner && owner && *owner != *principal_.owner) return no_such(id);
  return queue_.graph(id, principal_.owner ? principal_.owner : owner, limit);
}

Result<CancelOutcome> GuardedQueue::cancel(const TaskId& id, const Verdict& verdict) {
  TRY(need(Right::kProduce, id));
  return queue_.cancel(id, signed_by_caller(verdict));
}

Result<std::vector<CancelEffect>> GuardedQueue::preview_cancel(const TaskId& id) {
  TRY(need(Right::kProduce, id));
  return queue_.preview_cancel(id);
}

Result<Task> GuardedQueue::edit(const TaskId& id, const EditOrder& order) {
  TRY(need(Right::kProduce, id));
  return queue_.edit(id, order);
}

Result<Task> GuardedQueue::retry(const TaskId& id, const RetryOrder& order) {
  TRY(need(Right::kOperate));
  RetryOrder ours = order;
  ours.verdict = signed_by_caller(order.verdict);
  return queue_.retry(id, ours);
}

Result<EventPage> GuardedQueue::events_page(const EventQuery& query) {
  TRY(need(Right::kRead));
  return query.order == EventQuery::Order::kNewestFirst ? events_before(query) : events_after(query);
}

Result<EventPage> GuardedQueue::events_after(const EventQuery& query) {
  EventPage page{.events = {}, .next = query.from};
  const bool sifts = principal_.owner || query.filter.narrows();
  const int page_size = sifts ? kScanPage : query.limit;
  for (int pages = 0; pages == 0 || (pages < kScanPagesMax && std::cmp_less(page.events.size(), query.limit));
       ++pages) {
    auto events = TRY(queue_.events(page.next, page_size));
    for (Event& event : events) {
      if (std::cmp_greater_equal(page.events.size(), query.limit)) return page;
      page.next = event.seq;
      if (may_see(principal_, event) && query.filter.admits(event)) page.events.push_back(std::move(event));
    }
    if (std::cmp_less(events.size(), page_size) || !sifts) return page;
  }
  return page;
}

// Stores read forwards: window by window, each read forwards and gone through backwards.
Result<EventPage> GuardedQueue::events_before(const EventQuery& query) {
  EventPage page{.events = {}, .next = query.from};
  if (page.next == 0) page.next = TRY(queue_.last_event_seq()) + 1;
  for (int pages = 0; pages < kScanPagesMax; ++pages) {
    const std::int64_t after = std::max<std::int64_t>(page.next - 1 - kScanPage, 0);
    auto window = TRY(queue_.events(after, kScanPage));
    std::erase_if(window, [&](const Event& event) { return event.seq >= page.next; });
    for (Event& event : std::views::reverse(window)) {
      if (std::cmp_greater_equal(page.events.size(), query.limit)) return page;
      page.next = event.seq;
      if (may_see(principal_, event) && query.filter.admits(event)) page.events.push_back(std::move(event));
    }
    // The oldest that is kept was among them.
    const bool is_last = after == 0 || window.empty() || window.front().seq > after + 1;
    page.next = is_last ? 0 : after + 1;
    if (is_last || std::cmp_greater_equal(page.events.size(), query.limit)) return page;
  }
  return page;
}

Result<std::vector<Event>> GuardedQueue::events(std::int64_t after, int limit) {
  for (;;) {
    auto page = TRY(events_page({.from = after, .limit = limit}));
    if (!page.events.empty() || page.next == after) return std::move(page.events);
    after = page.next;
  }
}

Result<std::int64_t> GuardedQueue::last_event_seq() {
  TRY(need(Right::kRead));
  return queue_.last_event_seq();
}

// Its events begin when it was made: the place is searched for, by times that may be a little off.
Result<EventPage> GuardedQueue::task_events(const TaskId& id, std::int64_t after, int limit) {
  TRY(need(Right::kRead, id));
  const auto found = TRY(queue_.heads(std::span(&id, 1)));
  const std::optional<Task>& task = found.front();
  if (!task) return no_such(id);
  const auto last = TRY(queue_.last_event_seq());
  const auto begin = TRY(find_event_before(task->created_at - kClockSlack, after, std::max(after, last),
                                           [&](std::int64_t seq, int n) { return queue_.events(seq, n); }));
  EventPage page{.events = {}, .next = std::max(begin, after), .more = true};
  for (int pages = 0; pages < kTaskScanPagesMax; ++pages) {
    auto events = TRY(queue_.events(page.next, kScanPage));
    for (Event& event : events) {
      page.next = event.seq;
      if (event.task == id) page.events.push_back(std::move(event));
      if (std::cmp_greater_equal(page.events.size(), limit)) return page;
    }
    page.more = std::cmp_equal(events.size(), kScanPage);
    if (!page.more) return page;
  }
  return page;
}

Result<LogPage> GuardedQueue::log(const TaskId& id, const LogQuery& query) {
  TRY(need(Right::kRead, id));
  return queue_.log(id, query);
}

bool GuardedQueue::serves(const std::string& queue) const {
  return principal_.queues.empty() || std::ranges::find(principal_.queues, queue) != principal_.queues.end();
}

Status GuardedQueue::check_serves(std::span<const Serve> serves) const {
  for (const Serve& serve : serves) {
    if (this->serves(serve.queue)) continue;
    return drover::fail(ErrorCode::kForbidden, fmt::format("this token does not serve the queue {}", serve.queue));
  }
  return {};
}

Result<std::vector<bool>> GuardedQueue::hidden(std::span<const TaskId> ids) const {
  std::vector<bool> hidden(ids.size(), false);
  if (principal_.queues.empty()) return hidden;
  const auto tasks = TRY(queue_.heads(ids));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::optional<Task>& task = tasks[i];
    hidden[i] = !task || !serves(task->queue);
  }
  return hidden;
}

Status GuardedQueue::need_work(const TaskId& id) const {
  TRY(need(Right::kWork));
  const auto hidden = TRY(this->hidden(std::span(&id, 1)));
  return hidden.front() ? Status(no_such(id)) : Status();
}

// A worker's token acts for the workers that it registered; operators act for all.
bool GuardedQueue::acts_for(const WorkerInfo& worker) const {
  return principal_.role != Role::kWorker || worker.token_id == principal_.token_id;
}

Result<GuardedQueue::Registered> GuardedQueue::find_worker(const std::string& worker_id) const {
  const std::optional<WorkerInfo> worker = TRY(queue_.worker(worker_id));
  if (!worker) return Registered::kNot;
  return acts_for(*worker) ? Registered::kForCaller : Registered::kByOther;
}

Result<WorkerInfo> GuardedQueue::need_worker(const std::string& worker_id) const {
  TRY(need(Right::kWork));
  auto worker = TRY(queue_.worker(worker_id));
  if (!worker || !acts_for(*worker)) return unknown_worker(worker_id);
  return *std::move(worker);
}

Status GuardedQueue::register_worker(const WorkerInfo& worker) {
  TRY(need(Right::kWork));
  TRY(check_serves(worker.serves));
  const auto registered = TRY(find_worker(worker.id));
  if (registered == Registered::kByOther) {
    return drover::fail(ErrorCode::kForbidden,
                        fmt::format("worker {} was registered with another token; choose another id", worker.id));
  }
  WorkerInfo with_token = worker;
  with_token.token_id = principal_.token_id;
  return queue_.register_worker(with_token);
}

Status GuardedQueue::unregister_worker(const std::string& worker_id, const std::string& reason) {
  const bool acts_for_all = principal_.role != Role::kWorker;
  TRY(need(Right::kWork));
  if (!acts_for_all) {
    TRY(need_worker(worker_id));
  }
  return queue_.unregister_worker(worker_id, reason);
}

Result<std::vector<WorkerInfo>> GuardedQueue::workers() {
  TRY(need(Right::kOperate));
  return queue_.workers();
}

Result<std::vector<ClaimedTask>> GuardedQueue::claim(const ClaimRequest& request) {
  const auto worker = TRY(need_worker(request.worker_id));
  TRY(check_serves(request.serves));
  if (request.claim_key && worker.token_id != principal_.token_id) {
    return drover::fail(ErrorCode::kForbidden,
                        fmt::format("worker {} was registered with another token; only that one claims with a key",
                                    quoted_excerpt(worker.id)));
  }
  return queue_.claim(request);
}

// One that is not registered any more keeps its leases, and registers again.
Result<Beat> GuardedQueue::renew(const std::string& worker_id, std::span<const Lease> leases, Millis lease) {
  TRY(need(Right::kWork));
  const auto registered = TRY(find_worker(worker_id));
  if (registered == Registered::kByOther) return unknown_worker(worker_id);
  const auto hidden = TRY(this->hidden(tasks_of(leases)));
  auto beat = queue_.renew(worker_id, without(leases, hidden), lease);
  if (beat) beat->leases = with_hidden(std::move(beat->leases), hidden, LeaseState::kLost);
  return beat;
}

Status GuardedQueue::progress(const Lease& lease, const Progress& progress) {
  TRY(need_work(lease.task));
  return queue_.progress(lease, progress);
}

Status GuardedQueue::append_log(const Lease& lease, std::span<const LogChunk> chunks) {
  TRY(need_work(lease.task));
  return queue_.append_log(lease, chunks);
}

Status GuardedQueue::checkpoint(const Lease& lease, const JsonText& value) {
  TRY(need_work(lease.task));
  return queue_.checkpoint(lease, value);
}

Result<ReportAnswer> GuardedQueue::report(const Lease& lease, const RunReport& report) {
  TRY(need_work(lease.task));
  return queue_.report(lease, report);
}

std::vector<Result<Settled>> GuardedQueue::settle(std::span<const Settlement> items) {
  const auto refuse_all = [&](const Error& error) {
    return std::vector<Result<Settled>>(items.size(), std::unexpected(error));
  };
  if (const Status allowed = need(Right::kWork); !allowed) return refuse_all(allowed.error());
  std::vector<TaskId> ids;
  for (const Settlement& item : items) ids.push_back(item.lease.task);
  const auto hidden = this->hidden(ids);
  if (!hidden) return refuse_all(hidden.error());
  if (std::ranges::find(*hidden, true) == hidden->end()) return queue_.settle(items);
  auto answers = with_hidden(queue_.settle(without(items, *hidden)), *hidden, Result<Settled>(TaskState::kPending));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if ((*hidden)[i]) answers[i] = no_such(ids[i]);
  }
  return answers;
}

Result<Backlog> GuardedQueue::backlog(std::span<const Serve> serves) {
  TRY(need(Right::kWork));
  TRY(check_serves(serves));
  return queue_.backlog(serves);
}

Result<int> GuardedQueue::requeue_stalled(Millis max_age) {
  TRY(need(Right::kOperate));
  return queue_.requeue_stalled(max_age);
}

Status GuardedQueue::drain_worker(const DrainOrder& order) {
  TRY(need(Right::kOperate));
  DrainOrder ours = order;
  ours.by = caller();
  return queue_.drain_worker(ours);
}

Result<std::vector<ErrorGroup>> GuardedQueue::error_groups(const TaskFilter& filter) {
  const auto visible = TRY(own(filter));
  return visible ? queue_.error_groups(*visible) : std::vector<ErrorGroup>{};
}

Result<Task> GuardedQueue::escalate(const TaskId& id, const EscalateOrder& order) {
  TRY(need(Right::kOperate));
  return queue_.escalate(id, {.to = order.to, .verdict = signed_by_caller(order.verdict)});
}

Status GuardedQueue::remove(const TaskId& id, const Verdict& verdict) {
  TRY(need(Right::kOperate));
  return queue_.remove(id, signed_by_caller(verdict));
}

Status GuardedQueue::need(BulkVerb verb) const {
  const bool is_producers = verb == BulkVerb::kCancel || verb == BulkVerb::kEdit;
  return need(is_producers ? Right::kProduce : Right::kOperate);
}

// Who has an owner acts on that owner's tasks; ids of others are not there.
Result<BulkOrder> GuardedQueue::own(const BulkOrder& order) const {
  BulkOrder owned = order;
  owned.verdict.by = principal_.token_id;
  owned.owner = principal_.owner;
  if (!principal_.owner || !owned.filter) return owned;
  if (owned.filter->owner && owned.filter->owner != principal_.owner) {
    return drover::fail(ErrorCode::kForbidden, "this token acts on the tasks of its own owner only");
  }
  owned.filter->owner = principal_.owner;
  return owned;
}

bool GuardedQueue::may_see(const BulkOperation& operation) const {
  return !principal_.owner || operation.order.owner == principal_.owner;
}

Result<BulkPreview> GuardedQueue::preview_bulk(const BulkOrder& order) {
  TRY(need(Right::kRead));
  return queue_.preview_bulk(TRY(own(order)));
}

Result<BulkOperation> GuardedQueue::start_bulk(const BulkOrder& order) {
  TRY(need(order.verb));
  return queue_.start_bulk(TRY(own(order)));
}

Result<std::vector<BulkOperation>> GuardedQueue::bulk_operations() {
  TRY(need(Right::kRead));
  auto operations = TRY(queue_.bulk_operations());
  std::erase_if(operations, [&](const BulkOperation& operation) { return !may_see(operation); });
  return operations;
}

Result<BulkOperation> GuardedQueue::bulk_operation(const BulkId& id) {
  TRY(need(Right::kRead));
  auto operation = TRY(queue_.bulk_operation(id));
  if (may_see(operation)) return operation;
  return drover::fail(ErrorCode::kNotFound, fmt::format("there is no bulk operation {}", id.to_string()));
}

Result<BulkOperation> GuardedQueue::stop_bulk(const BulkId& id, const Verdict& verdict) {
  TRY(need(Right::kProduce));
  const auto operation = TRY(bulk_operation(id));
  TRY(need(operation.order.verb));
  return queue_.stop_bulk(id, {.by = principal_.token_id, .why = verdict.why});
}

// Who has an owner sees what that owner's tasks wait at.
Result<std::vector<GateStatus>> GuardedQueue::gates() {
  TRY(need(Right::kRead));
  return principal_.owner ? owner_gates(*principal_.owner) : queue_.gates();
}

Result<std::vector<GateStatus>> GuardedQueue::owner_gates(const std::string& owner) {
  TRY(need(Right::kRead));
  if (!principal_.owner) return queue_.owner_gates(owner);
  if (owner != *principal_.owner) {
    return drover::fail(ErrorCode::kForbidden, "this token sees the gates of its own owner only");
  }
  auto gates = TRY(queue_.owner_gates(owner));
  for (GateStatus& gate : gates) hide_others(gate, owner);
  return gates;
}

Result<GateStatus> GuardedQueue::set_gate(const GateOrder& order) {
  TRY(need(Right::kOperate));
  GateOrder ours = order;
  ours.by = caller();
  return queue_.set_gate(ours);
}

// Who has an owner sees what its own tasks may spend, and nobody else's.
Result<std::vector<BudgetStatus>> GuardedQueue::budgets() {
  TRY(need(Right::kRead));
  auto budgets = TRY(queue_.budgets());
  if (principal_.owner) {
    const std::string own = gate_name(GateKind::kOwner, *principal_.owner);
    std::erase_if(budgets, [&](const BudgetStatus& budget) { return budget.gate != own; });
  }
  return budgets;
}

Result<BudgetStatus> GuardedQueue::raise_budget(const RaiseOrder& order) {
  TRY(need(Right::kOperate));
  RaiseOrder ours = order;
  ours.by = caller();
  return queue_.raise_budget(ours);
}

// Who has an owner gets the numbers of that owner's tasks; gates are everybody's.
Result<std::vector<QueueStatus>> GuardedQueue::queues() {
  TRY(need(Right::kRead));
  if (!principal_.owner) return queue_.queues();
  const auto own = TRY(queue_.owner_stats(*principal_.owner));
  std::vector<QueueStatus> queues;
  for (const QueueStats& queue : own.queues) {
    const auto in = [&](TaskState state) { return queue.tasks[static_cast<std::size_t>(std::to_underlying(state))]; };
    queues.push_back({.name = queue.name,
                      .waiting = in(TaskState::kPending) + in(TaskState::kStalled),
                      .scheduled = in(TaskState::kScheduled),
                      .blocked = in(TaskState::kBlocked),
                      .running = in(TaskState::kRunning),
                      .gate = std::nullopt});
  }
  return queues;
}

Result<Stats> GuardedQueue::stats() {
  TRY(need(Right::kRead));
  return principal_.owner ? queue_.owner_stats(*principal_.owner) : queue_.stats();
}

Result<Stats> GuardedQueue::owner_stats(const std::string& owner) {
  TRY(need(Right::kRead));
  if (principal_.owner && owner != *principal_.owner) {
    return drover::fail(ErrorCode::kForbidden, "this token sees the numbers of its own owner only");
  }
  return queue_.owner_stats(owner);
}

// Who acts for one owner sees that owner's sessions; those of others do not exist.
Result<SessionPage> GuardedQueue::sessions(const SessionQuery& query) {
  TRY(need(Right::kRead));
  if (!principal_.owner) return queue_.sessions(query);
  if (query.owner && *query.owner != *principal_.owner) {
    return drover::fail(ErrorCode::kForbidden, "this token sees the sessions of its own owner only");
  }
  SessionQuery own = query;
  own.owner = principal_.owner;
  return queue_.sessions(own);
}

Result<SessionInfo> GuardedQueue::session(const SessionName& name) {
  TRY(need(Right::kRead));
  TRY(need_own_session(name));
  return queue_.session(name);
}

Result<SessionInfo> GuardedQueue::reset_session(const SessionName& name, const Verdict& verdict) {
  TRY(need(Right::kProduce));
  TRY(need_own_session(name));
  return queue_.reset_session(name, signed_by_caller(verdict));
}

Status GuardedQueue::need_own_session(const SessionName& name) const {
  if (!principal_.owner || *principal_.owner == name.owner) return {};
  return drover::fail(ErrorCode::kNotFound, fmt::format("there is no session {}", quoted_excerpt(name.name)));
}

Result<RunStanding> GuardedQueue::standing_of(const Lease& lease) {
  TRY(need_work(lease.task));
  return queue_.standing_of(lease);
}

// Who acts for one owner sees what that owner's agents used.
Result<std::vector<UsageRow>> GuardedQueue::usage(const UsageQuery& query) {
  TRY(need(Right::kRead));
  if (!principal_.owner) return queue_.usage(query);
  if (query.owner && *query.owner != *principal_.owner) {
    return drover::fail(ErrorCode::kForbidden, "this token sees the usage of its own owner only");
  }
  UsageQuery own = query;
  own.owner = principal_.owner;
  return queue_.usage(own);
}

Result<StatsHistory> GuardedQueue::stats_history(HistoryStep step, int count) {
  TRY(need(Right::kOperate));
  return queue_.stats_history(step, count);
}

Result<std::vector<Alert>> GuardedQueue::alerts() {
  TRY(need(Right::kOperate));
  return queue_.alerts();
}

Result<std::vector<PastAlert>> GuardedQueue::past_alerts(int limit) {
  TRY(need(Right::kOperate));
  return queue_.past_alerts(limit);
}

Result<Alert> GuardedQueue::snooze_alert(const SnoozeOrder& order) {
  TRY(need(Right::kOperate));
  return queue_.snooze_alert(
      {.key = order.key, .duration = order.duration, .verdict = signed_by_caller(order.verdict)});
}

Result<std::vector<SavedView>> GuardedQueue::views(const std::optional<std::string>& /*owner*/) {
  TRY(need(Right::kRead));
  return queue_.views(principal_.owner);
}

Result<SavedView> GuardedQueue::save_view(const std::optional<std::string>& /*owner*/, const SavedView& view) {
  TRY(need(Right::kRead));
  return queue_.save_view(principal_.owner, view);
}

Status GuardedQueue::delete_view(const std::optional<std::string>& /*owner*/, const std::string& name) {
  TRY(need(Right::kRead));
  return queue_.delete_view(principal_.owner, name);
}

Result<std::string> GuardedQueue::store_id() {
  TRY(need(Right::kWork));
  return queue_.store_id();
}

Result<Explanation> GuardedQueue::explain(const TaskId& id) {
  TRY(need(Right::kRead, id));
  auto explained = queue_.explain(id);
  if (!explained || !principal_.owner) return explained;
  return for_owner(*std::move(explained), *principal_.owner);
}

Result<StuckReport> GuardedQueue::stuck(const std::optional<std::string>& owner) {
  TRY(need(Right::kRead));
  if (!principal_.owner) return queue_.stuck(owner);
  if (owner && *owner != *principal_.owner) {
    return drover::fail(ErrorCode::kForbidden, "this token sees what its own owner's tasks wait for only");
  }
  auto report = TRY(queue_.stuck(principal_.owner));
  for (StuckGroup& group : report.groups) group.text = text_for_owner(group, *principal_.owner);
  return report;
}

Result<Config> GuardedQueue::config() {
  TRY(need(Right::kReadPolicy));
  return queue_.config();
}

Result<std::vector<ConfigVersion>> GuardedQueue::config_versions() {
  TRY(need(Right::kReadPolicy));
  return queue_.config_versions();
}

Result<Config> GuardedQueue::config_at(std::int64_t version) {
  TRY(need(Right::kReadPolicy));
  return queue_.config_at(version);
}

Result<Config> GuardedQueue::apply_config(const JsonText& document, std::int64_t based_on_version) {
  TRY(need(Right::kAdminister));
  return queue_.apply_config(document, based_on_version);
}

Result<std::vector<Finding>> GuardedQueue::fsck(FsckMode mode) {
  TRY(need(Right::kOperate));
  return queue_.fsck(mode);
}

}  // namespace drover::server
