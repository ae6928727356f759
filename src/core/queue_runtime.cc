#include "drover/queue_runtime.h"

#include <fmt/format.h>

#include "base/try.h"

namespace drover {
namespace {

template <class Callback, class... Arguments>
void tell_host(const Callback& callback, const Arguments&... arguments) {
  if (callback) callback(arguments...);
}

}  // namespace

QueueRuntime::QueueRuntime(TaskQueue& queue, QueueRuntimeOptions options)
    : queue_(queue.conversation_queue()), options_(std::move(options)) {}

Result<std::optional<QueueItem>> QueueRuntime::enqueue(const NewQueueItem& item) {
  const auto reply = TRY(act(AppendItem{.item = item, .limits = options_.limits}));
  const QueueItem made{.seq = parse_item_id(reply.id.value_or("")).value_or(0), .item = item};
  if (reply.refused) {
    tell_host(options_.callbacks.on_dropped, made, reply.length);
    return std::nullopt;
  }
  if (reply.dropped) tell_host(options_.callbacks.on_dropped, *reply.dropped, reply.length);
  if (!reply.replayed) tell_host(options_.callbacks.on_enqueued, made, reply.length);
  return made;
}

Result<std::optional<QueueBatch>> QueueRuntime::try_dequeue(const std::optional<std::string>& blocked_reason) {
  if (!blocked_reason) {
    reset_blocked_state();
    return take(std::nullopt);
  }
  if (blocked_reason == last_blocked_) return std::nullopt;
  const auto reply = TRY(act(DequeueItems{.blocked_reason = blocked_reason}));
  if (reply.length == 0) return std::nullopt;
  last_blocked_ = blocked_reason;
  tell_host(options_.callbacks.on_blocked, std::string_view(*blocked_reason), reply.length);
  return std::nullopt;
}

Result<std::optional<QueueBatch>> QueueRuntime::consume_items(int n) {
  if (n <= 0) return std::nullopt;
  return take(n);
}

Result<std::optional<QueueBatch>> QueueRuntime::take(std::optional<int> n) {
  if (!asked_) asked_ = fmt::format("{}:{}", options_.instance, ++dequeues_);
  auto reply = TRY(
      act(DequeueItems{.n = n, .batch_key = *asked_, .instance = options_.instance, .redeliver = options_.redeliver}));
  asked_.reset();
  if (reply.batch) tell_host(options_.callbacks.on_dequeued, *reply.batch);
  return std::move(reply.batch);
}

Status QueueRuntime::ack(const std::string& batch_id) {
  TRY(act(AckBatch{.batch_id = batch_id}));
  return {};
}

Result<std::optional<QueueItem>> QueueRuntime::remove_item(const std::string& id) {
  auto reply = TRY(act(RemoveItem{.id = id}));
  if (reply.removed) tell_host(options_.callbacks.on_removed, *reply.removed, reply.length);
  return std::move(reply.removed);
}

Result<std::int64_t> QueueRuntime::clear(const std::string& reason) {
  const auto reply = TRY(act(ClearItems{.reason = reason}));
  const auto cleared = static_cast<std::int64_t>(reply.cleared.size());
  reset_blocked_state();
  tell_host(options_.callbacks.on_cleared, std::string_view(reason), cleared);
  return cleared;
}

Result<std::int64_t> QueueRuntime::length() {
  const auto shown = queue_.conversation(options_.conversation, {.limit = 1});
  if (shown) return shown->summary.length;
  if (shown.error().code == ErrorCode::kNotFound) return 0;
  return std::unexpected(shown.error());
}

}  // namespace drover
