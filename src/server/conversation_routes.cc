// /v1/conversations: what waits for the next turns of agents' conversations.
#include <array>

#include "base/text.h"
#include "server/api.h"
#include "wire/conversation.h"

namespace drover::server {
namespace {

constexpr std::int64_t kSeqMax = std::int64_t{1} << 52;

// The conversation that path and query name; without an owner it is the caller's.
ConversationName name_in(const Call& call) {
  return {.owner = call.parameter("owner").value_or(""), .key = call.captures[0]};
}

Answer list_conversations(const Call& call) {
  if (const Status known = call.only({"owner", "limit", "cursor"}); !known) return problem(known.error());
  const auto limit = call.number("limit", kConversationPageMax, kConversationPageMax);
  if (!limit) return problem(limit.error());
  return respond(call.queue.conversation_queue().conversations(
      {.owner = call.parameter("owner"), .limit = static_cast<int>(*limit), .cursor = call.parameter("cursor")}));
}

Result<ConversationItemsQuery> items_query(const Call& call) {
  ConversationItemsQuery query;
  query.after = TRY(call.number("after", 0, kSeqMax));
  query.limit = static_cast<int>(TRY(call.number("limit", kConversationPageMax, kConversationPageMax)));
  query.foreign = TRY(call.boolean("foreign", false));
  return query;
}

Answer show_conversation(const Call& call) {
  if (const Status known = call.only({"owner", "after", "limit", "foreign"}); !known) return problem(known.error());
  const auto query = items_query(call);
  if (!query) return problem(query.error());
  return respond(call.queue.conversation_queue().conversation(name_in(call), *query));
}

// As show, of what others append; waits until there is something. A conversation that is not there may come.
Answer wait_for_items(const Call& call) {
  if (const Status known = call.only({"owner", "after", "limit", "timeout"}); !known) return problem(known.error());
  auto query = items_query(call);
  if (!query) return problem(query.error());
  query->foreign = true;
  const auto timeout = call.duration("timeout", Millis{0}, kWaitMax);
  if (!timeout) return problem(timeout.error());
  const auto name = call.queue.conversation_queue().own(name_in(call));
  if (!name) return problem(name.error());
  auto found = call.queue.conversation_queue().conversation(*name, *query);
  const bool is_missing = !found && found.error().code == ErrorCode::kNotFound;
  if (!found && !is_missing) return problem(found.error());
  if (is_missing) found = Conversation{.summary = {.name = *name}};
  if (!found->items.empty() || call.attempt == Try::kLast || *timeout <= Millis{0}) return respond(found);
  return Wait{.for_what = Wait::OfConversation{name->owner, name->key}, .at_most = *timeout};
}

template <class Act>
Answer act_by_body(const Call& call) {
  if (const Status known = call.only({"owner"}); !known) return problem(known.error());
  const auto act = read_body<Act>(call);
  if (!act) return problem(act.error());
  return respond(call.queue.conversation_queue().act(name_in(call), *act));
}

Answer append_item(const Call& call) {
  if (const Status known = call.only({"owner"}); !known) return problem(known.error());
  const auto act = read_body<AppendItem>(call);
  if (!act) return problem(act.error());
  const auto reply = call.queue.conversation_queue().act(name_in(call), *act);
  if (reply && reply->id && !reply->refused) call.made = *reply->id;
  return respond(reply, reply && !reply->refused && !reply->replayed ? kCreated : kOk);
}

Answer dequeue_items(const Call& call) {
  if (const Status known = call.only({"owner"}); !known) return problem(known.error());
  const auto act = read_body<DequeueItems>(call);
  if (!act) return problem(act.error());
  if (act->n) return problem(Error{ErrorCode::kInvalidArgument, "n: use /consume to take a number of items", {}});
  return respond(call.queue.conversation_queue().act(name_in(call), *act));
}

Answer consume_items(const Call& call) {
  if (const Status known = call.only({"owner"}); !known) return problem(known.error());
  const auto act = read_body<DequeueItems>(call);
  if (!act) return problem(act.error());
  if (!act->n) return problem(Error{ErrorCode::kInvalidArgument, "n is missing", {}});
  if (act->blocked_reason) {
    return problem(Error{ErrorCode::kInvalidArgument, "blocked_reason: a queue that is blocked is not consumed", {}});
  }
  return respond(call.queue.conversation_queue().act(name_in(call), *act));
}

Answer remove_item(const Call& call) {
  if (const Status known = call.only({"owner"}); !known) return problem(known.error());
  return respond(call.queue.conversation_queue().act(name_in(call), RemoveItem{.id = call.captures[1]}));
}

Answer release_consumer(const Call& call) {
  if (const Status known = call.only({"owner", "lease_id"}); !known) return problem(known.error());
  const ReleaseConsumer act{.lease_id = call.parameter("lease_id").value_or("")};
  return respond(call.queue.conversation_queue().act(name_in(call), act));
}

constexpr std::array kConversationRoutes{
    Route{"GET", "/v1/conversations", list_conversations},
    Route{"GET", "/v1/conversations/{key}", show_conversation},
    Route{"GET", "/v1/conversations/{key}/changes", wait_for_items},
    Route{"POST", "/v1/conversations/{key}/items", append_item},
    Route{"DELETE", "/v1/conversations/{key}/items/{id}", remove_item},
    Route{"POST", "/v1/conversations/{key}/dequeue", dequeue_items},
    Route{"POST", "/v1/conversations/{key}/consume", consume_items},
    Route{"POST", "/v1/conversations/{key}/ack", act_by_body<AckBatch>},
    Route{"POST", "/v1/conversations/{key}/clear", act_by_body<ClearItems>},
    Route{"POST", "/v1/conversations/{key}/consumer", act_by_body<TakeConsumer>},
    Route{"DELETE", "/v1/conversations/{key}/consumer", release_consumer},
    Route{"POST", "/v1/conversations/{key}/mirror", act_by_body<MirrorItems>},
};

}  // namespace

std::span<const Route> conversation_routes() {
  return kConversationRoutes;
}

}  // namespace drover::server
