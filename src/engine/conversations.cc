#include "engine/conversations.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/planted_bug.h"
#include "base/text.h"
#include "base/try.h"
#include "engine/engine.h"

namespace drover {
namespace {

constexpr std::size_t kPageBytes = std::size_t{1} << 20U;

std::unexpected<Error> no_such_conversation(const ConversationName& name) {
  return fail(ErrorCode::kNotFound,
              fmt::format("there is no conversation {} of owner {}", quoted_excerpt(name.key), name.owner));
}

std::unexpected<Error> too_many_conversations(const ConversationName& name) {
  return fail(ErrorCode::kLimitExceeded,
              fmt::format("owner {} has {} conversations, and no more are allowed; empty ones go after {}", name.owner,
                          kConversationsPerOwnerMax, format_duration(kEmptyConversationKept)));
}

// Other acts leave nothing behind where there is no conversation.
bool makes_conversation(const ConversationAct& act) {
  return std::holds_alternative<AppendItem>(act) || std::holds_alternative<TakeConsumer>(act);
}

Status check_page(int limit) {
  if (limit >= 1 && limit <= kConversationPageMax) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("limit: expected 1 to {}", kConversationPageMax));
}

// OWNER!KEY: no name has a !.
Result<ConversationName> read_cursor(const std::optional<std::string>& cursor) {
  if (!cursor) return ConversationName{};
  const std::size_t at = cursor->find('!');
  if (at == std::string::npos) return fail(ErrorCode::kInvalidArgument, "cursor: expected one from an earlier page");
  return ConversationName{cursor->substr(0, at), cursor->substr(at + 1)};
}

std::vector<QueueItem*> items_in(ConversationReply& reply) {
  std::vector<QueueItem*> items;
  if (reply.dropped) items.push_back(&*reply.dropped);
  if (reply.removed) items.push_back(&*reply.removed);
  if (reply.batch) {
    for (QueueItem& item : reply.batch->items) items.push_back(&item);
  }
  return items;
}

}  // namespace

Result<ConversationState> parse_conversation(const StoredConversation& stored) {
  ConversationState state{.name = stored.name, .revision = stored.revision};
  Status read = read_head(stored.head, state);
  for (const auto& [seq, text] : stored.items) {
    ItemHead item{.seq = seq};
    if (read) read = read_item(text, item);
    state.items.push_back(std::move(item));
  }
  if (read) return state;
  return fail(ErrorCode::kStoreDamaged,
              fmt::format("conversation {} of owner {} is unreadable ({}); `drover fsck --repair` keeps what it can",
                          quoted_excerpt(stored.name.key), stored.name.owner, read.error().message));
}

ConversationStep step_of(const ConversationState& before, const ConversationChange& change) {
  const ConversationState& next = change.next;
  ConversationStep step{.name = next.name, .expected_revision = before.revision, .head = head_text(next)};
  step.events = change.events;
  auto old = before.items.begin();
  const auto remove_until = [&](std::int64_t seq) {
    for (; old != before.items.end() && old->seq < seq; ++old) step.removed.push_back(old->seq);
  };
  for (const ItemHead& item : next.items) {
    remove_until(item.seq);
    const bool was_there = old != before.items.end() && old->seq == item.seq;
    if (!was_there || *old != item) step.items.emplace_back(item.seq, item_text(item));
    const bool is_gone = item.place == ItemHead::Place::kGone;
    if (was_there && is_gone && old->place != ItemHead::Place::kGone) step.removed_bodies.push_back(item.seq);
    if (const auto body = change.new_bodies.find(item.seq); body != change.new_bodies.end() && !is_gone) {
      step.bodies.emplace_back(item.seq, body->second);
    }
    if (was_there) ++old;
  }
  remove_until(INT64_MAX);
  return step;
}

Result<ConversationsPage> LocalConversations::conversations(const ConversationsQuery& query) {
  TRY(check_page(query.limit));
  const auto after = TRY(read_cursor(query.cursor));
  const auto clocks = TRY(store_.clocks());
  const auto found = TRY(store_.list_conversations(query.owner, after, query.limit));
  ConversationsPage page;
  for (const StoredConversation& stored : found) {
    const auto state = TRY(parse_conversation(stored));
    page.conversations.push_back(summary_of(state, clocks));
  }
  if (std::cmp_equal(found.size(), query.limit)) {
    page.cursor = fmt::format("{}!{}", found.back().name.owner, found.back().name.key);
  }
  return page;
}

