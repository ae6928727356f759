// Conversations as stores and dumps keep them, and what is wrong with one that is damaged.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/try.h"
#include "core/conversation.h"

namespace drover {

namespace {

using Place = ItemHead::Place;
constexpr int kPlaceLast = static_cast<int>(Place::kGone);

std::int64_t since_1970(Time time) {
  return time.time_since_epoch().count();
}

void write_deadline(json::Writer& out, const StoreDeadline& deadline) {
  out.key("steady").number(deadline.steady.count()).key("boot").string(deadline.boot);
  out.key("wall").number(since_1970(deadline.wall));
}

void read_deadline(json::Reader& in, StoreDeadline& out) {
  std::int64_t wall = 0;
  in.need("steady", out.steady).need("boot", out.boot).need("wall", wall);
  out.wall = Time(Millis(wall));
}

void write_label(json::Writer& out, std::string_view key, const std::optional<std::string>& label) {
  if (label) out.key(key).string(*label);
}

std::string of_item(const ItemHead& item, std::string_view what) {
  return fmt::format("item {} {}", item_id(item.seq), what);
}

using Sizes = std::map<std::int64_t, std::int64_t>;

// Items without a body, and those with the key of another.
void drop_broken_items(ConversationState& state, const Sizes& bodies, std::vector<std::string>& wrong) {
  std::set<std::string> keys;
  std::erase_if(state.items, [&](const ItemHead& item) {
    if (item.place != Place::kGone && !bodies.contains(item.seq)) {
      wrong.push_back(of_item(item, "has no body"));
      return true;
    }
    if (keys.insert(item.item.item_key).second) return false;
    wrong.push_back(of_item(item, "has the key of another"));
    return true;
  });
}

void mend_items(ConversationState& state, const Sizes& bodies, std::vector<std::string>& wrong) {
  for (ItemHead& item : state.items) {
    const auto body = bodies.find(item.seq);
    const std::int64_t bytes = item.place == Place::kGone || body == bodies.end() ? 0 : body->second;
    if (item.bytes != bytes) wrong.push_back(of_item(item, "counts the wrong bytes"));
    item.bytes = bytes;
    const bool is_known = std::ranges::find(state.batches, item.batch, &HeldBatch::number) != state.batches.end();
    if (item.place != Place::kHeld || is_known) continue;
    wrong.push_back(of_item(item, "is in a batch that is not there"));
    item.place = Place::kQueued;
    item.batch = 0;
  }
}

// The holder of a lease may have taken what somebody else had taken before.
void drop_empty_batches(ConversationState& state, std::vector<std::string>& wrong) {
  std::erase_if(state.batches, [&](const HeldBatch& batch) {
    const bool has_items = std::ranges::any_of(
        state.items, [&](const ItemHead& item) { return item.place == Place::kHeld && item.batch == batch.number; });
    if (has_items || batch.mirrored) return false;
    wrong.push_back(fmt::format("{} has no items", batch_id(batch.number)));
    return true;
  });
}

void mend_numbers(ConversationState& state, std::vector<std::string>& wrong) {
  const std::int64_t next_seq = state.items.empty() ? 1 : state.items.back().seq + 1;
  if (state.next_seq < next_seq) wrong.emplace_back("the next number has been given out already");
  state.next_seq = std::max(state.next_seq, next_seq);
  const auto is_due = [&](const ItemHead& item) {
    const auto batch = std::ranges::find(state.batches, item.batch, &HeldBatch::number);
    return item.place == Place::kHeld && batch != state.batches.end() && batch->due;
  };
  const std::int64_t due = std::ranges::count_if(state.items, is_due);
  const std::int64_t queued = std::ranges::count(state.items, Place::kQueued, &ItemHead::place) + due;
  const std::int64_t held = std::ranges::count(state.items, Place::kHeld, &ItemHead::place) - due;
  if (state.queued != queued || state.held != held) wrong.emplace_back("the numbers of its items are wrong");
  state.queued = queued;
  state.held = held;
}

}  // namespace

Status read_json(std::string_view json, HeldBatch& out) {
  json::Reader in(json);
  in.need("number", out.number).need("batch_key", out.batch_key).need("instance", out.instance);
  in.need("redeliver", out.redeliver).need("mirrored", out.mirrored).need("due", out.due);
  read_deadline(in, out.until);
  return in.finish();
}

Status read_json(std::string_view json, ConsumerLease& out) {
  json::Reader in(json);
  in.need("id", out.id).need("take_key", out.take_key).need("last_op", out.last_op);
  read_deadline(in, out.until);
  return in.finish();
}

JsonText head_text(const ConversationState& state) {
  json::Writer out;
  out.begin_object().key("created_at").number(since_1970(state.created_at));
  out.key("updated_at").number(since_1970(state.updated_at)).key("next_seq").number(state.next_seq);
  out.key("next_batch").number(state.next_batch).key("max_items").number(state.limits.max_items);
  out.key("hard_max_items").number(state.limits.hard_max_items).key("queued").number(state.queued);
  out.key("held").number(state.held);
  if (state.consumer) {
    out.key("consumer").begin_object().key("id").string(state.consumer->id);
    out.key("take_key").string(state.consumer->take_key).key("last_op").number(state.consumer->last_op);
    write_deadline(out, state.consumer->until);
    out.end_object();
  }
  out.key("batches").begin_array();
  for (const HeldBatch& batch : state.batches) {
    out.begin_object().key("number").number(batch.number).key("batch_key").string(batch.batch_key);
    out.key("instance").string(batch.instance).key("redeliver").boolean(batch.redeliver);
    out.key("mirrored").boolean(batch.mirrored).key("due").boolean(batch.due);
    write_deadline(out, batch.until);
    out.end_object();
  }
  out.end_array().end_object();
  return std::move(out).take();
}

Status read_head(std::string_view text, ConversationState& out) {
  json::Reader in(text);
  std::int64_t created_at = 0;
  std::int64_t updated_at = 0;
  in.need("created_at", created_at).need("updated_at", updated_at).need("next_seq", out.next_seq);
  in.need("next_batch", out.next_batch).need("max_items", out.limits.max_items);
  in.need("hard_max_items", out.limits.hard_max_items).need("queued", out.queued).need("held", out.held);
  in.get("consumer", out.consumer).need("batches", out.batches);
  out.created_at = Time(Millis(created_at));
  out.updated_at = Time(Millis(updated_at));
  return in.finish();
}

JsonText item_text(const ItemHead& item) {
  json::Writer out;
  out.begin_object().key("item_key").string(item.item.item_key).key("kind").string(item.item.kind);
  write_label(out, "agent_id", item.item.agent_id);
  write_label(out, "conversation_id", item.item.conversation_id);
  out.key("at").number(since_1970(item.enqueued_at)).key("bytes").number(item.bytes);
  out.key("place").number(static_cast<int>(item.place)).key("batch").number(item.batch);
  out.key("mirrored").boolean(item.mirrored).end_object();
  return std::move(out).take();
}

Status read_item(std::string_view text, ItemHead& out) {
  json::Reader in(text);
  std::int64_t at = 0;
  int place = 0;
  in.need("item_key", out.item.item_key).need("kind", out.item.kind).get("agent_id", out.item.agent_id);
  in.get("conversation_id", out.item.conversation_id).need("at", at).need("bytes", out.bytes);
  in.need("place", place).need("batch", out.batch).need("mirrored", out.mirrored);
  if (place < 0 || place > kPlaceLast) in.refuse("place: unknown");
  out.item.body.clear();
  out.enqueued_at = Time(Millis(at));
  out.place = static_cast<Place>(std::clamp(place, 0, kPlaceLast));
  return in.finish();
}

std::vector<std::string> mend_conversation(ConversationState& state,
                                           const std::map<std::int64_t, std::int64_t>& bodies) {
  std::vector<std::string> wrong;
  drop_broken_items(state, bodies, wrong);
  mend_items(state, bodies, wrong);
  drop_empty_batches(state, wrong);
  mend_numbers(state, wrong);
  return wrong;
}

}  // namespace drover
