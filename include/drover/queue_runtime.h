// QueueRuntime: the queue of one conversation as a host of agents uses it, with callbacks. Every call is decided in the
// store, so any number of processes may use one conversation, and no item goes to two of them.
//
// One thread at a time. Callbacks are called on the caller's thread, after the change; they must not throw.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "drover/conversation.h"
#include "drover/task_queue.h"

namespace drover {

struct QueueCallbacks {
  std::function<void(const QueueItem& item, std::int64_t queue_len)> on_enqueued{};
  std::function<void(const QueueBatch& batch)> on_dequeued{};
  std::function<void(std::string_view reason, std::int64_t queue_len)> on_blocked{};
  std::function<void(std::string_view reason, std::int64_t cleared)> on_cleared{};
  std::function<void(const QueueItem& item, std::int64_t queue_len)> on_dropped{};  // buffer_limit
  std::function<void(const QueueItem& item, std::int64_t queue_len)> on_removed{};
};

struct QueueRuntimeOptions {
  ConversationName conversation{};
  std::string instance{};  // a name that no other process has
  std::optional<QueueLimits> limits{};
  // A batch that is not acknowledged is handed out again, under the same id: once kBatchKept is over, or by the next
  // dequeue of this instance.
  bool redeliver = false;
  QueueCallbacks callbacks{};
};

class QueueRuntime {
 public:
  // The queue outlives it.
  QueueRuntime(TaskQueue& queue, QueueRuntimeOptions options);

  // The item with its number; nothing if there is no room. A repeat with the same key adds nothing.
  [[nodiscard]] Result<std::optional<QueueItem>> enqueue(const NewQueueItem& item);
  // The items of the next turn; nothing if there are none, or if a reason says that no turn may start. After an error
  // the next call asks for the same batch again.
  [[nodiscard]] Result<std::optional<QueueBatch>> try_dequeue(const std::optional<std::string>& blocked_reason = {});
  // The first n items, whatever they are.
  [[nodiscard]] Result<std::optional<QueueBatch>> consume_items(int n);
  [[nodiscard]] Status ack(const std::string& batch_id);
  [[nodiscard]] Result<std::optional<QueueItem>> remove_item(const std::string& id);
  [[nodiscard]] Result<std::int64_t> clear(const std::string& reason);
  [[nodiscard]] Result<std::int64_t> length();
  // The same reason is told again.
  void reset_blocked_state() { last_blocked_.reset(); }

 private:
  [[nodiscard]] Result<std::optional<QueueBatch>> take(std::optional<int> n);
  [[nodiscard]] Result<ConversationReply> act(const ConversationAct& act) {
    return queue_.act(options_.conversation, act);
  }

  ConversationQueue& queue_;
  QueueRuntimeOptions options_;
  std::optional<std::string> last_blocked_;
  std::optional<std::string> asked_;  // the key of a dequeue whose answer has not come
  std::int64_t dequeues_ = 0;
};

}  // namespace drover
