#include "server/guarded_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace drover::server {
namespace {

constexpr int kScanPage = 500;
constexpr int kScanPagesMax = 10;

std::unexpected<Error> no_such(const TaskId& id) {
  return drover::fail(ErrorCode::kNotFound, fmt::format("there is no task {}", id.to_string()));
}

}  // namespace

Status GuardedQueue::need(Right right, const TaskId& id) {
  if (Status allowed = need(right); !allowed) return allowed;
  if (!principal_.owner) return {};
  const auto task = queue_.get(id);
  if (!task) return std::unexpected(task.error());
  if (task->owner != *principal_.owner) return no_such(id);
  return {};
}

bool GuardedQueue::may_see(const Principal& principal, const Event& event) {
  if (principal.role == Role::kWorker) return false;
  return !principal.owner || (!event.task.is_nil() && event.owner == *principal.owner);
}

Status GuardedQueue::check_parents(const TaskSpec& spec) const {
  const auto check = [this](const TaskId& id) -> Status {
    const auto parent = queue_.get(id);
    if (parent && parent->owner == *principal_.owner) return {};
    if (!parent && parent.error().code != ErrorCode::kNotFound) return std::unexpected(parent.error());
    return drover::fail(ErrorCode::kUnknownParent, fmt::format("there is no task {}", id.to_string()));
  };
  for (const ParentRef& parent : spec.depends_on) {
    const TaskId* id = std::get_if<TaskId>(&parent);
    if (id == nullptr) continue;
    if (Status known = check(*id); !known) return known;
  }
  return spec.parent_id ? check(*spec.parent_id) : Status{};
}

