// The forms of TaskQueue's verbs that follow from others.
#include "drover/task_queue.h"

#include "base/try.h"
#include "core/names.h"

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

Result<TaskState> TaskQueue::complete(const Lease& lease, Completion completion) {
  const Settlement item{lease, std::move(completion)};
  return settle(std::span(&item, 1)).front();
}

Result<TaskState> TaskQueue::fail(const Lease& lease, Failure failure) {
  const Settlement item{lease, std::move(failure)};
  return settle(std::span(&item, 1)).front();
}

Result<TaskState> TaskQueue::release(const Lease& lease) {
  const Settlement item{lease, Release{}};
  return settle(std::span(&item, 1)).front();
}

Result<TaskState> TaskQueue::suspend(const Lease& lease, Suspend suspend) {
  const Settlement item{lease, std::move(suspend)};
  return settle(std::span(&item, 1)).front();
}

}  // namespace drover
