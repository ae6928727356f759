#include "core/conversation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "base/try.h"
#include "core/names.h"
#include "core/spec_check.h"

namespace drover {
namespace {

using Place = ItemHead::Place;

constexpr std::array<std::string_view, 4> kCoalescable{"message", "task_notification", "cron_prompt", "mod_continue"};
constexpr int kMirrorOpKinds = 6;
constexpr Names<kMirrorOpKinds> kMirrorOps{"enqueue", "dequeue", "ack", "remove", "drop", "clear"};
constexpr std::string_view kItemPrefix = "q-";
constexpr std::string_view kBatchPrefix = "batch-";

std::unexpected<Error> bad_act(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

std::optional<std::int64_t> number_behind(std::string_view prefix, std::string_view id) {
  if (!id.starts_with(prefix)) return std::nullopt;
  id.remove_prefix(prefix.size());
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(id.data(), id.data() + id.size(), number);
  const bool is_whole = error == std::errc{} && stop == id.data() + id.size() && number > 0 && id.front() != '0';
  return is_whole ? std::optional(number) : std::nullopt;
}

bool has_same_scope(const ItemHead& one, const ItemHead& other) {
  return one.item.agent_id == other.item.agent_id && one.item.conversation_id == other.item.conversation_id;
}

void hold(ItemHead& item, std::int64_t batch) {
  item.place = Place::kHeld;
  item.batch = batch;
}

void leave(ItemHead& item) {
  item.place = Place::kGone;
  item.batch = 0;
  item.bytes = 0;
}

// ---- checks of what callers say

Status check_field(std::string_view field, std::string_view name) {
  if (is_name(name)) return {};
  return bad_act(
      fmt::format("{}: expected a name of 1 to 128 letters, digits and _.:@-, not {}", field, quoted_excerpt(name)));
}

Status check_name_or_none(std::string_view field, std::string_view name) {
  return name.empty() ? Status() : check_field(field, name);
}

Status check_label(std::string_view field, const std::optional<std::string>& label) {
  if (!label || (label->size() <= kLabelBytesMax && is_utf8(*label))) return {};
  return bad_act(fmt::format("{}: expected at most {} bytes of UTF-8", field, kLabelBytesMax));
}

Status check_body(const JsonText& body, std::int64_t bytes_max) {
  if (std::cmp_greater(body.size(), bytes_max)) {
    return fail(ErrorCode::kPayloadTooLarge,
                fmt::format("body: {} bytes, and at most {} are allowed", body.size(), bytes_max));
  }
  const auto compact = TRY(json::compact(body));
  return compact.starts_with('{') ? Status() : Status(bad_act("body: expected a JSON object"));
}

Status check_new_item(const NewQueueItem& item, std::int64_t bytes_max) {
  TRY(check_field("item_key", item.item_key));
  TRY(check_field("kind", item.kind));
  TRY(check_label("agent_id", item.agent_id));
  TRY(check_label("conversation_id", item.conversation_id));
  return check_body(item.body, bytes_max);
}

Status check_limits(const std::optional<QueueLimits>& limits) {
  if (!limits) return {};
  const bool is_good = limits->max_items >= 1 && limits->hard_max_items >= limits->max_items &&
                       limits->hard_max_items <= kConversationItemsMax;
  if (is_good) return {};
  return bad_act(
      fmt::format("max_items: expected at least 1, hard_max_items no fewer, and at most {}", kConversationItemsMax));
}

Status check_op(const MirrorOp& op, std::int64_t bytes_max) {
  if (op.kind == MirrorOp::Kind::kEnqueue) return check_new_item(op.item, bytes_max);
  if (op.kind == MirrorOp::Kind::kAck || op.redeliver) TRY(check_field("batch_id", op.batch_key));
  TRY(check_name_or_none("batch_id", op.batch_key));
  TRY(check_name_or_none("reason", op.reason));
  if (op.item_keys.size() > static_cast<std::size_t>(kConversationItemsMax)) return bad_act("item_keys: too many");
  for (const std::string& key : op.item_keys) TRY(check_field("item_keys", key));
  return {};
}

class ActCheck {
 public:
  explicit ActCheck(std::int64_t bytes_max) : bytes_max_(bytes_max) {}

  Status operator()(const AppendItem& act) const {
    TRY(check_new_item(act.item, bytes_max_));
    return check_limits(act.limits);
  }
  Status operator()(const DequeueItems& act) const {
    if (act.blocked_reason) TRY(check_field("blocked_reason", *act.blocked_reason));
    TRY(check_name_or_none("batch_key", act.batch_key));
    TRY(check_name_or_none("instance", act.instance));
    if (act.redeliver && act.batch_key.empty()) return bad_act("redeliver: needs a batch_key");
    if (act.keep && act.batch_key.empty()) return bad_act("keep: needs a batch_key");
    return {};
  }
  Status operator()(const AckBatch& act) const {
    return parse_batch_id(act.batch_id) ? Status() : Status(bad_act("batch_id: expected batch-N"));
  }
  Status operator()(const ClearItems& act) const { return check_field("reason", act.reason); }
  Status operator()(const RemoveItem& act) const {
    return parse_item_id(act.id) ? Status() : Status(bad_act("id: expected q-N"));
  }
  Status operator()(const TakeConsumer& act) const {
    TRY(check_name_or_none("take_key", act.take_key));
    return act.lease_id ? check_field("lease_id", *act.lease_id) : Status();
  }
  Status operator()(const ReleaseConsumer& act) const { return check_field("lease_id", act.lease_id); }
  Status operator()(const MirrorItems& act) const {
    TRY(check_field("lease_id", act.lease_id));
    if (act.from_op < 1) return bad_act("from_op: expected 1 or more");
    if (act.ops.size() > kMirrorOpsMax) return bad_act(fmt::format("ops: at most {} in one call", kMirrorOpsMax));
    for (const MirrorOp& op : act.ops) TRY(check_op(op, bytes_max_));
    return check_limits(act.limits);
  }

 private:
  std::int64_t bytes_max_;
};

// ---- one decision

class ConversationDecision {
 public:
  ConversationDecision(const ConversationState& before, const ConversationContext& context)
      : context_(context), next_(change_.next) {
    next_ = before;
  }

  Result<ConversationChange> run(const ConversationState& before, const ConversationAct& act) {
    expire_batches();
    TRY(std::visit(*this, act));
    forget_gone();
    count_items();
    change_.reply.length = next_.queued;
    if (change_.reply.batch) change_.reply.batch->queue_len_after = next_.queued;
    change_.changes_nothing = next_ == before && change_.events.empty();
    if (before.revision == 0) next_.created_at = context_.clocks.wall;
    next_.updated_at = context_.clocks.wall;
    return std::move(change_);
  }

  Status operator()(const AppendItem& act) {
    if (act.limits) next_.limits = *act.limits;
    if (const ItemHead* known = find_key(act.item.item_key)) {
      change_.reply.id = item_id(known->seq);
      change_.reply.replayed = true;
      return {};
    }
    const std::int64_t length = count_waiting();
    if (length >= next_.limits.hard_max_items) {
      change_.reply.refused = true;
      change_.reply.id = item_id(next_.next_seq++);  // a refused item uses up an id
      tell_item("conversation.dropped", *change_.reply.id, act.item.kind, length, "buffer_limit");
      return {};
    }
    TRY(check_room(act.item));
    // What the holder of the lease has is its own affair: it drops by itself.
    if (length >= next_.limits.max_items && is_coalescable(act.item.kind) && !is_consumed()) drop_oldest();
    put(act.item, false);
    change_.reply.id = item_id(next_.items.back().seq);
    return {};
  }

  Status operator()(const DequeueItems& act) {
    TRY(take_over());
    if (act.blocked_reason) {
      if (const std::int64_t length = count_waiting(); length > 0) tell_blocked(*act.blocked_reason, length);
      return {};
    }
    if (HeldBatch* asked = act.batch_key.empty() ? nullptr : find_batch_key(act.batch_key, act.keep)) {
      asked->until = StoreDeadline::after(context_.clocks, kBatchKept);
      asked->due = false;
      change_.reply.replayed = true;
      answer_batch(*asked);
      return {};
    }
    if (act.keep) return {};
    if (!act.instance.empty()) end_batches_of(act.instance);
    if (HeldBatch* due = first_due()) return hand_out_again(*due, act);
    return hand_out(act);
  }

  Status operator()(const AckBatch& act) {
    const auto number = parse_batch_id(act.batch_id);
    CHECK(number.has_value());  // by check_act
    const auto batch = std::ranges::find(next_.batches, *number, &HeldBatch::number);
    if (batch == next_.batches.end()) {
      change_.reply.replayed = true;
      return {};
    }
    if (batch->mirrored && is_consumed()) return held_by_another();
    end_batch(*number);
    return {};
  }

  Status operator()(const ClearItems& act) {
    TRY(take_over());
    std::erase_if(next_.batches, [&](const HeldBatch& batch) {
      if (batch.due) set_queued(batch.number);
      return batch.due;
    });
    for (ItemHead& item : next_.items) {
      if (item.place != Place::kQueued) continue;
      change_.reply.cleared.push_back(to_item(next_, item));
      leave(item);
    }
    tell_cleared(act.reason, change_.reply.cleared.size());
    return {};
  }

  Status operator()(const RemoveItem& act) {
    TRY(take_over());
    const auto seq = parse_item_id(act.id);
    CHECK(seq.has_value());  // by check_act
    const auto item = std::ranges::find(next_.items, *seq, &ItemHead::seq);
    if (item == next_.items.end() || item->place != Place::kQueued) return {};
    change_.reply.removed = to_item(next_, *item);
    leave(*item);
    tell_item("conversation.removed", item_id(item->seq), item->item.kind, count_waiting(), {});
    return {};
  }

  Status operator()(const TakeConsumer& act) {
    if (act.lease_id) {
      TRY(need_lease(*act.lease_id));
    } else if (is_consumed() && !act.take_key.empty() && consumer().take_key == act.take_key) {
      change_.reply.replayed = true;
    } else {
      TRY(take_over());
      if (const std::size_t n = adopt_batches(); n > 0) {
        return fail(ErrorCode::kWrongState,
                    fmt::format("{} of this conversation {} being worked on; wait until it is acknowledged, or for {}",
                                counted(static_cast<std::int64_t>(n), "batch"), n == 1 ? "is" : "are",
                                format_duration(kBatchKept)));
      }
      next_.consumer = ConsumerLease{.id = context_.new_lease_id, .take_key = act.take_key};
    }
    renew();
    change_.reply.lease_id = consumer().id;
    return {};
  }

  Status operator()(const ReleaseConsumer& act) {
    if (!next_.consumer || next_.consumer->id != act.lease_id) {
      change_.reply.replayed = true;
      return {};
    }
    end_lease();
    return {};
  }

  Status operator()(const MirrorItems& act) {
    TRY(need_lease(act.lease_id));
    ConsumerLease& lease = consumer();
    if (act.from_op > lease.last_op + 1) {
      return fail(ErrorCode::kWrongState,
                  fmt::format("operations {} to {} are missing; send them first", lease.last_op + 1, act.from_op - 1));
    }
    if (act.limits) next_.limits = *act.limits;
    for (std::int64_t number = act.from_op; const MirrorOp& op : act.ops) {
      if (number > lease.last_op) mirror(op);
      lease.last_op = std::max(lease.last_op, number++);
    }
    renew();
    return {};
  }

 private:
  static std::unexpected<Error> held_by_another() {
    return fail(
        ErrorCode::kWrongState,
        "another process consumes this conversation; until it closes, or its lease ends, others may only append");
  }

  [[nodiscard]] bool is_consumed() const {
    return next_.consumer && !next_.consumer->until.has_passed(context_.clocks);
  }
  // Only where the conversation has one.
  ConsumerLease& consumer() {
    CHECK(next_.consumer.has_value());
    return *next_.consumer;
  }
  // Whoever changes more than the tail ends a lease that has run out: its holder finds out, and stops.
  Status take_over() {
    if (is_consumed()) return held_by_another();
    end_lease();
    return {};
  }
  void end_lease() { end_consumer_lease(next_); }
  Status need_lease(const std::string& id) const {
    if (next_.consumer && next_.consumer->id == id) return {};
    return fail(ErrorCode::kStaleLease,
                "this consumer lease has ended; somebody else consumes the conversation, or may");
  }
  void renew() {
    consumer().until = StoreDeadline::after(context_.clocks, kConsumerLease);
    change_.reply.last_op = consumer().last_op;
  }

  [[nodiscard]] const ItemHead* find_key(const std::string& key) const {
    const auto found = std::ranges::find(next_.items, key, [](const ItemHead& item) { return item.item.item_key; });
    return found == next_.items.end() ? nullptr : &*found;
  }
  [[nodiscard]] bool is_due(std::int64_t number) const {
    const auto batch = std::ranges::find(next_.batches, number, &HeldBatch::number);
    return batch != next_.batches.end() && batch->due;
  }
  // What a dequeue could get.
  [[nodiscard]] bool is_waiting(const ItemHead& item) const {
    return item.place == Place::kQueued || (item.place == Place::kHeld && is_due(item.batch));
  }
  [[nodiscard]] std::int64_t count_waiting() const {
    return std::ranges::count_if(next_.items, [&](const ItemHead& item) { return is_waiting(item); });
  }
  [[nodiscard]] std::int64_t count_bytes() const {
    std::int64_t bytes = 0;
    for (const ItemHead& item : next_.items) bytes += item.bytes;
    return bytes;
  }

  Status check_room(const NewQueueItem& item) const {
    const bool is_full = std::ranges::count_if(next_.items, [](const ItemHead& other) {
                           return other.place != Place::kGone;
                         }) >= kConversationItemsMax;
    if (!is_full && count_bytes() + static_cast<std::int64_t>(item.body.size()) <= kConversationBytesMax) return {};
    return fail(ErrorCode::kLimitExceeded,
                fmt::format("a conversation holds at most {} items and {} MiB; consume some first",
                            kConversationItemsMax, kConversationBytesMax >> 20));
  }

  void put(const NewQueueItem& item, bool mirrored) {
    ItemHead head{.seq = next_.next_seq++, .item = item, .enqueued_at = context_.clocks.wall, .mirrored = mirrored};
    JsonText body = json::compact(item.body).value_or(item.body);
    head.item.body.clear();
    head.bytes = static_cast<std::int64_t>(body.size());
    change_.new_bodies[head.seq] = std::move(body);
    next_.items.push_back(std::move(head));
    const ItemHead& added = next_.items.back();
    tell_item("conversation.enqueued", item_id(added.seq), added.item.kind, count_waiting(), {});
  }

  void drop_oldest() {
    const auto oldest = std::ranges::find_if(next_.items, [](const ItemHead& item) {
      return item.place == Place::kQueued && is_coalescable(item.item.kind);
    });
    if (oldest == next_.items.end()) return;  // nothing but barriers: they may overflow
    change_.reply.dropped = to_item(next_, *oldest);
    leave(*oldest);
    tell_item("conversation.dropped", item_id(oldest->seq), oldest->item.kind, count_waiting(), "buffer_limit");
  }

  // ---- batches

  // One that is due has been given up, but not handed to anybody; one of a mirror comes back to its conversation.
  [[nodiscard]] HeldBatch* find_batch_key(const std::string& key, bool keep) {
    const auto found = std::ranges::find_if(next_.batches, [&](const HeldBatch& batch) {
      return batch.batch_key == key && (!batch.due || (keep && !batch.mirrored));
    });
    return found == next_.batches.end() ? nullptr : &*found;
  }
  [[nodiscard]] HeldBatch* first_due() {
    const auto found = std::ranges::find_if(next_.batches, &HeldBatch::due);
    return found == next_.batches.end() ? nullptr : &*found;
  }
  void set_queued(std::int64_t number) {
    for (ItemHead& item : next_.items) {
      if (item.batch != number || item.place != Place::kHeld) continue;
      item.place = Place::kQueued;
      item.batch = 0;
    }
  }
  // Its items are done with.
  void end_batch(std::int64_t number) {
    for (ItemHead& item : next_.items) {
      if (item.batch == number && item.place == Place::kHeld) leave(item);
    }
    std::erase_if(next_.batches, [&](const HeldBatch& batch) { return batch.number == number; });
  }
  // It was not acknowledged.
  void give_up(HeldBatch batch) {
    if (!batch.redeliver) return end_batch(batch.number);
    std::ranges::find(next_.batches, batch.number, &HeldBatch::number)->due = true;
  }
  void expire_batches() {
    for (const HeldBatch& batch : std::vector(next_.batches)) {
      if (!batch.due && !batch.mirrored && batch.until.has_passed(context_.clocks)) give_up(batch);
    }
  }
  void end_batches_of(const std::string& instance) {
    for (const HeldBatch& batch : std::vector(next_.batches)) {
      if (!batch.due && !batch.mirrored && batch.instance == instance) give_up(batch);
    }
  }
  // Those that nobody works on become the new holder's. Returns how many somebody works on.
  std::size_t adopt_batches() {
    std::size_t others = 0;
    for (HeldBatch& batch : next_.batches) {
      others += batch.due ? 0 : 1;
      if (!batch.due || batch.mirrored) continue;
      batch.mirrored = true;
      batch.batch_key = batch_id(batch.number);
    }
    return others;
  }

  QueueBatch& answer_batch(const HeldBatch& batch) {
    QueueBatch& answer = change_.reply.batch.emplace();
    answer.batch_id = batch_id(batch.number);
    for (const ItemHead& item : next_.items) {
      if (item.place == Place::kHeld && item.batch == batch.number) answer.items.push_back(to_item(next_, item));
    }
    return answer;
  }

  Status hand_out_again(HeldBatch& due, const DequeueItems& act) {
    due.due = due.mirrored = false;
    due.batch_key = act.batch_key;
    due.instance = act.instance;
    due.until = StoreDeadline::after(context_.clocks, kBatchKept);
    QueueBatch& answer = answer_batch(due);
    answer.delivered_again = true;
    tell_dequeued(answer);
    if (act.batch_key.empty()) end_batch(due.number);
    return {};
  }

  Status hand_out(const DequeueItems& act) {
    const std::vector<ItemHead*> taken = act.n ? first_items(*act.n) : next_turn();
    if (taken.empty()) return {};
    if (!act.batch_key.empty() && next_.batches.size() >= kHeldBatchesMax) {
      return fail(ErrorCode::kLimitExceeded,
                  fmt::format("{} batches wait for their ack, and no more may; acknowledge some", kHeldBatchesMax));
    }
    const std::int64_t number = next_.next_batch++;
    for (ItemHead* item : taken) hold(*item, number);
    next_.batches.push_back({.number = number,
                             .batch_key = act.batch_key,
                             .instance = act.instance,
                             .until = StoreDeadline::after(context_.clocks, kBatchKept),
                             .redeliver = act.redeliver});
    tell_dequeued(answer_batch(next_.batches.back()));
    if (act.batch_key.empty()) end_batch(number);
    return {};
  }

  std::vector<ItemHead*> first_items(int n) {
    std::vector<ItemHead*> taken;
    for (ItemHead& item : next_.items) {
      if (std::cmp_greater_equal(taken.size(), std::max(n, 0))) break;
      if (item.place == Place::kQueued) taken.push_back(&item);
    }
    return taken;
  }

  // A barrier alone, or the items of one scope up to the first that may not be merged with them.
  std::vector<ItemHead*> next_turn() {
    std::vector<ItemHead*> taken;
    for (ItemHead& item : next_.items) {
      if (item.place != Place::kQueued) continue;
      if (!taken.empty() && (!is_coalescable(item.item.kind) || !has_same_scope(*taken.front(), item))) break;
      taken.push_back(&item);
      if (!is_coalescable(item.item.kind)) break;
    }
    return taken;
  }

  // ---- what the holder of the lease has done

  void mirror(const MirrorOp& op) {
    switch (op.kind) {
      case MirrorOp::Kind::kEnqueue:
        return mirror_enqueue(op.item);
      case MirrorOp::Kind::kDequeue:
        return mirror_dequeue(op);
      case MirrorOp::Kind::kAck:
        return mirror_ack(op.batch_key);
      case MirrorOp::Kind::kRemove:
        take_away(op, "conversation.removed", {});
        return;
      case MirrorOp::Kind::kDrop:
        take_away(op, "conversation.dropped", "buffer_limit");
        return;
      case MirrorOp::Kind::kClear:
        tell_cleared(op.reason, take_away(op, {}, {}));
        return;
    }
  }

  // What does not fit is dropped: an error would keep all that follows from being mirrored, dequeues among them.
  void mirror_enqueue(const NewQueueItem& item) {
    if (find_key(item.item_key) != nullptr) return;
    if (check_room(item)) return put(item, true);
    tell_item("conversation.dropped", item_id(next_.next_seq++), item.kind, count_waiting(), "buffer_limit");
  }

  // How many of these were there.
  std::size_t take_away(const MirrorOp& op, std::string_view event, std::string_view reason) {
    std::size_t n = 0;
    for (ItemHead* item : items_of(op.item_keys)) {
      if (!is_waiting(*item)) continue;
      leave(*item);
      ++n;
      if (!event.empty()) tell_item(event, item_id(item->seq), item->item.kind, count_waiting(), reason);
    }
    return n;
  }

  std::vector<ItemHead*> items_of(const std::vector<std::string>& keys) {
    const std::set<std::string_view> wanted(keys.begin(), keys.end());
    std::vector<ItemHead*> found;
    for (ItemHead& item : next_.items) {
      if (wanted.contains(item.item.item_key) && item.place != Place::kGone) found.push_back(&item);
    }
    return found;
  }

  // With too many batches that wait for their ack this one does not wait.
  void mirror_dequeue(const MirrorOp& op) {
    const bool waits = op.redeliver && next_.batches.size() < kHeldBatchesMax;
    if (HeldBatch* again = find_mirrored(op.batch_key)) {
      again->due = false;
      if (!op.redeliver) end_batch(again->number);
      return;
    }
    const std::int64_t number = next_.next_batch++;
    for (ItemHead* item : items_of(op.item_keys)) hold(*item, number);
    next_.batches.push_back({.number = number, .batch_key = op.batch_key, .redeliver = op.redeliver, .mirrored = true});
    tell_dequeued(answer_batch(next_.batches.back()));
    change_.reply.batch.reset();
    if (!waits) end_batch(number);
    forget_empty_batches();
  }

  [[nodiscard]] HeldBatch* find_mirrored(const std::string& key) {
    const auto found = std::ranges::find_if(next_.batches, [&](const HeldBatch& batch) {
      return !key.empty() && batch.mirrored && batch.batch_key == key;
    });
    return found == next_.batches.end() ? nullptr : &*found;
  }

  // Those of an earlier holder whose items were taken one by one.
  void forget_empty_batches() {
    std::erase_if(next_.batches, [&](const HeldBatch& batch) {
      return batch.mirrored && std::ranges::none_of(next_.items, [&](const ItemHead& item) {
               return item.place == Place::kHeld && item.batch == batch.number;
             });
    });
  }

  void mirror_ack(const std::string& key) {
    if (const HeldBatch* batch = find_mirrored(key)) end_batch(batch->number);
  }

  // ---- events

  json::Writer begin_event() const {
    json::Writer out;
    out.begin_object().key("owner").string(next_.name.owner).key("conversation").string(next_.name.key);
    return out;
  }
  void tell(std::string_view name, json::Writer out, std::int64_t length) {
    out.key("queue_len").number(length).end_object();
    change_.events.push_back({.name = std::string(name), .data = std::move(out).take()});
  }
  void tell_item(std::string_view name, std::string_view id, std::string_view kind, std::int64_t length,
                 std::string_view reason) {
    json::Writer out = begin_event();
    out.key("item_id").string(id).key("kind").string(kind);
    if (!reason.empty()) out.key("reason").string(reason);
    tell(name, std::move(out), length);
  }
  void tell_blocked(std::string_view reason, std::int64_t length) {
    json::Writer out = begin_event();
    out.key("reason").string(reason);
    tell("conversation.blocked", std::move(out), length);
  }
  void tell_cleared(std::string_view reason, std::size_t n) {
    json::Writer out = begin_event();
    out.key("reason").string(reason).key("cleared_count").number(static_cast<std::int64_t>(n));
    tell("conversation.cleared", std::move(out), count_waiting());
  }
  void tell_dequeued(const QueueBatch& batch) {
    json::Writer out = begin_event();
    out.key("batch_id").string(batch.batch_id);
    out.key("merged_count").number(static_cast<std::int64_t>(batch.items.size()));
    tell("conversation.dequeued", std::move(out), count_waiting());
  }

  // ---- at the end

  void forget_gone() {
    auto n = std::ranges::count(next_.items, Place::kGone, &ItemHead::place);
    std::erase_if(next_.items, [&](const ItemHead& item) {
      return item.place == Place::kGone && n-- > static_cast<std::ptrdiff_t>(kGoneItemsMax);
    });
  }
  void count_items() {
    next_.queued = count_waiting();
    next_.held = std::ranges::count(next_.items, Place::kHeld, &ItemHead::place) -
                 (next_.queued - std::ranges::count(next_.items, Place::kQueued, &ItemHead::place));
  }

  const ConversationContext& context_;
  ConversationChange change_;
  ConversationState& next_;
};

}  // namespace

bool is_coalescable(std::string_view kind) {
  return std::ranges::find(kCoalescable, kind) != kCoalescable.end();
}

std::string item_id(std::int64_t seq) {
  return fmt::format("{}{}", kItemPrefix, seq);
}
std::string batch_id(std::int64_t number) {
  return fmt::format("{}{}", kBatchPrefix, number);
}
std::optional<std::int64_t> parse_item_id(std::string_view id) {
  return number_behind(kItemPrefix, id);
}
std::optional<std::int64_t> parse_batch_id(std::string_view id) {
  return number_behind(kBatchPrefix, id);
}

std::string_view name_of(MirrorOp::Kind kind) {
  return name_in(kMirrorOps, kind);
}
std::optional<MirrorOp::Kind> parse_mirror_op(std::string_view name) {
  return value_in<MirrorOp::Kind>(kMirrorOps, name);
}

StoreDeadline StoreDeadline::after(const StoreClocks& clocks, Millis duration) {
  return {.steady = clocks.steady + duration, .boot = clocks.boot, .wall = clocks.wall + duration};
}

bool StoreDeadline::has_passed(const StoreClocks& clocks) const {
  return boot == clocks.boot ? clocks.steady >= steady : clocks.wall >= wall;
}

Status check_conversation_name(const ConversationName& name) {
  TRY(check_field("owner", name.owner));
  return check_field("key", name.key);
}

Status check_act(const ConversationAct& act, std::int64_t body_bytes_max) {
  return std::visit(ActCheck(body_bytes_max), act);
}

Result<ConversationChange> decide(const ConversationState& before, const ConversationAct& act,
                                  const ConversationContext& context) {
  TRY(check_act(act, context.body_bytes_max));
  return ConversationDecision(before, context).run(before, act);
}

ConversationSummary summary_of(const ConversationState& state, const StoreClocks& clocks) {
  return {.name = state.name,
          .length = state.queued,
          .held = state.held,
          .revision = state.revision,
          .limits = state.limits,
          .has_consumer = state.consumer && !state.consumer->until.has_passed(clocks),
          .created_at = state.created_at,
          .updated_at = state.updated_at};
}

QueueItem to_item(const ConversationState& state, const ItemHead& head) {
  QueueItem item{.seq = head.seq, .item = head.item, .enqueued_at = head.enqueued_at};
  if (head.place != Place::kHeld) return item;
  const auto batch = std::ranges::find(state.batches, head.batch, &HeldBatch::number);
  const bool has_own_name = batch != state.batches.end() && batch->mirrored;
  item.batch_id = has_own_name ? batch->batch_key : batch_id(head.batch);
  return item;
}

// What its holder had not acknowledged is handed out again.
void end_consumer_lease(ConversationState& state) {
  state.consumer.reset();
  for (HeldBatch& batch : state.batches) batch.due = batch.due || batch.mirrored;
}

bool is_forgettable(const ConversationState& state, Time until) {
  return state.queued == 0 && state.held == 0 && state.updated_at <= until;
}

}  // namespace drover
