// The rules of conversation queues, without I/O: what an act makes of a conversation. docs/internals/conversations.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/step.h"
#include "core/store_clocks.h"
#include "drover/conversation.h"
#include "drover/task_queue.h"

namespace drover {

// A moment on a store's clocks: by the steady one, and across a reboot by the wall clock.
struct StoreDeadline {
  Millis steady{0};
  std::string boot{};
  Time wall{};

  [[nodiscard]] static StoreDeadline after(const StoreClocks& clocks, Millis duration);
  [[nodiscard]] bool has_passed(const StoreClocks& clocks) const;
  bool operator==(const StoreDeadline&) const = default;
};

// An item without its body.
struct ItemHead {
  enum class Place : std::uint8_t {
    kQueued,
    kHeld,  // in a batch that waits for its ack
    kGone,  // has no body; its key is remembered
  };
  std::int64_t seq = 0;
  NewQueueItem item{};  // body unset
  Time enqueued_at{};
  std::int64_t bytes = 0;  // of its body
  Place place = Place::kQueued;
  std::int64_t batch = 0;  // of kHeld: its number
  bool mirrored = false;   // put there by the holder of the consumer lease

  bool operator==(const ItemHead&) const = default;
};

struct HeldBatch {
  std::int64_t number = 0;
  std::string batch_key{};
  std::string instance{};
  StoreDeadline until{};
  bool redeliver = false;
  bool mirrored = false;  // its time is that of the consumer lease
  bool due = false;       // nobody works on it: it is the next to be handed out

  bool operator==(const HeldBatch&) const = default;
};

struct ConsumerLease {
  std::string id{};
  std::string take_key{};
  StoreDeadline until{};
  std::int64_t last_op = 0;

  bool operator==(const ConsumerLease&) const = default;
};

struct ConversationState {
  ConversationName name{};
  std::int64_t revision = 0;  // 0: it is not stored
  Time created_at{};
  Time updated_at{};
  std::int64_t next_seq = 1;
  std::int64_t next_batch = 1;
  QueueLimits limits{};
  std::int64_t queued = 0;  // counts of items, for lists, which do not read these
  std::int64_t held = 0;
  std::optional<ConsumerLease> consumer{};
  std::vector<HeldBatch> batches{};  // by number
  std::vector<ItemHead> items{};     // by seq

  bool operator==(const ConversationState&) const = default;
};

// What an act makes of a conversation.
struct ConversationChange {
  ConversationState next{};
  std::map<std::int64_t, JsonText> new_bodies{};
  std::vector<EventDraft> events{};
  // Its items have no bodies yet: the engine reads them.
  ConversationReply reply{};
  bool changes_nothing = false;
};

struct ConversationContext {
  StoreClocks clocks{};
  std::string new_lease_id{};       // for TakeConsumer
  std::int64_t body_bytes_max = 0;  // of one item
};

[[nodiscard]] Status check_conversation_name(const ConversationName& name);
[[nodiscard]] Status check_act(const ConversationAct& act, std::int64_t body_bytes_max);
[[nodiscard]] Result<ConversationChange> decide(const ConversationState& before, const ConversationAct& act,
                                                const ConversationContext& context);

[[nodiscard]] ConversationSummary summary_of(const ConversationState& state, const StoreClocks& clocks);
[[nodiscard]] QueueItem to_item(const ConversationState& state, const ItemHead& head);
// Whether retention may let it go: it has been empty for kEmptyConversationKept.
[[nodiscard]] bool is_forgettable(const ConversationState& state, Time until);

// As stores and dumps keep them. `head` is everything but the items.
[[nodiscard]] JsonText head_text(const ConversationState& state);
[[nodiscard]] JsonText item_text(const ItemHead& item);
[[nodiscard]] Status read_head(std::string_view text, ConversationState& out);
[[nodiscard]] Status read_item(std::string_view text, ItemHead& out);

// As it goes into a dump, where no lease is held.
void end_consumer_lease(ConversationState& state);

// What is wrong with a conversation as it is stored, and what it should be instead. `bodies` are the sizes of those
// that are there, by seq.
[[nodiscard]] std::vector<std::string> mend_conversation(ConversationState& state,
                                                         const std::map<std::int64_t, std::int64_t>& bodies);

}  // namespace drover
