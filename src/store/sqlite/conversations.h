// Conversation queues over SQLite.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/conversation_store.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/transaction.h"

namespace drover::sqlite {

// See ConversationStore.
[[nodiscard]] std::optional<StoredConversation> read_conversation(Connection& db, const ConversationName& name);
[[nodiscard]] std::vector<std::optional<JsonText>> read_conversation_bodies(Connection& db,
                                                                            const ConversationName& name,
                                                                            std::span<const std::int64_t> numbers);
[[nodiscard]] std::vector<StoredConversation> list_conversations(Connection& db,
                                                                 const std::optional<std::string>& owner,
                                                                 const ConversationName& after, int limit);
[[nodiscard]] ConversationApplied put_conversation(Transaction& transaction, const ConversationStep& step);

}  // namespace drover::sqlite