Result<std::vector<TaskSpec>> GuardedQueue::own(std::span<const TaskSpec> group) const {
  if (const Status allowed = need(Right::kProduce); !allowed) return std::unexpected(allowed.error());
  std::vector<TaskSpec> owned(group.begin(), group.end());
  if (!principal_.owner) return owned;
  for (TaskSpec& spec : owned) {
    if (spec.owner && spec.owner != principal_.owner) {
      return drover::fail(ErrorCode::kForbidden, "a token of the role producer enqueues for its own owner only");
    }
    spec.owner = principal_.owner;
    if (const Status known = check_parents(spec); !known) return std::unexpected(known.error());
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
  if (const Status allowed = need(Right::kWork); !allowed) return std::unexpected(allowed.error());
  return queue_.spawn(spawner, group);
}

// A worker may look again at what it was given: at tasks of its queues that run.
Result<Task> GuardedQueue::get(const TaskId& id) {
  const bool works = principal_.role == Role::kWorker;
  if (const Status allowed = need(works ? Right::kWork : Right::kRead); !allowed) {
    return std::unexpected(allowed.error());
  }
  auto task = queue_.get(id);
  if (!task) return task;
  if (principal_.owner && task->owner != *principal_.owner) return no_such(id);
  const Serve serve{.queue = task->queue, .type = std::nullopt};
  if (works && (task->state != TaskState::kRunning || !check_serves(std::span(&serve, 1)))) return no_such(id);
  return task;
}

Result<std::vector<RunSummary>> GuardedQueue::runs(const TaskId& id) {
  if (const Status allowed = need(Right::kRead, id); !allowed) return std::unexpected(allowed.error());
  return queue_.runs(id);
}

Result<TaskPage> GuardedQueue::list(const TaskFilter& filter, int limit, const std::optional<std::string>& cursor) {
  if (const Status allowed = need(Right::kRead); !allowed) return std::unexpected(allowed.error());
  if (!principal_.owner) return queue_.list(filter, limit, cursor);
  if (filter.owner && filter.owner != principal_.owner) return TaskPage{};
  TaskFilter own = filter;
  own.owner = principal_.owner;
  return queue_.list(own, limit, cursor);
}

Result<CancelOutcome> GuardedQueue::cancel(const TaskId& id, const std::string& reason) {
  if (const Status allowed = need(Right::kProduce, id); !allowed) return std::unexpected(allowed.error());
  return queue_.cancel(id, reason);
}

Result<std::vector<CancelEffect>> GuardedQueue::preview_cancel(const TaskId& id) {
  if (const Status allowed = need(Right::kProduce, id); !allowed) return std::unexpected(allowed.error());
  return queue_.preview_cancel(id);
}

Result<Task> GuardedQueue::edit(const TaskId& id, const EditOrder& order) {
  if (const Status allowed = need(Right::kProduce, id); !allowed) return std::unexpected(allowed.error());
  return queue_.edit(id, order);
}

Result<Task> GuardedQueue::retry(const TaskId& id, const RetryOrder& order) {
  if (const Status allowed = need(Right::kOperate); !allowed) return std::unexpected(allowed.error());
  return queue_.retry(id, order);
}

Result<EventPage> GuardedQueue::events_page(std::int64_t after, int limit) {
  if (const Status allowed = need(Right::kRead); !allowed) return std::unexpected(allowed.error());
  EventPage page{.events = {}, .next = after};
  const int page_size = principal_.owner && limit > 0 ? kScanPage : limit;
  for (int pages = 0; pages == 0 || (pages < kScanPagesMax && std::cmp_less(page.events.size(), limit)); ++pages) {
    auto events = queue_.events(page.next, page_size);
    if (!events) return std::unexpected(events.error());
    for (Event& event : *events) {
      if (std::cmp_greater_equal(page.events.size(), limit)) return page;
      page.next = event.seq;
      if (may_see(principal_, event)) page.events.push_back(std::move(event));
    }
    if (std::cmp_less(events->size(), page_size) || !principal_.owner) return page;
  }
  return page;
}

Result<std::vector<Event>> GuardedQueue::events(std::int64_t after, int limit) {
  for (;;) {
    auto page = events_page(after, limit);
    if (!page) return std::unexpected(page.error());
    if (!page->events.empty() || page->next == after) return std::move(page->events);
    after = page->next;
  }
}

Result<std::int64_t> GuardedQueue::last_event_seq() {
  if (const Status allowed = need(Right::kRead); !allowed) return std::unexpected(allowed.error());
  return queue_.last_event_seq();
}

Result<LogPage> GuardedQueue::log(const TaskId& id, std::int64_t after, int limit) {
  if (const Status allowed = need(Right::kRead, id); !allowed) return std::unexpected(allowed.error());
  return queue_.log(id, after, limit);
}

Status GuardedQueue::check_serves(std::span<const Serve> serves) const {
  if (principal_.queues.empty()) return {};
  for (const Serve& serve : serves) {
    if (std::ranges::find(principal_.queues, serve.queue) != principal_.queues.end()) continue;
    return drover::fail(ErrorCode::kForbidden, fmt::format("this token does not serve the queue {}", serve.queue));
  }
  return {};
}

Status GuardedQueue::register_worker(const WorkerInfo& worker) {
  if (Status allowed = need(Right::kWork); !allowed) return allowed;
  if (Status allowed = check_serves(worker.serves); !allowed) return allowed;
  if (Status allowed = check_worker(worker.id); !allowed) return allowed;
  return queue_.register_worker(worker);
}

Status GuardedQueue::unregister_worker(const std::string& worker_id, const std::string& reason) {
  if (Status allowed = need(Right::kWork); !allowed) return allowed;
  if (Status allowed = check_worker(worker_id); !allowed) return allowed;
  return queue_.unregister_worker(worker_id, reason);
}

// Of one that serves other queues than the caller may: its record is not the caller's to change.
Status GuardedQueue::check_worker(const std::string& worker_id) const {
  if (principal_.queues.empty()) return {};
  const auto workers = queue_.workers();
  if (!workers) return std::unexpected(workers.error());
  const auto found = std::ranges::find(*workers, worker_id, &WorkerInfo::id);
  return found == workers->end() ? Status() : check_serves(found->serves);
}

Result<std::vector<WorkerInfo>> GuardedQueue::workers() {
  if (const Status allowed = need(Right::kOperate); !allowed) return std::unexpected(allowed.error());
  return queue_.workers();
}

Result<std::vector<ClaimedTask>> GuardedQueue::claim(const ClaimRequest& request) {
  if (const Status allowed = need(Right::kWork); !allowed) return std::unexpected(allowed.error());
  if (const Status allowed = check_serves(request.serves); !allowed) return std::unexpected(allowed.error());
  return queue_.claim(request);
}

Result<Beat> GuardedQueue::renew(const std::string& worker_id, std::span<const Lease> leases, Millis lease) {
  if (const Status allowed = need(Right::kWork); !allowed) return std::unexpected(allowed.error());
  return queue_.renew(worker_id, leases, lease);
}

Status GuardedQueue::progress(const Lease& lease, const Progress& progress) {
  if (Status allowed = need(Right::kWork); !allowed) return allowed;
  return queue_.progress(lease, progress);
}

Status GuardedQueue::append_log(const Lease& lease, std::span<const LogChunk> chunks) {
  if (Status allowed = need(Right::kWork); !allowed) return allowed;
  return queue_.append_log(lease, chunks);
}

Status GuardedQueue::checkpoint(const Lease& lease, const JsonText& value) {
  if (Status allowed = need(Right::kWork); !allowed) return allowed;
  return queue_.checkpoint(lease, value);
}

std::vector<Result<TaskState>> GuardedQueue::settle(std::span<const Settlement> items) {
  if (const Status allowed = need(Right::kWork); !allowed) {
    return {items.size(), Result<TaskState>(std::unexpected(allowed.error()))};
  }
  return queue_.settle(items);
}

Result<Backlog> GuardedQueue::backlog(std::span<const Serve> serves) {
  if (const Status allowed = need(Right::kWork); !allowed) return std::unexpected(allowed.error());
  if (const Status allowed = check_serves(serves); !allowed) return std::unexpected(allowed.error());
  return queue_.backlog(serves);
}

Result<int> GuardedQueue::requeue_stalled(Millis max_age) {
  if (const Status allowed = need(Right::kOperate); !allowed) return std::unexpected(allowed.error());
  return queue_.requeue_stalled(max_age);
}

Status GuardedQueue::drain_worker(const DrainOrder& order) {
  if (Status allowed = need(Right::kOperate); !allowed) return allowed;
  return queue_.drain_worker(order);
}

Result<std::vector<ErrorGroup>> GuardedQueue::error_groups(const TaskFilter& filter) {
  if (const Status allowed = need(Right::kRead); !allowed) return std::unexpected(allowed.error());
  if (!principal_.owner) return queue_.error_groups(filter);
  if (filter.owner && filter.owner != principal_.owner) return std::vector<ErrorGroup>{};
  TaskFilter own = filter;
  own.owner = principal_.owner;
  return queue_.error_groups(own);
}

Result<Task> GuardedQueue::escalate(const TaskId& id, const EscalateOrder& order) {
  if (const Status allowed = need(Right::kOperate); !allowed) return std::unexpected(allowed.error());
  return queue_.escalate(id, order);
}

Status GuardedQueue::remove(const TaskId& id, const Verdict& verdict) {
  if (Status allowed = need(Right::kOperate); !allowed) return allowed;
  return queue_.remove(id, verdict);
}

Result<std::vector<GateStatus>> GuardedQueue::gates() {
  if (const Status allowed = need(Right::kOperate); !allowed) return std::unexpected(allowed.error());
  return queue_.gates();
}

Result<GateStatus> GuardedQueue::set_gate(const GateOrder& order) {
  if (const Status allowed = need(Right::kOperate); !allowed) return std::unexpected(allowed.error());
  return queue_.set_gate(order);
}

// Who has an owner gets the numbers of that owner's tasks; gates are everybody's.
Result<std::vector<QueueStatus>> GuardedQueue::queues() {
  if (const Status allowed = need(Right::kRead); !allowed) return std::unexpected(allowed.error());
  if (!principal_.owner) return queue_.queues();
  const auto own = queue_.owner_stats(*principal_.owner);
  if (!own) return std::unexpected(own.error());
  std::vector<QueueStatus> queues;
  for (const QueueStats& queue : own->queues) {
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
  if (const Status allowed = need(Right::kRead); !allowed) return std::unexpected(allowed.error());
  return principal_.owner ? queue_.owner_stats(*principal_.owner) : queue_.stats();
}

Result<Stats> GuardedQueue::owner_stats(const std::string& owner) {
  if (const Status allowed = need(Right::kRead); !allowed) return std::unexpected(allowed.error());
  if (principal_.owner && owner != *principal_.owner) {
    return drover::fail(ErrorCode::kForbidden, "this token sees the numbers of its own owner only");
  }
  return queue_.owner_stats(owner);
}

Result<std::vector<Alert>> GuardedQueue::alerts() {
  if (const Status allowed = need(Right::kOperate); !allowed) return std::unexpected(allowed.error());
  return queue_.alerts();
}

Result<Explanation> GuardedQueue::explain(const TaskId& id) {
  if (const Status allowed = need(Right::kRead, id); !allowed) return std::unexpected(allowed.error());
  return queue_.explain(id);
}

Result<Config> GuardedQueue::config() {
  if (const Status allowed = need(Right::kReadPolicy); !allowed) return std::unexpected(allowed.error());
  return queue_.config();
}

Result<Config> GuardedQueue::apply_config(const JsonText& document, std::int64_t based_on_version) {
  if (const Status allowed = need(Right::kAdminister); !allowed) return std::unexpected(allowed.error());
  return queue_.apply_config(document, based_on_version);
}

Result<std::vector<Finding>> GuardedQueue::fsck(FsckMode mode) {
  if (const Status allowed = need(Right::kOperate); !allowed) return std::unexpected(allowed.error());
  return queue_.fsck(mode);
}

}  // namespace drover::server
