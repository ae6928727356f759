#include "store/sqlite/conversations.h"

#include "embedded/sqlite.h"
#include "store/sqlite/named_sql.h"

namespace drover::sqlite {
namespace {

constexpr std::string_view kConversation = named_sql(embedded::conversations_sql, "conversation");
constexpr std::string_view kConversationItems = named_sql(embedded::conversations_sql, "conversation_items");
constexpr std::string_view kConversationBody = named_sql(embedded::conversations_sql, "conversation_body");
constexpr std::string_view kConversations = named_sql(embedded::conversations_sql, "conversations");
constexpr std::string_view kConversationsOf = named_sql(embedded::conversations_sql, "conversations_of");
constexpr std::string_view kCountConversations = named_sql(embedded::conversations_sql, "count_conversations");
constexpr std::string_view kPutConversation = named_sql(embedded::conversations_sql, "put_conversation");
constexpr std::string_view kPutItem = named_sql(embedded::conversations_sql, "put_conversation_item");
constexpr std::string_view kPutBody = named_sql(embedded::conversations_sql, "put_conversation_body");
constexpr std::string_view kDeleteItem = named_sql(embedded::conversations_sql, "delete_conversation_item");
constexpr std::string_view kDeleteBody = named_sql(embedded::conversations_sql, "delete_conversation_body");
constexpr std::string_view kDeleteConversation = named_sql(embedded::conversations_sql, "delete_conversation");
constexpr std::string_view kDeleteItems = named_sql(embedded::conversations_sql, "delete_conversation_items");
constexpr std::string_view kDeleteBodies = named_sql(embedded::conversations_sql, "delete_conversation_bodies");

std::int64_t revision_of(Connection& db, const ConversationName& name) {
  Statement query = db.prepare(kConversation);
  return query.bind(name.owner, name.key).step() ? query.integer() : 0;
}

void remove_conversation(Connection& db, const ConversationName& name) {
  db.run(kDeleteConversation, name.owner, name.key);
  db.run(kDeleteItems, name.owner, name.key);
  db.run(kDeleteBodies, name.owner, name.key);
}

void write_conversation(Connection& db, const ConversationStep& step, const JsonText& head) {
  const ConversationName& name = step.name;
  db.run(kPutConversation, name.owner, name.key, step.expected_revision + 1, head);
  for (const std::int64_t seq : step.removed) {
    db.run(kDeleteItem, name.owner, name.key, seq);
    db.run(kDeleteBody, name.owner, name.key, seq);
  }
  for (const std::int64_t seq : step.removed_bodies) db.run(kDeleteBody, name.owner, name.key, seq);
  for (const auto& [seq, item] : step.items) db.run(kPutItem, name.owner, name.key, seq, item);
  for (const auto& [seq, body] : step.bodies) db.run(kPutBody, name.owner, name.key, seq, body);
}

}  // namespace

std::optional<StoredConversation> read_conversation(Connection& db, const ConversationName& name) {
  Statement query = db.prepare(kConversation);
  if (!query.bind(name.owner, name.key).step()) return std::nullopt;
  StoredConversation conversation{.name = name};
  conversation.revision = query.integer();
  conversation.head = query.text();
  Statement items = db.prepare(kConversationItems);
  items.bind(name.owner, name.key);
  while (items.step()) {
    const std::int64_t seq = items.integer();
    conversation.items.emplace_back(seq, items.text());
  }
  return conversation;
}

std::vector<std::optional<JsonText>> read_conversation_bodies(Connection& db, const ConversationName& name,
                                                              std::span<const std::int64_t> numbers) {
  std::vector<std::optional<JsonText>> bodies;
  for (const std::int64_t seq : numbers) {
    Statement query = db.prepare(kConversationBody);
    const bool is_there = query.bind(name.owner, name.key, seq).step();
    bodies.push_back(is_there ? std::optional(query.text()) : std::nullopt);
  }
  return bodies;
}

std::vector<StoredConversation> list_conversations(Connection& db, const std::optional<std::string>& owner,
                                                   const ConversationName& after, int limit) {
  Statement query = db.prepare(owner ? kConversationsOf : kConversations);
  query.bind(owner.value_or(after.owner), after.key, limit);
  std::vector<StoredConversation> found;
  while (query.step()) {
    StoredConversation conversation;
    conversation.name.owner = query.text();
    conversation.name.key = query.text();
    conversation.revision = query.integer();
    conversation.head = query.text();
    found.push_back(std::move(conversation));
  }
  return found;
}

ConversationApplied put_conversation(Transaction& transaction, const ConversationStep& step) {
  Connection& db = transaction.db();
  if (revision_of(db, step.name) != step.expected_revision) return ConversationApplied::kConflict;
  if (step.expected_revision == 0 && db.number(kCountConversations, step.name.owner) >= kConversationsPerOwnerMax) {
    return ConversationApplied::kOwnerFull;
  }
  if (step.head) {
    write_conversation(db, step, *step.head);
  } else {
    remove_conversation(db, step.name);
  }
  for (const EventDraft& event : step.events) transaction.add_event(Task(), event.name, event.data);
  return ConversationApplied::kDone;
}

}  // namespace drover::sqlite
