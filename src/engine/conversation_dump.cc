// Conversations in dumps, and what is wrong with damaged ones.
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "base/try.h"
#include "engine/conversations.h"
#include "engine/dump_parts.h"

namespace drover {
namespace {

constexpr std::size_t kConversationPartBytes = std::size_t{1} << 20U;
constexpr int kAtOnce = 100;
constexpr std::size_t kBodiesAtOnce = 100;

std::unexpected<Error> bad_line(std::string what) {
  return fail(ErrorCode::kInvalidArgument, std::move(what));
}

// Where a dump is: OWNER!KEY!SEQ, the last item that is written.
struct DumpPlace {
  ConversationName name{};
  std::optional<std::int64_t> seq{};  // none: the conversation is done
};

std::string to_cursor(const DumpPlace& place) {
  return fmt::format("{}!{}!{}", place.name.owner, place.name.key,
                     place.seq ? std::to_string(*place.seq) : std::string());
}

Result<DumpPlace> read_place(const std::optional<std::string>& cursor) {
  DumpPlace place;
  if (!cursor) return place;
  const std::size_t first = cursor->find('!');
  const std::size_t second = first == std::string::npos ? first : cursor->find('!', first + 1);
  if (second == std::string::npos) return bad_line("cursor: expected one from an earlier part");
  place.name = {cursor->substr(0, first), cursor->substr(first + 1, second - first - 1)};
  if (const std::string seq = cursor->substr(second + 1); !seq.empty()) TRY(json::read_json(seq, place.seq.emplace()));
  return place;
}

std::string head_line(const ConversationState& state) {
  json::Writer out;
  out.begin_object().key("owner").string(state.name.owner).key("key").string(state.name.key);
  out.key("head").string(head_text(state)).end_object();
  return dump_line("conversation", std::move(out).take());
}

std::string item_line(const ItemHead& item, const std::optional<JsonText>& body) {
  json::Writer out;
  out.begin_object().key("seq").number(item.seq).key("item").string(item_text(item));
  if (body) out.key("body").string(*body);
  out.end_object();
  return dump_line("conversation_item", std::move(out).take());
}

// The items after place.seq, as many as fit; the place is moved on.
Status add_items(Store& store, const ConversationState& state, DumpPlace& place, std::string& text) {
  for (const ItemHead& item : state.items) {
    if (item.seq <= place.seq.value_or(0)) continue;
    if (text.size() >= kConversationPartBytes) return {};
    const auto bodies = TRY(store.conversation_bodies(state.name, std::span(&item.seq, 1)));
    const bool is_gone = item.place == ItemHead::Place::kGone;
    // What was taken since the conversation was read is left out.
    if (is_gone || bodies.front()) text += item_line(item, is_gone ? std::nullopt : bodies.front());
    place.seq = item.seq;
  }
  place.seq.reset();
  return {};
}

Result<std::optional<ConversationState>> read_for_dump(Store& store, const ConversationName& name) {
  const auto stored = TRY(store.read_conversation(name));
  if (!stored) return std::nullopt;
  auto state = TRY(parse_conversation(*stored));
  end_consumer_lease(state);
  std::map<std::int64_t, std::int64_t> bodies;
  for (const ItemHead& item : state.items) {
    if (item.place != ItemHead::Place::kGone) bodies[item.seq] = item.bytes;
  }
  static_cast<void>(mend_conversation(state, bodies));  // counts what is due now
  return state;
}

Result<std::map<std::int64_t, std::int64_t>> body_sizes(Store& store, const StoredConversation& stored) {
  std::vector<std::int64_t> numbers;
  for (const auto& [seq, text] : stored.items) numbers.push_back(seq);
  std::map<std::int64_t, std::int64_t> sizes;
  for (std::size_t from = 0; from < numbers.size(); from += kBodiesAtOnce) {
    const auto piece = std::span(numbers).subspan(from, std::min(kBodiesAtOnce, numbers.size() - from));
    const auto bodies = TRY(store.conversation_bodies(stored.name, piece));
    for (std::size_t i = 0; i < piece.size(); ++i) {
      const std::optional<JsonText>& body = bodies[i];
      if (body) sizes[piece[i]] = static_cast<std::int64_t>(body->size());
    }
  }
  return sizes;
}

// What can be read of a conversation; `wrong` says what cannot.
ConversationState readable_part(const StoredConversation& stored, std::vector<std::string>& wrong) {
  ConversationState state{.name = stored.name, .revision = stored.revision};
  if (!read_head(stored.head, state)) {
    state = {.name = stored.name, .revision = stored.revision};
    if (!stored.items.empty()) state.next_seq = stored.items.back().first + 1;
    wrong.emplace_back("its head is unreadable");
  }
  for (const auto& [seq, text] : stored.items) {
    ItemHead item{.seq = seq};
    if (read_item(text, item)) {
      state.items.push_back(std::move(item));
    } else {
      wrong.push_back(fmt::format("item {} is unreadable", item_id(seq)));
    }
  }
  return state;
}

Status check_one(Store& store, const ConversationName& name, FsckMode mode, std::vector<Finding>& findings) {
  const auto stored = TRY(store.read_conversation(name));
  if (!stored) return {};
  std::vector<std::string> wrong;
  ConversationState state = readable_part(*stored, wrong);
  const auto sizes = TRY(body_sizes(store, *stored));
  std::ranges::move(mend_conversation(state, sizes), std::back_inserter(wrong));
  if (wrong.empty()) return {};
  bool repaired = false;
  if (mode == FsckMode::kRepair) {
    ConversationStep step{.name = name, .expected_revision = stored->revision, .head = head_text(state)};
    for (const auto& [seq, text] : stored->items) {
      const auto kept = std::ranges::find(state.items, seq, &ItemHead::seq);
      if (kept == state.items.end()) {
        step.removed.push_back(seq);
      } else {
        step.items.emplace_back(seq, item_text(*kept));
      }
    }
    repaired = TRY(store.put_conversation(step)) == ConversationApplied::kDone;
  }
  for (const std::string& what : wrong) {
    findings.push_back({.code = "conversation_wrong",
                        .detail = fmt::format("conversation {} of owner {}: {}", name.key, name.owner, what),
                        .repaired = repaired});
  }
  return {};
}

}  // namespace

Result<std::vector<Finding>> check_conversations(Store& store, FsckMode mode) {
  std::vector<Finding> findings;
  for (ConversationName after;;) {
    const auto page = TRY(store.list_conversations(std::nullopt, after, kAtOnce));
    for (const StoredConversation& stored : page) TRY(check_one(store, stored.name, mode, findings));
    if (std::cmp_less(page.size(), kAtOnce)) return findings;
    after = page.back().name;
  }
}

Result<DumpConversations> dump_conversations(Store& store, const std::optional<std::string>& cursor) {
  DumpPlace place = TRY(read_place(cursor));
  DumpConversations part;
  while (part.text.size() < kConversationPartBytes) {
    const bool is_begun = place.seq.has_value();
    if (!is_begun) {
      const auto next = TRY(store.list_conversations(std::nullopt, place.name, 1));
      if (next.empty()) return part;
      place.name = next.front().name;
    }
    const auto state = TRY(read_for_dump(store, place.name));
    if (!state) {  // it went meanwhile
      place.seq.reset();
      continue;
    }
    if (!is_begun) part.text += head_line(*state);
    place.seq = place.seq.value_or(0);
    TRY(add_items(store, *state, place, part.text));
  }
  part.cursor = to_cursor(place);
  return part;
}

Status ConversationImport::take_head(const std::string& text, Store& store) {
  TRY(finish(store));
  ConversationState state;
  std::string head;
  json::Reader in(text);
  in.need("owner", state.name.owner).need("key", state.name.key).need("head", head);
  TRY(in.finish());
  TRY(check_conversation_name(state.name));
  TRY(read_head(head, state));
  state_ = std::move(state);
  return {};
}

Status ConversationImport::take_item(const std::string& text) {
  if (!state_) return bad_line("an item of a conversation that is not in the dump");
  ItemHead item;
  std::string head;
  std::optional<std::string> body;
  json::Reader in(text);
  in.need("seq", item.seq).need("item", head).get("body", body);
  TRY(in.finish());
  TRY(read_item(head, item));
  const bool is_next = item.seq > (state_->items.empty() ? 0 : state_->items.back().seq);
  if (!is_next || std::cmp_greater_equal(state_->items.size(), 2 * kConversationItemsMax)) {
    return bad_line("the items of a conversation are not in order, or too many");
  }
  if (body && !json::parse(*body, json::kDepthMax, json::kAnyKeys)) return bad_line("a body that is not JSON");
  if (body) bodies_[item.seq] = *std::move(body);
  state_->items.push_back(std::move(item));
  return {};
}

Status ConversationImport::finish(Store& store) {
  if (!state_) return {};
  std::map<std::int64_t, std::int64_t> sizes;
  for (const auto& [seq, body] : bodies_) sizes[seq] = static_cast<std::int64_t>(body.size());
  static_cast<void>(mend_conversation(*state_, sizes));  // items that were taken during the dump are missing from it
  ConversationStep step{.name = state_->name, .expected_revision = 0, .head = head_text(*state_)};
  for (const ItemHead& item : state_->items) {
    step.items.emplace_back(item.seq, item_text(item));
    if (item.place != ItemHead::Place::kGone) step.bodies.emplace_back(item.seq, std::move(bodies_[item.seq]));
  }
  const auto applied = TRY(store.put_conversation(step));
  state_.reset();
  bodies_.clear();
  if (applied == ConversationApplied::kDone) return {};
  return bad_line("this conversation is in the dump twice, or its owner has too many");
}

}  // namespace drover
