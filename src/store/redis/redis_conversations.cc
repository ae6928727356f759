// Conversation queues over Redis: lua/h_conversations.lua.
#include <algorithm>
#include <charconv>

#include "base/try.h"
#include "store/redis/pack.h"
#include "store/redis/redis_store_class.h"
#include "store/redis/step_arguments.h"

namespace drover::redis {
namespace {

std::string packed_numbers(const std::vector<std::int64_t>& numbers) {
  Pack pack;
  for (const std::int64_t number : numbers) pack.put(std::to_string(number));
  return pack.list();
}

std::string packed_texts(const std::vector<std::pair<std::int64_t, JsonText>>& texts) {
  Pack pack;
  for (const auto& [number, text] : texts) pack.put(std::to_string(number)).put(text);
  return pack.list();
}

std::string packed_drafts(const std::vector<EventDraft>& events) {
  Pack pack;
  for (const EventDraft& event : events) pack.put(event_text(event));
  return pack.list();
}

}  // namespace

Result<std::optional<StoredConversation>> RedisStore::read_conversation(const ConversationName& name) {
  const auto reply = TRY(ask(function("conversation").add(name.owner, name.key)));
  const auto parts = TRY(reply.as_array());
  if (parts.size() < 2) return std::nullopt;
  StoredConversation conversation{.name = name};
  conversation.revision = TRY(parts[0].as_integer());
  conversation.head = std::string(TRY(parts[1].as_text()));
  for (std::size_t i = 2; i + 1 < parts.size(); i += 2) {
    const auto number = parts[i].as_integer();
    if (!number) continue;  // nobody of ours wrote this field; a repair leaves it alone
    conversation.items.emplace_back(*number, std::string(TRY(parts[i + 1].as_text())));
  }
  std::ranges::sort(conversation.items);
  return conversation;
}

Result<std::vector<std::optional<JsonText>>> RedisStore::conversation_bodies(const ConversationName& name,
                                                                             std::span<const std::int64_t> numbers) {
  std::vector<std::optional<JsonText>> bodies;
  if (numbers.empty()) return bodies;
  Command command = function("conversation_bodies").add(name.owner, name.key);
  for (const std::int64_t number : numbers) command.add(number);
  const auto reply = TRY(ask(command));
  const auto parts = TRY(reply.as_array_of(numbers.size()));
  for (const Reply& part : parts) {
    const auto text = TRY(part.as_maybe_text());
    bodies.push_back(text ? std::optional(JsonText(*text)) : std::nullopt);
  }
  return bodies;
}

Result<std::vector<StoredConversation>> RedisStore::list_conversations(const std::optional<std::string>& owner,
                                                                       const ConversationName& after, int limit) {
  Command command = function("conversations").add(owner ? 1 : 0, owner.value_or(after.owner), after.key, limit);
  const auto reply = TRY(ask(command));
  const auto parts = TRY(reply.as_array());
  std::vector<StoredConversation> found;
  for (std::size_t i = 0; i + 3 < parts.size(); i += 4) {
    StoredConversation conversation;
    conversation.name.owner = std::string(TRY(parts[i].as_text()));
    conversation.name.key = std::string(TRY(parts[i + 1].as_text()));
    conversation.revision = TRY(parts[i + 2].as_integer());
    conversation.head = std::string(TRY(parts[i + 3].as_text()));
    found.push_back(std::move(conversation));
  }
  return found;
}

Result<ConversationApplied> RedisStore::put_conversation(const ConversationStep& step) {
  Command command = function(step.bodies.empty() ? "put_conversation" : "append_conversation");
  command.add(step.name.owner, step.name.key, step.expected_revision, kConversationsPerOwnerMax, step.head.value_or(""),
              packed_numbers(step.removed), packed_texts(step.items), packed_texts(step.bodies),
              packed_numbers(step.removed_bodies), packed_drafts(step.events));
  const auto reply = TRY(ask(command));
  const auto verdict = TRY(reply.as_text());
  if (verdict == "conflict") return ConversationApplied::kConflict;
  if (verdict == "full") return ConversationApplied::kOwnerFull;
  committed();
  return ConversationApplied::kDone;
}

}  // namespace drover::redis