Result<Conversation> LocalConversations::conversation(const ConversationName& name,
                                                      const ConversationItemsQuery& query) {
  TRY(check_conversation_name(name));
  TRY(check_page(query.limit));
  const auto stored = TRY(store_.read_conversation(name));
  if (!stored) return no_such_conversation(name);
  const auto state = TRY(parse_conversation(*stored));
  const auto clocks = TRY(store_.clocks());
  Conversation page{.summary = summary_of(state, clocks), .last_seq = state.next_seq - 1};
  std::vector<std::int64_t> numbers;
  for (std::size_t bytes = 0; const ItemHead& item : state.items) {
    const bool is_meant = item.seq > query.after && item.place != ItemHead::Place::kGone &&
                          !(query.foreign && (item.mirrored || item.place != ItemHead::Place::kQueued));
    if (!is_meant) continue;
    if (std::cmp_equal(page.items.size(), query.limit) || (bytes >= kPageBytes && !page.items.empty())) {
      page.next = page.items.back().seq;
      break;
    }
    bytes += static_cast<std::size_t>(item.bytes);
    page.items.push_back(to_item(state, item));
    numbers.push_back(item.seq);
  }
  auto bodies = TRY(store_.conversation_bodies(name, numbers));
  for (std::size_t i = 0; i < bodies.size(); ++i) page.items[i].item.body = bodies[i].value_or("{}");
  // Those that were taken in the meantime have no body any more.
  std::size_t at = 0;
  std::erase_if(page.items, [&](const QueueItem&) { return !bodies[at++].has_value(); });
  return page;
}

Status LocalConversations::fill_bodies(const ConversationName& name, ConversationChange& change) {
  std::vector<QueueItem*> items = items_in(change.reply);
  std::vector<std::int64_t> numbers;
  for (const QueueItem* item : items) numbers.push_back(item->seq);
  auto bodies = TRY(store_.conversation_bodies(name, numbers));
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::optional<JsonText>& body = bodies[i];
    if (body) items[i]->item.body = *std::move(body);
  }
  return {};
}

Result<ConversationReply> LocalConversations::act(const ConversationName& name, const ConversationAct& act) {
  TRY(check_conversation_name(name));
  const auto policy = TRY(engine_.policy());
  for (int attempt = 0; attempt < kDecideTriesMax; ++attempt) {
    const auto stored = TRY(store_.read_conversation(name));
    ConversationState before{.name = name};
    if (stored) before = TRY(parse_conversation(*stored));
    const ConversationContext context{.clocks = TRY(store_.clocks()),
                                      .new_lease_id = new_lease_id(rng_).to_string(),
                                      .body_bytes_max = policy->limits.payload_bytes};
    auto change = TRY(decide(before, act, context));
    TRY(fill_bodies(name, change));
    if (change.changes_nothing || (!stored && !makes_conversation(act))) return std::move(change.reply);
    ConversationStep step = step_of(before, change);
    if (planted(PlantedBug::kConversationUnguarded)) {
      const auto now = TRY(store_.read_conversation(name));
      step.expected_revision = now ? now->revision : 0;
    }
    switch (TRY(store_.put_conversation(step))) {
      case ConversationApplied::kDone:
        return std::move(change.reply);
      case ConversationApplied::kOwnerFull:
        return too_many_conversations(name);
      case ConversationApplied::kConflict:
        break;
    }
  }
  return too_much_contention("conversation");
}

Result<int> forget_conversations(Store& store, Time until, int limit, ConversationName& after) {
  const auto found = TRY(store.list_conversations(std::nullopt, after, limit));
  after = std::cmp_less(found.size(), limit) ? ConversationName{} : found.back().name;
  int gone = 0;
  for (const StoredConversation& stored : found) {
    const auto state = parse_conversation(stored);
    if (!state || !is_forgettable(*state, until)) continue;
    const auto applied =
        TRY(store.put_conversation({.name = stored.name, .expected_revision = stored.revision, .head = std::nullopt}));
    gone += applied == ConversationApplied::kDone ? 1 : 0;
  }
  return gone;
}

ConversationQueue& Engine::conversation_queue() {
  return conversations_;
}

}  // namespace drover
