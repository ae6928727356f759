// The forms of TaskQueue's verbs that follow from others.
#include "drover/task_queue.h"

#include "base/try.h"
#include "core/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/only_item.h"
#include "base/sha256.h"
#include "core/task_json.h"

namespace drover {
namespace {

constexpr Names<2> kEdgeNames{"depends_on", "spawned"};
constexpr Names<kLogStreamCount> kStreamNames{"stdout", "stderr", "drover", "transcript"};

}  // namespace

std::string_view name_of(TaskGraph::EdgeKind kind) {
  return name_in(kEdgeNames, kind);
}

std::optional<TaskGraph::EdgeKind> parse_edge_kind(std::string_view name) {
  return value_in<TaskGraph::EdgeKind>(kEdgeNames, name);
}

std::string_view name_of(LogStream stream) {
  return name_in(kStreamNames, stream);
}

std::optional<LogStream> parse_log_stream(std::string_view name) {
  return value_in<LogStream>(kStreamNames, name);
}

std::string version_of(const Task& task) {
  constexpr std::size_t kDigits = 16;
  return sha256_hex(to_json(task)).substr(0, kDigits);
}

Result<Enqueued> TaskQueue::enqueue_one(const TaskSpec& spec) {
  return only_item(enqueue(std::span(&spec, 1)));
}

std::vector<Result<std::vector<Enqueued>>> TaskQueue::enqueue_groups(
    std::span<const std::span<const TaskSpec>> groups) {
  std::vector<Result<std::vector<Enqueued>>> answers;
  std::ranges::transform(groups, std::back_inserter(answers), [this](const auto group) { return enqueue(group); });
  return answers;
}

Result<Task> TaskQueue::parent(const TaskId& child, const TaskId& parent) {
  const auto task = TRY(get(child));
  if (std::ranges::find(task.depends_on, parent) == task.depends_on.end()) {
    return drover::fail(ErrorCode::kNotFound,
                        fmt::format("the task {} does not depend on {}", child.to_string(), parent.to_string()));
  }
  return get(parent);
}

Result<std::vector<std::optional<Task>>> TaskQueue::heads(std::span<const TaskId> ids) {
  std::vector<std::optional<Task>> found;
  for (const TaskId& id : ids) {
    auto task = get(id);
    if (!task && task.error().code != ErrorCode::kNotFound) return std::unexpected(task.error());
    found.push_back(task ? std::optional(*std::move(task)) : std::nullopt);
  }
  return found;
}

Result<std::optional<WorkerInfo>> TaskQueue::worker(const std::string& worker_id) {
  auto all = TRY(workers());
  const auto found = std::ranges::find(all, worker_id, &WorkerInfo::id);
  return found != all.end() ? std::optional(std::move(*found)) : std::nullopt;
}

SettleKind kind_of(const Settlement& settlement) {
  using End = decltype(settlement.end);
  static_assert(std::is_same_v<std::variant_alternative_t<std::to_underlying(SettleKind::kSuspend), End>, Suspend>);
  return static_cast<SettleKind>(settlement.end.index());
}

Result<Settled> TaskQueue::complete(const Lease& lease, Completion completion) {
  const Settlement item{lease, std::move(completion)};
  return settle(std::span(&item, 1)).front();
}

Result<Settled> TaskQueue::fail(const Lease& lease, Failure failure) {
  const Settlement item{lease, std::move(failure)};
  return settle(std::span(&item, 1)).front();
}

Result<Settled> TaskQueue::release(const Lease& lease) {
  const Settlement item{lease, Release{}};
  return settle(std::span(&item, 1)).front();
}

Result<Settled> TaskQueue::suspend(const Lease& lease, Suspend suspend) {
  const Settlement item{lease, std::move(suspend)};
  return settle(std::span(&item, 1)).front();
}

}  // namespace drover
