// Conversation queues: what waits for the next turn of an agent's conversation (messages, notifications, approvals), in
// order, kept in the store.
//
// Items are not tasks: nothing runs, fails or retries them. Items that may be merged into one turn are handed out
// together; an item that may not (a barrier) is handed out alone. docs/guide/conversations.md has the rules for users.
//
// Safe to call from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "drover/error.h"
#include "drover/task.h"
#include "drover/time.h"

namespace drover {

inline constexpr int kConversationItemsMax = 10'000;                           // in one conversation
inline constexpr std::int64_t kConversationBytesMax = std::int64_t{64} << 20;  // of their bodies
inline constexpr int kConversationsPerOwnerMax = 10'000;
inline constexpr int kConversationPageMax = 1'000;  // items or conversations in one answer
inline constexpr std::size_t kMirrorOpsMax = 1'000;
inline constexpr std::size_t kHeldBatchesMax = 256;
// Keys of items that have left, by which a late repeat is known.
inline constexpr std::size_t kGoneItemsMax = 256;
inline constexpr Millis kConsumerLease{30'000};
inline constexpr Millis kBatchKept{60'000};
inline constexpr Millis kEmptyConversationKept{7LL * 24 * 3'600'000};

// Whether items of this kind are merged into one turn: message, task_notification, cron_prompt, mod_continue.
[[nodiscard]] bool is_coalescable(std::string_view kind);

struct ConversationName {
  std::string owner;
  std::string key;

  auto operator<=>(const ConversationName&) const = default;
};

// What a caller puts into a conversation. Names are as everywhere: [A-Za-z0-9_.:@-]{1,128}.
struct NewQueueItem {
  std::string item_key{};  // made once by the caller: a repeat with the same key adds nothing
  std::string kind{};
  std::optional<std::string> agent_id{};  // with conversation_id its scope: turns never mix scopes
  std::optional<std::string> conversation_id{};
  JsonText body = "{}";  // an object, as large as a payload may be; kept byte by byte

  bool operator==(const NewQueueItem&) const = default;
};

struct QueueItem {
  std::int64_t seq = 0;  // its id is "q-SEQ"
  NewQueueItem item{};
  Time enqueued_at{};
  std::optional<std::string> batch_id{};  // it was dequeued with this batch, which waits for its ack

  bool operator==(const QueueItem&) const = default;
};
[[nodiscard]] std::string item_id(std::int64_t seq);      // "q-7"
[[nodiscard]] std::string batch_id(std::int64_t number);  // "batch-7"
[[nodiscard]] std::optional<std::int64_t> parse_item_id(std::string_view id);
[[nodiscard]] std::optional<std::int64_t> parse_batch_id(std::string_view id);

// From max_items on a new item that may be merged takes the place of the oldest such item; from hard_max_items on
// nothing more is taken.
struct QueueLimits {
  int max_items = 100;
  int hard_max_items = 300;

  bool operator==(const QueueLimits&) const = default;
};

struct QueueBatch {
  std::string batch_id{};
  std::vector<QueueItem> items{};
  std::int64_t queue_len_after = 0;
  bool delivered_again = false;  // it was handed out before, and never acknowledged

  bool operator==(const QueueBatch&) const = default;
};

// ---- what can be done to a conversation

struct AppendItem {
  NewQueueItem item{};
  std::optional<QueueLimits> limits{};  // from now on; unset: as they are
};
// Takes the items of the next turn, or, with `n`, the first n whatever they are.
struct DequeueItems {
  std::optional<std::string> blocked_reason{};  // set: takes nothing, and tells that the queue is blocked
  std::optional<int> n{};
  // The batch is kept under this key until its ack, the next dequeue of the same instance, or for kBatchKept. The same
  // key gets the same batch again, kept for as long once more. Empty: it is not kept.
  std::string batch_key{};
  std::string instance{};  // who asks; empty: nobody in particular
  bool redeliver = false;  // a batch that is not acknowledged is handed out again, under the same id
  // Takes nothing: only keeps the batch of this key, also one whose time is over, if nobody has been handed it since.
  bool keep = false;
};
struct AckBatch {
  std::string batch_id{};
};
struct ClearItems {
  std::string reason{};
};
struct RemoveItem {
  std::string id{};  // "q-7"
};
// The right to dequeue without asking: while it is held, others may only append. Unset: a new lease; kWrongState if
// somebody else holds one, or works on a batch.
struct TakeConsumer {
  std::optional<std::string> lease_id{};  // set: renews this one
  std::string take_key{};                 // made once by the caller: a repeat gets the lease that the first one took
};
struct ReleaseConsumer {
  std::string lease_id{};
};
// Something that the holder of the consumer lease has done already.
struct MirrorOp {
  enum class Kind : std::uint8_t { kEnqueue, kDequeue, kAck, kRemove, kDrop, kClear };
  Kind kind = Kind::kEnqueue;
  NewQueueItem item{};                   // of kEnqueue
  std::vector<std::string> item_keys{};  // of the others but kAck
  std::string batch_key{};               // of kDequeue and kAck: how the holder calls the batch
  bool redeliver = false;                // of kDequeue: it waits for an ack
  std::string reason{};                  // of kClear

  bool operator==(const MirrorOp&) const = default;
};
[[nodiscard]] std::string_view name_of(MirrorOp::Kind kind);
[[nodiscard]] std::optional<MirrorOp::Kind> parse_mirror_op(std::string_view name);
// Operations in order, numbered from from_op. What was mirrored before is passed over, so a repeat changes nothing.
// Renews the lease.
struct MirrorItems {
  std::string lease_id{};
  std::int64_t from_op = 1;
  std::vector<MirrorOp> ops{};
  std::optional<QueueLimits> limits{};
};

using ConversationAct = std::variant<AppendItem, DequeueItems, AckBatch, ClearItems, RemoveItem, TakeConsumer,
                                     ReleaseConsumer, MirrorItems>;

// What became of it; members that the act does not set stay as they are.
struct ConversationReply {
  std::int64_t length = 0;                // items that wait
  std::optional<std::string> id{};        // of AppendItem: the new item; of one that was refused, too
  bool refused = false;                   // of AppendItem: there are hard_max_items (buffer_limit)
  bool replayed = false;                  // it was done before, and nothing was changed now
  std::optional<QueueItem> dropped{};     // of AppendItem: the item whose place it took
  std::optional<QueueBatch> batch{};      // of DequeueItems
  std::optional<QueueItem> removed{};     // of RemoveItem: none if it was not there
  std::vector<QueueItem> cleared{};       // of ClearItems, without bodies
  std::optional<std::string> lease_id{};  // of TakeConsumer
  std::int64_t last_op = 0;               // of TakeConsumer and MirrorItems: the last operation that is mirrored

  bool operator==(const ConversationReply&) const = default;
};

struct ConversationSummary {
  ConversationName name{};
  std::int64_t length = 0;
  std::int64_t held = 0;  // items in batches that wait for their ack
  std::int64_t revision = 0;
  QueueLimits limits{};
  bool has_consumer = false;
  Time created_at{};
  Time updated_at{};

  bool operator==(const ConversationSummary&) const = default;
};

struct ConversationsPage {
  std::vector<ConversationSummary> conversations{};
  std::optional<std::string> cursor{};
};

struct ConversationsQuery {
  std::optional<std::string> owner{};  // unset: everybody's
  int limit = kConversationPageMax;
  std::optional<std::string> cursor{};
};

// A part of a conversation: its items after a number, in order. A page may end early when bodies are large.
struct ConversationItemsQuery {
  std::int64_t after = 0;
  int limit = kConversationPageMax;
  bool foreign = false;  // without what a mirror put there
};
struct Conversation {
  ConversationSummary summary{};
  std::vector<QueueItem> items{};
  std::optional<std::int64_t> next{};  // `after` of the next page; none on the last one
  std::int64_t last_seq = 0;           // the newest number given out
};

class ConversationQueue {
 public:
  virtual ~ConversationQueue() = default;

  // By owner and key.
  [[nodiscard]] virtual Result<ConversationsPage> conversations(const ConversationsQuery& query) = 0;
  // kNotFound: there is none of that name.
  [[nodiscard]] virtual Result<Conversation> conversation(const ConversationName& name,
                                                          const ConversationItemsQuery& query) = 0;
  // Takes effect whole or not at all. Appending, or taking the consumer lease, makes a conversation that is not there.
  // kStaleLease: the consumer lease is not held any more. kWrongState: somebody else holds it. kLimitExceeded: there
  // are as many conversations, or bytes, as may be.
  [[nodiscard]] virtual Result<ConversationReply> act(const ConversationName& name, const ConversationAct& act) = 0;
};

}  // namespace drover
