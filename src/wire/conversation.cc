#include "wire/conversation.h"

#include <algorithm>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/try.h"
#include "drover/time.h"
#include "wire/read.h"

namespace drover {
namespace {

using json::Reader;
using json::Writer;

void put_text(Writer& out, std::string_view key, const std::optional<std::string>& text) {
  out.key(key);
  if (text) {
    out.string(*text);
  } else {
    out.null();
  }
}

template <class T>
void put_json(Writer& out, std::string_view key, const std::optional<T>& value) {
  if (value) out.key(key).raw(to_json(*value));
}

template <class T>
void put_all(Writer& out, std::string_view key, const std::vector<T>& items) {
  out.key(key).begin_array();
  for (const T& item : items) out.raw(to_json(item));
  out.end_array();
}

void put_new(Writer& out, const NewQueueItem& item) {
  out.key("item_key").string(item.item_key).key("kind").string(item.kind);
  put_text(out, "agent_id", item.agent_id);
  put_text(out, "conversation_id", item.conversation_id);
  if (!item.body.empty()) out.key("body").raw(item.body);
}

void get_new(Reader& in, NewQueueItem& item) {
  std::optional<std::string> body;
  in.need("item_key", item.item_key).need("kind", item.kind).get("agent_id", item.agent_id);
  in.get("conversation_id", item.conversation_id).get_text("body", body);
  item.body = body.value_or("");
}

void put_limits(Writer& out, const std::optional<QueueLimits>& limits) {
  if (limits) out.key("max_items").number(limits->max_items).key("hard_max_items").number(limits->hard_max_items);
}

void get_limits(Reader& in, std::optional<QueueLimits>& limits) {
  std::optional<int> soft;
  std::optional<int> hard;
  in.get("max_items", soft).get("hard_max_items", hard);
  if (soft) {
    // As Letta has it: three times as many, and never fewer than max_items.
    const int most = std::min(kConversationItemsMax,
                              std::max(*soft, 0) > kConversationItemsMax / 3 ? kConversationItemsMax : 3 * *soft);
    limits = QueueLimits{.max_items = *soft, .hard_max_items = hard.value_or(most)};
  } else if (hard) {
    in.refuse("hard_max_items: needs max_items beside it");
  }
}

// A body that a caller left out is an empty object.
void give_body(NewQueueItem& item) {
  if (item.body.empty()) item.body = "{}";
}

}  // namespace

std::string to_json(const NewQueueItem& item) {
  Writer out;
  out.begin_object();
  put_new(out, item);
  out.end_object();
  return std::move(out).take();
}

std::string to_json(const QueueItem& item) {
  Writer out;
  out.begin_object().key("id").string(item_id(item.seq));
  put_new(out, item.item);
  out.key("enqueued_at").string(format_time(item.enqueued_at));
  put_text(out, "batch_id", item.batch_id);
  out.end_object();
  return std::move(out).take();
}

std::string to_json(const QueueBatch& batch) {
  Writer out;
  out.begin_object().key("batch_id").string(batch.batch_id);
  put_all(out, "items", batch.items);
  out.key("merged_count").number(static_cast<std::int64_t>(batch.items.size()));
  out.key("queue_len_after").number(batch.queue_len_after);
  out.key("delivered_again").boolean(batch.delivered_again).end_object();
  return std::move(out).take();
}

std::string to_json(const MirrorOp& op) {
  Writer out;
  out.begin_object().key("op").string(name_of(op.kind));
  if (op.kind == MirrorOp::Kind::kEnqueue) {
    out.key("item").raw(to_json(op.item)).end_object();
    return std::move(out).take();
  }
  out.key("item_keys").begin_array();
  for (const std::string& key : op.item_keys) out.string(key);
  out.end_array();
  if (!op.batch_key.empty()) out.key("batch_id").string(op.batch_key);
  if (op.redeliver) out.key("redeliver").boolean(true);
  if (!op.reason.empty()) out.key("reason").string(op.reason);
  out.end_object();
  return std::move(out).take();
}

std::string to_json(const ConversationReply& reply) {
  Writer out;
  out.begin_object().key("length").number(reply.length).key("replayed").boolean(reply.replayed);
  if (reply.id) out.key("id").string(*reply.id);
  if (reply.refused) out.key("refused").string("buffer_limit");
  put_json(out, "dropped", reply.dropped);
  put_json(out, "batch", reply.batch);
  put_json(out, "removed", reply.removed);
  if (!reply.cleared.empty()) put_all(out, "cleared", reply.cleared);
  if (reply.lease_id) out.key("lease_id").string(*reply.lease_id);
  if (reply.last_op > 0 || reply.lease_id) out.key("last_op").number(reply.last_op);
  out.end_object();
  return std::move(out).take();
}

std::string to_json(const ConversationSummary& summary) {
  Writer out;
  out.begin_object().key("owner").string(summary.name.owner).key("key").string(summary.name.key);
  out.key("length").number(summary.length).key("held").number(summary.held);
  out.key("revision").number(summary.revision).key("max_items").number(summary.limits.max_items);
  out.key("hard_max_items").number(summary.limits.hard_max_items).key("has_consumer").boolean(summary.has_consumer);
  out.key("created_at").string(format_time(summary.created_at));
  out.key("updated_at").string(format_time(summary.updated_at)).end_object();
  return std::move(out).take();
}

std::string to_json(const ConversationsPage& page) {
  Writer out;
  out.begin_object();
  put_all(out, "conversations", page.conversations);
  put_text(out, "cursor", page.cursor);
  out.end_object();
  return std::move(out).take();
}

std::string to_json(const Conversation& conversation) {
  Writer out;
  out.begin_object().key("conversation").raw(to_json(conversation.summary));
  put_all(out, "items", conversation.items);
  out.key("next");
  if (conversation.next) {
    out.number(*conversation.next);
  } else {
    out.null();
  }
  out.key("last_seq").number(conversation.last_seq).end_object();
  return std::move(out).take();
}

Status read_json(std::string_view json, NewQueueItem& out) {
  Reader in(json);
  get_new(in, out);
  give_body(out);
  return in.finish_strictly();
}

Status read_json(std::string_view json, QueueItem& out) {
  Reader in(json);
  std::string id;
  in.need("id", id).need("enqueued_at", out.enqueued_at).get("batch_id", out.batch_id);
  get_new(in, out.item);
  const auto seq = parse_item_id(id);
  if (!seq) in.refuse("id: expected q-N");
  out.seq = seq.value_or(0);
  return in.finish();
}

Status read_json(std::string_view json, QueueBatch& out) {
  Reader in(json);
  in.need("batch_id", out.batch_id).need("items", out.items).need("queue_len_after", out.queue_len_after);
  in.get("delivered_again", out.delivered_again);
  return in.finish();
}

Status read_json(std::string_view json, MirrorOp& out) {
  Reader in(json);
  std::string op;
  std::optional<json::Unread> item;
  in.need("op", op).get("item", item).get("item_keys", out.item_keys).get("batch_id", out.batch_key);
  in.get("redeliver", out.redeliver).get("reason", out.reason);
  const auto kind = parse_mirror_op(op);
  if (!kind) in.refuse("op: expected enqueue, dequeue, ack, remove, drop or clear");
  out.kind = kind.value_or(MirrorOp::Kind::kEnqueue);
  if (kind && item.has_value() != (out.kind == MirrorOp::Kind::kEnqueue)) {
    in.refuse("item: an enqueue has one, and nothing else does");
  }
  TRY(in.finish_strictly());
  return item ? read_json(item->text, out.item) : Status();
}

Status read_json(std::string_view json, ConversationReply& out) {
  Reader in(json);
  std::optional<std::string> refused;
  in.need("length", out.length).get("replayed", out.replayed).get("id", out.id).get("refused", refused);
  in.get("dropped", out.dropped).get("batch", out.batch).get("removed", out.removed).get("cleared", out.cleared);
  in.get("lease_id", out.lease_id).get("last_op", out.last_op);
  out.refused = refused.has_value();
  return in.finish();
}

Status read_json(std::string_view json, ConversationSummary& out) {
  Reader in(json);
  in.need("owner", out.name.owner).need("key", out.name.key).need("length", out.length).need("held", out.held);
  in.need("revision", out.revision).need("max_items", out.limits.max_items);
  in.need("hard_max_items", out.limits.hard_max_items).need("has_consumer", out.has_consumer);
  in.need("created_at", out.created_at).need("updated_at", out.updated_at);
  return in.finish();
}

Status read_json(std::string_view json, ConversationsPage& out) {
  Reader in(json);
  in.need("conversations", out.conversations).get("cursor", out.cursor);
  return in.finish();
}

Status read_json(std::string_view json, Conversation& out) {
  Reader in(json);
  in.need("conversation", out.summary).need("items", out.items).get("next", out.next).need("last_seq", out.last_seq);
  return in.finish();
}

std::string to_json(const AppendItem& act) {
  Writer out;
  out.begin_object();
  put_new(out, act.item);
  put_limits(out, act.limits);
  out.end_object();
  return std::move(out).take();
}

Status read_json(std::string_view json, AppendItem& out) {
  Reader in(json);
  get_new(in, out.item);
  give_body(out.item);
  get_limits(in, out.limits);
  return in.finish_strictly();
}

std::string to_json(const DequeueItems& act) {
  Writer out;
  out.begin_object();
  if (act.blocked_reason) out.key("blocked_reason").string(*act.blocked_reason);
  if (act.n) out.key("n").number(*act.n);
  if (!act.batch_key.empty()) out.key("batch_key").string(act.batch_key);
  if (!act.instance.empty()) out.key("instance").string(act.instance);
  if (act.redeliver) out.key("redeliver").boolean(true);
  if (act.keep) out.key("keep").boolean(true);
  out.end_object();
  return std::move(out).take();
}

Status read_json(std::string_view json, DequeueItems& out) {
  Reader in(json);
  in.get("blocked_reason", out.blocked_reason).get("n", out.n).get("batch_key", out.batch_key);
  in.get("instance", out.instance).get("redeliver", out.redeliver).get("keep", out.keep);
  return in.finish_strictly();
}

std::string to_json(const AckBatch& act) {
  Writer out;
  out.begin_object().key("batch_id").string(act.batch_id).end_object();
  return std::move(out).take();
}

Status read_json(std::string_view json, AckBatch& out) {
  Reader in(json);
  return in.need("batch_id", out.batch_id).finish_strictly();
}

std::string to_json(const ClearItems& act) {
  Writer out;
  out.begin_object().key("reason").string(act.reason).end_object();
  return std::move(out).take();
}

Status read_json(std::string_view json, ClearItems& out) {
  Reader in(json);
  return in.need("reason", out.reason).finish_strictly();
}

std::string to_json(const TakeConsumer& act) {
  Writer out;
  out.begin_object();
  if (act.lease_id) out.key("lease_id").string(*act.lease_id);
  if (!act.take_key.empty()) out.key("take_key").string(act.take_key);
  out.end_object();
  return std::move(out).take();
}

Status read_json(std::string_view json, TakeConsumer& out) {
  Reader in(json);
  return in.get("lease_id", out.lease_id).get("take_key", out.take_key).finish_strictly();
}

std::string to_json(const MirrorItems& act) {
  Writer out;
  out.begin_object().key("lease_id").string(act.lease_id).key("from_op").number(act.from_op);
  put_all(out, "ops", act.ops);
  put_limits(out, act.limits);
  out.end_object();
  return std::move(out).take();
}

Status read_json(std::string_view json, MirrorItems& out) {
  Reader in(json);
  in.need("lease_id", out.lease_id).need("from_op", out.from_op).need("ops", out.ops);
  get_limits(in, out.limits);
  return in.finish_strictly();
}

}  // namespace drover
